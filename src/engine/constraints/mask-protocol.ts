// The messages between the engine's thread and the one that computes masks. Constraints and places are named by numbers;
// a place's masks go through shared memory.
import type { Constraint } from "../../domain/constraint.ts";
import type { TokenVocabulary } from "../../domain/vocabulary.ts";
import type { GrammarLimits } from "../../regex/limits.ts";

/** What the thread is started with. */
export interface MaskThreadData {
  readonly vocabulary: TokenVocabulary;
  readonly limits: GrammarLimits;
  readonly placeCount: number;
  readonly memory: SharedArrayBuffer;
}

export type MaskRequest =
  /** Answered with a {@link MaskAnswer}. */
  | { readonly kind: "prepare"; readonly key: number; readonly constraint: Constraint }
  | { readonly kind: "release"; readonly key: number }
  /** The first mask of the constraint, as the place's turn. */
  | { readonly kind: "open"; readonly key: number; readonly place: number; readonly turn: number }
  /** The mask after one more token, as the place's turn. */
  | { readonly kind: "accept"; readonly place: number; readonly tokenId: number; readonly turn: number }
  | { readonly kind: "close"; readonly place: number };

/** `refusal` says why the constraint cannot be served; null where it can. */
export interface MaskAnswer {
  readonly key: number;
  readonly refusal: string | null;
}
