// Leases of the servers on one database. Each start of a process is a server with its own id. Things that a server
// owns are free once its lease has expired; this store does not know them.

export interface ServerLease {
  readonly until: Date;
  /** Base models for which the server can run jobs. */
  readonly baseModels: readonly string[];
  /** Id of the place where the server keeps its artifacts. */
  readonly artifacts: string;
}

export interface ServerStore {
  /** Gives a new server a lease. */
  create(id: string, lease: ServerLease): Promise<void>;
  /** Extends a lease; false if the lease has expired, so that others may own what the server had. */
  renew(id: string, until: Date): Promise<boolean>;
  /** True if a server has a lease. */
  has(id: string): Promise<boolean>;
  /** True if a server with a valid lease can run jobs over a base model. */
  serves(baseModel: string, at: Date): Promise<boolean>;
  /** True if a server with a valid lease keeps its artifacts in another place. */
  keepsElsewhere(artifacts: string, at: Date): Promise<boolean>;
  /** Returns a lease. No error if there is none. */
  delete(id: string): Promise<void>;
  /**
   * Ends leases that expired before a time, and leases so far in the future that the clock must have stepped back
   * since.
   */
  deleteExpired(expired: { readonly before: Date; readonly after: Date }): Promise<void>;
}
