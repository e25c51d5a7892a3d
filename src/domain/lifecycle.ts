// The one contract of everything that lives long.

export interface Service {
  /** Returns when up. */
  start(): Promise<void>;
  /** Idempotent; returns when nothing of it runs any more. */
  stop(): Promise<void>;
}
