// Estimates how long the runner's calls take from measured ones: one line per kind of call, over the work of a call.
// Machines and models differ by a factor of a thousand, and a machine's speed changes with its load, so only linearity
// is assumed. Reads no clock.

/** Kinds of calls: first parts of prompts, later parts, and the next tokens of rows. */
export type CallKind = "first" | "later" | "decode";

/** Work of a call, on which its time depends. */
export interface CallWork {
  /** Padding included. */
  readonly tokenCount: number;
  /** Pairs of a token and a position that it attends to. */
  readonly pairCount: number;
}

/** Fixed milliseconds per call, and those per token and per pair. */
export interface CallCost {
  readonly callMs: number;
  readonly tokenMs: number;
  readonly pairMs: number;
}

/** Estimates by kind; null before the first call of the kind. */
export type CallCosts = Readonly<Record<CallKind, CallCost | null>>;

/**
 * Before the first measurements, a call's fixed cost equals that of this many tokens, and this many pairs cost as much
 * as one token.
 */
const tokensPerCall = 64;
const pairsPerToken = 2048;

/** Share of an error that one call corrects: occasional other load on the machine must not upset the estimate. */
const learningRate = 0.3;
/** Maximum correction as a share of the expected time: a longer delay says more about the machine than about the call. */
const errorShareMax = 0.5;

/** @returns expected milliseconds of a call */
export function expectedMs({ callMs, tokenMs, pairMs }: CallCost, work: CallWork): number {
  return callMs + tokenMs * work.tokenCount + pairMs * work.pairCount;
}

/** Until this many calls of a kind were measured, a delayed one may dominate the estimate. */
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
      // The estimate comes from delayed calls, such as the first of their kind.
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
