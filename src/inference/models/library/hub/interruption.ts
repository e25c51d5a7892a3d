// A failure of a request to a hub that a retry may overcome.

export class Interruption extends Error {
  /** Wait in milliseconds that the hub requested before a retry; null if the hub requested none. */
  readonly pauseMs: number | null;

  /** @param reason reason for people, as a clause */
  constructor(reason: string, { pauseMs = null, cause }: { pauseMs?: number | null; cause?: unknown } = {}) {
    super(reason, { cause });
    this.pauseMs = pauseMs;
  }
}
