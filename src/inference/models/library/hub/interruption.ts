// A failure between a hub and this program that a retry may overcome.

export class Interruption extends Error {
  /** Wait that the hub requested, in milliseconds; null if it requested none. */
  readonly pauseMs: number | null;

  /** @param reason a clause, for people */
  constructor(reason: string, { pauseMs = null, cause }: { pauseMs?: number | null; cause?: unknown } = {}) {
    super(reason, { cause });
    this.pauseMs = pauseMs;
  }
}
