// Leases of the servers on one database. Each start of a process is a new server with a new id. When a lease expires,
// other servers may take over the jobs and other work of its server; other stores record which server owns what.

export interface ServerLease {
  readonly until: Date;
  /** Base models for which the server can run jobs. */
  readonly baseModels: readonly string[];
  /** Id of the location where the server keeps its artifacts. */
  readonly artifacts: string;
}

export interface ServerStore {
  /** Stores the lease of a new server. */
  create(id: string, lease: ServerLease): Promise<void>;
  /**
   * Extends the lease of a server. Returns false if it has expired; other servers may then own the work of this server.
   */
  renew(id: string, until: Date): Promise<boolean>;
  /** True if the server has a lease. */
  has(id: string): Promise<boolean>;
  /** True if a server with a valid lease can run jobs on a base model. */
  serves(baseModel: string, at: Date): Promise<boolean>;
  /** True if a server with a valid lease keeps its artifacts in another location than this. */
  keepsElsewhere(artifacts: string, at: Date): Promise<boolean>;
  /** Ends the lease of a server. Does nothing if the server has none. */
  delete(id: string): Promise<void>;
  /**
   * Deletes leases that expired before a time. Also deletes leases that end so far in the future that the clock must
   * have been set back.
   */
  deleteExpired(expired: { readonly before: Date; readonly after: Date }): Promise<void>;
}
