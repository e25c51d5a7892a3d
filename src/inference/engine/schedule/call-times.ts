// How long calls of the runner take, learned from those that were made: a line over what a call computes, for each kind of
// call. Machines and models differ by a thousand times, and a machine's pace changes with what else it does, so nothing is
// assumed but the line. Reads no clock.

/** First parts of prompts, later parts, and the next token of rows. */
export type CallKind = "first" | "later" | "decode";

/** What a call computes, and so what its time depends on. */
export interface CallWork {
  /** Padding included. */
  readonly tokenCount: number;
  /** Pairs of a token and a position that it attends to. */
  readonly pairCount: number;
}

/** Milliseconds of a call's own, for each token and for each pair. */
export interface CallCost {
  readonly callMs: number;
  readonly tokenMs: number;
  readonly pairMs: number;
}

/** What is known of each kind of call; null before the first of its kind. */
export type CallCosts = Readonly<Record<CallKind, CallCost | null>>;

/** Before more is known a call costs as much as so many tokens, and so many pairs cost as much as one of them. */
const tokensPerCall = 64;
const pairsPerToken = 2048;

/** The part of an error that one call corrects: machines that do something else at times must not upset what is known. */
const learningRate = 0.3;
/** Of what was expected: what a call took beyond it says more about the machine than about the call. */
const errorPartMax = 0.5;

/** @returns what a call is expected to take, in milliseconds */
export function expectedMs({ callMs, tokenMs, pairMs }: CallCost, work: CallWork): number {
  return callMs + tokenMs * work.tokenCount + pairMs * work.pairCount;
}

/** So many of the first calls of a kind may be all that is known of it, and held up by something. */
const firstCalls = 8;

export class CallTimes {
  readonly #costs: Record<CallKind, CallCost | null> = { first: null, later: null, decode: null };
  readonly #callCounts: Record<CallKind, number> = { first: 0, later: 0, decode: 0 };

  get costs(): CallCosts {
    return { ...this.#costs };
  }

  /** Learns from a call that took so long, by normalised least mean squares (Widrow and Hoff 1960, Nagumo and Noda 1967). */
  observe(kind: CallKind, { tokenCount, pairCount }: CallWork, ms: number): void {
    // In units that weigh about the same, so that no part of the line learns for the others.
    const features = [tokensPerCall, tokenCount, pairCount / pairsPerToken] as const;
    const known = this.#costs[kind];
    this.#callCounts[kind] += 1;
    if (known === null) {
      const unitMs = ms / (features[0] + features[1] + features[2]);
      this.#costs[kind] = costOf([unitMs, unitMs, unitMs]);
      return;
    }
    const expected = expectedMs(known, { tokenCount, pairCount });
    if (ms < errorPartMax * expected && this.#callCounts[kind] <= firstCalls) {
      // What is known is of calls that something held up, such as the first of their kind.
      const part = ms / expected;
      const { callMs, tokenMs, pairMs } = known;
      this.#costs[kind] = { callMs: part * callMs, tokenMs: part * tokenMs, pairMs: part * pairMs };
      return;
    }
    const error = Math.min(ms - expected, errorPartMax * expected);
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
