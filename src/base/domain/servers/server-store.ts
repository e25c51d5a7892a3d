// Leases of the servers on one database. Each start of a process is a new server with its own id. When a lease
// expires, other servers may take over the jobs and other work of its server; other stores record which server owns
// what.

export interface ServerLease {
  readonly until: Date;
  /** Base models for which the server can run jobs. */
  readonly baseModels: readonly string[];
  /** Id of the location in which the server keeps its artifacts. */
  readonly artifacts: string;
}

export interface ServerStore {
  /** Gives a new server a lease. */
  create(id: string, lease: ServerLease): Promise<void>;
  /**
   * Extends a lease. Returns false if the lease has expired, in which case other servers may own what this server
   * owned.
   */
  renew(id: string, until: Date): Promise<boolean>;
  /** True if a server has a lease. */
  has(id: string): Promise<boolean>;
  /** True if a server with a valid lease can run jobs on a base model. */
  serves(baseModel: string, at: Date): Promise<boolean>;
  /** True if a server with a valid lease keeps its artifacts in another location. */
  keepsElsewhere(artifacts: string, at: Date): Promise<boolean>;
  /** Ends a server's lease. Has no effect if the server has no lease. */
  delete(id: string): Promise<void>;
  /**
   * Deletes leases that expired before a time, and leases so far in the future that the clock must have been set back
   * since.
   */
  deleteExpired(expired: { readonly before: Date; readonly after: Date }): Promise<void>;
}
