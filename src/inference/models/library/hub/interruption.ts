// A failure of a request to a hub that a retry may overcome.

export class Interruption extends Error {
  /** Milliseconds that the hub asked to wait before a retry; null if it did not ask. */
  readonly pauseMs: number | null;

  /** @param reason clause that says what went wrong, to be part of a message */
  constructor(reason: string, { pauseMs = null, cause }: { pauseMs?: number | null; cause?: unknown } = {}) {
    super(reason, { cause });
    this.pauseMs = pauseMs;
  }
}
