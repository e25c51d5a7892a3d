// What fails on the way between a hub and this program, and may not the next time.

export class Interruption extends Error {
  /** As long as the hub asked to wait, in milliseconds; null where it said nothing. */
  readonly pauseMs: number | null;

  /** @param reason for people, as a clause */
  constructor(reason: string, { pauseMs = null, cause }: { pauseMs?: number | null; cause?: unknown } = {}) {
    super(reason, { cause });
    this.pauseMs = pauseMs;
  }
}
