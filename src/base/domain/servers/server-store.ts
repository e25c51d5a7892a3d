// The servers that work on one database: each start of a process is one, with an id of its own, for as long as its lease
// runs. What a server owns is free for others once it has no lease. Knows nothing of what they own.

export interface ServerLease {
  readonly until: Date;
  /** What it can run jobs over. */
  readonly baseModels: readonly string[];
  /** The id of the place where it keeps its artifacts. */
  readonly artifacts: string;
}

export interface ServerStore {
  /** Gives a server that is new a lease. */
  create(id: string, lease: ServerLease): Promise<void>;
  /** Extends a lease; false where the server has none any more: what it owned may be another's. */
  renew(id: string, until: Date): Promise<boolean>;
  /** Whether a server has a lease. */
  has(id: string): Promise<boolean>;
  /** Whether a server whose lease runs at that time can run jobs over a base model. */
  serves(baseModel: string, at: Date): Promise<boolean>;
  /** Whether a server whose lease runs at that time keeps its artifacts in another place than this. */
  keepsElsewhere(artifacts: string, at: Date): Promise<boolean>;
  /** Gives a lease back; that there is none is no error. */
  delete(id: string): Promise<void>;
  /** Ends the leases that ran out before a time, and those that end so late that a clock must have stepped back since. */
  deleteExpired(expired: { readonly before: Date; readonly after: Date }): Promise<void>;
}
