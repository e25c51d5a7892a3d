// Estimates how long the runner's calls take, from measured calls. For each kind of call, the estimate is a linear
// function of the call's work; nothing else is assumed, because machines and models differ by a factor of a thousand.
// The caller measures the durations.

/**
 * Kinds of calls. A call computes either first parts of prompts, or later parts of prompts, or the next token of rows.
 */
export type CallKind = "first" | "later" | "decode";

/** Amount of work of a call, on which its duration depends. */
export interface CallWork {
  /** Number of tokens, including padding. */
  readonly tokenCount: number;
  /** Number of pairs of a token and a position that it attends to. */
  readonly pairCount: number;
}

/** Duration of a call in milliseconds: a fixed time, plus a time per token and a time per pair. */
export interface CallCost {
  readonly callMs: number;
  readonly tokenMs: number;
  readonly pairMs: number;
}

/** Estimates by kind of call; null before the first call of the kind. */
export type CallCosts = Readonly<Record<CallKind, CallCost | null>>;

/**
 * Assumptions before the first measurements. The fixed cost of a call equals the cost of `tokensPerCall` tokens, and
 * `pairsPerToken` pairs cost as much as one token.
 */
const tokensPerCall = 64;
const pairsPerToken = 2048;

/**
 * Fraction of an estimate's error that one call corrects. It is small, because other load on the machine must not
 * distort the estimate.
 */
const learningRate = 0.3;
/**
 * Maximum correction, as a fraction of the expected time. A call that takes much longer than expected is probably
 * delayed by other load on the machine.
 */
const errorShareMax = 0.5;

/** Returns how long a call should take, in milliseconds. */
export function expectedMs({ callMs, tokenMs, pairMs }: CallCost, work: CallWork): number {
  return callMs + tokenMs * work.tokenCount + pairMs * work.pairCount;
}

/**
 * Number of calls of a kind after which its estimate is considered settled. Before that, one delayed call may dominate
 * the estimate.
 */
const earlyCallCount = 8;

export class CallTimes {
  readonly #costs: Record<CallKind, CallCost | null> = { first: null, later: null, decode: null };
  readonly #callCounts: Record<CallKind, number> = { first: 0, later: 0, decode: 0 };

  get costs(): CallCosts {
    return { ...this.#costs };
  }

  /**
   * Updates the estimate with a call's duration, by normalised least mean squares (Widrow and Hoff 1960, Nagumo and
   * Noda 1967).
   */
  observe(kind: CallKind, { tokenCount, pairCount }: CallWork, ms: number): void {
    // The three inputs are scaled to similar magnitudes, so that no coefficient absorbs the errors of the others.
    const features = [tokensPerCall, tokenCount, pairCount / pairsPerToken] as const;
    const known = this.#costs[kind];
    this.#callCounts[kind] += 1;
    if (known === null) {
      const unitMs = ms / (features[0] + features[1] + features[2]);
      this.#costs[kind] = costOf([unitMs, unitMs, unitMs]);
      return;
    }
    const expected = expectedMs(known, { tokenCount, pairCount });
    if (ms < errorShareMax * expected && this.#callCounts[kind] <= earlyCallCount) {
      // The call was much faster than expected, so the estimate comes from delayed calls, such as the first of this
      // kind. All coefficients are therefore scaled down.
      const part = ms / expected;
      const { callMs, tokenMs, pairMs } = known;
      this.#costs[kind] = { callMs: part * callMs, tokenMs: part * tokenMs, pairMs: part * pairMs };
      return;
    }
    const error = Math.min(ms - expected, errorShareMax * expected);
    const norm = features.reduce((sum, feature) => sum + feature * feature, 0);
    const weights = [known.callMs / tokensPerCall, known.tokenMs, known.pairMs * pairsPerToken];
    const learned = weights.map((weight, place) =>
      Math.max(0, weight + (learningRate * error * (features[place] ?? 0)) / norm),
    );
    this.#costs[kind] = costOf(learned);
  }
}

function costOf([callWeight = 0, tokenWeight = 0, pairWeight = 0]: readonly number[]): CallCost {
  return {
    callMs: callWeight * tokensPerCall,
    tokenMs: tokenWeight,
    pairMs: pairWeight / pairsPerToken,
  };
}
