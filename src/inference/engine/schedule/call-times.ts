// Estimates the duration of the runner's calls from measured calls: a linear function of a call's work, one per kind
// of call. Machines and models differ by a factor of a thousand, and a machine's speed changes with its load, so only
// linearity is assumed. This module reads no clock.

/** Kinds of calls: first parts of prompts, later parts, and the next tokens of rows. */
export type CallKind = "first" | "later" | "decode";

/** Work of a call, which determines its duration. */
export interface CallWork {
  /** Number of tokens, including padding. */
  readonly tokenCount: number;
  /** Number of pairs of a token and a position that it attends to. */
  readonly pairCount: number;
}

/** Milliseconds of a call: a fixed part, and parts per token and per pair. */
export interface CallCost {
  readonly callMs: number;
  readonly tokenMs: number;
  readonly pairMs: number;
}

/** Estimates by kind; null before the first call of the kind. */
export type CallCosts = Readonly<Record<CallKind, CallCost | null>>;

/**
 * Assumptions before the first measurements: a call's fixed cost equals the cost of this many tokens, and this many
 * pairs cost as much as one token.
 */
const tokensPerCall = 64;
const pairsPerToken = 2048;

/**
 * Share of an error that one call corrects. It is small, because occasional other load on the machine must not distort
 * the estimate.
 */
const learningRate = 0.3;
/**
 * Maximum correction as a share of the expected time, because a longer delay says more about the machine than about
 * the call.
 */
const errorShareMax = 0.5;

/** @returns expected milliseconds of a call */
export function expectedMs({ callMs, tokenMs, pairMs }: CallCost, work: CallWork): number {
  return callMs + tokenMs * work.tokenCount + pairMs * work.pairCount;
}

/** Number of first calls of a kind during which a delayed call may dominate the estimate. */
const earlyCallCount = 8;

export class CallTimes {
  readonly #costs: Record<CallKind, CallCost | null> = { first: null, later: null, decode: null };
  readonly #callCounts: Record<CallKind, number> = { first: 0, later: 0, decode: 0 };

  get costs(): CallCosts {
    return { ...this.#costs };
  }

  /** Learns from a call's duration by normalised least mean squares (Widrow and Hoff 1960, Nagumo and Noda 1967). */
  observe(kind: CallKind, { tokenCount, pairCount }: CallWork, ms: number): void {
    // Scaled to similar weights, so that no coefficient absorbs the others' errors.
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
      // The estimate comes from delayed calls, such as the first ones of their kind, so it is scaled down.
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
