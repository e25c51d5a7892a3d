// The messages between the engine's thread and one that computes masks. Constraints and places are named by numbers;
// a place's tokens and masks go through shared memory.
import type { Constraint } from "../../../base/domain/constraint.ts";
import type { TokenVocabulary } from "../../../base/domain/vocabulary.ts";
import type { GrammarLimits } from "../../../lib/constraints/regex/limits.ts";

/** What the thread is started with. */
export interface MaskThreadData {
  readonly vocabulary: TokenVocabulary;
  readonly limits: GrammarLimits;
  /** What all threads keep together; each has an equal part. */
  readonly cacheBytesMax: number;
  readonly threadCount: number;
  readonly placeCount: number;
  /** Of the board and of the signals. */
  readonly board: SharedArrayBuffer;
  readonly signals: SharedArrayBuffer;
  /** How much the thread stands back behind others; see setpriority(2). */
  readonly niceness: number;
}

export type MaskRequest =
  /** Answered with a {@link MaskAnswer}. */
  | { readonly kind: "prepare"; readonly key: number; readonly constraint: Constraint }
  /** Of a constraint that is prepared, or waits to be. */
  | { readonly kind: "release"; readonly key: number }
  /** The mask behind these tokens of the constraint, as the place's turn; the first of each text has none. */
  | {
      readonly kind: "open";
      readonly key: number;
      readonly place: number;
      readonly turn: number;
      readonly tokenIds: readonly number[];
    }
  | { readonly kind: "close"; readonly place: number };

export type MaskAnswer =
  | { readonly kind: "prepared"; readonly key: number; readonly outcome: Preparation | Refusal }
  /** There is no mask for the place's turn. */
  | {
      readonly kind: "failed";
      readonly place: number;
      readonly turn: number;
      readonly refusal: Refusal;
    };

/** What is known of a constraint that can be served. */
export interface Preparation {
  /** Notices for the caller, a sentence each. */
  readonly notices: readonly string[];
}

export interface Refusal {
  readonly message: string;
  /** The keyword, construct or limit that is to blame. */
  readonly subject: string;
}
