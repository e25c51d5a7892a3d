// For tests: an allowance that counts its reservations.
import type { Allowance, RateStandings } from "../../../base/domain/keys/limits.ts";

export class CountedAllowance implements Allowance {
  readonly standings: RateStandings = { requests: null, tokens: null };
  /** Total number of reserved tokens. */
  reserved = 0;
  used = 0;
  /** Number of reservations that have not been settled. */
  openCount = 0;
  waitingCount = 0;
  /** Error with which each reservation is refused; null to accept all. */
  readonly refusal: Error | null;

  constructor(refusal: Error | null = null) {
    this.refusal = refusal;
  }

  reserve(tokens: number): ReturnType<Allowance["reserve"]> {
    if (this.refusal !== null) throw this.refusal;
    this.reserved += tokens;
    this.openCount += 1;
    let isOpen = true;
    return {
      use: (total) => {
        this.used = total;
      },
      settle: () => {
        if (isOpen) this.openCount -= 1;
        isOpen = false;
      },
    };
  }

  wait(): () => void {
    this.waitingCount += 1;
    let isWaiting = true;
    return () => {
      if (isWaiting) this.waitingCount -= 1;
      isWaiting = false;
    };
  }

  leave(): void {
    // Does nothing: only admission calls this function, and chat does not.
  }
}
