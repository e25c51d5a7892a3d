// Messages between the engine's thread and a mask thread. Messages identify constraints and the board's places by
// numbers; tokens and masks are passed through shared memory (`mask-board.ts`).
import type { Constraint } from "../../../base/domain/constraint.ts";
import type { TokenVocabulary } from "../../../base/domain/vocabulary.ts";
import type { GrammarLimits } from "../../../lib/constraints/regex/limits.ts";

/** Parameters with which the thread starts. */
export interface MaskThreadData {
  readonly vocabulary: TokenVocabulary;
  readonly limits: GrammarLimits;
  /** Cache size of all threads together, in bytes; each thread gets an equal part. */
  readonly cacheBytesMax: number;
  readonly threadCount: number;
  readonly placeCount: number;
  /** Memory that both threads share, for the board (the masks) and for the signals. */
  readonly board: SharedArrayBuffer;
  readonly signals: SharedArrayBuffer;
  /** Niceness of the thread; see setpriority(2). */
  readonly niceness: number;
}

export type MaskRequest =
  /** Prepares a constraint; answered with a {@link MaskAnswer}. */
  | { readonly kind: "prepare"; readonly key: number; readonly constraint: Constraint }
  /** Releases a constraint that is prepared, or that still waits to be prepared. */
  | { readonly kind: "release"; readonly key: number }
  /**
   * Begins a choice at a place on the board, and requests the mask after the given tokens. The request has the number
   * `turn`. At the beginning of an answer, there are no tokens.
   */
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
  /** Reports that the mask which was requested in this turn could not be computed. */
  | {
      readonly kind: "failed";
      readonly place: number;
      readonly turn: number;
      readonly refusal: Refusal;
    };

/** Information about a constraint that was compiled successfully. */
export interface Preparation {
  /** Notices for the caller of the API, one sentence each. */
  readonly notices: readonly string[];
}

export interface Refusal {
  readonly message: string;
  /** Keyword, construct or limit that caused the refusal of the constraint. */
  readonly subject: string;
}
