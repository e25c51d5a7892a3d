// Interface between the engine's loop and a drafter, which guesses the next tokens of the rows of a step. The step
// verifies these draft tokens. A draft token is accepted only if it equals the token that is drawn, so drafts never
// change an answer.
import type { KvLane } from "../cache/kv-lane.ts";
import type { Sequence } from "../loop/sequence.ts";

export interface Drafter {
  /**
   * Guesses the tokens that follow the latest token of each row.
   *
   * @param rows rows that are computed together, each with its latest token
   * @returns for each row its draft tokens, possibly none; few enough that the answer has room for one more token after
   * them
   */
  draftsFor(rows: readonly Sequence[]): readonly (readonly number[])[];
  /**
   * Updates the drafter's cost estimates after a step.
   *
   * @param ms compute time of the step with these drafts
   */
  noteStep(drafts: readonly (readonly number[])[], ms: number): void;
}

/** A row after a step that computed its draft together with its latest token. */
export interface DraftedRow {
  readonly sequence: Sequence;
  readonly kv: KvLane;
  readonly draft: readonly number[];
  /** Logits for the token after each draft token, [tokens, V]. */
  readonly logits_TV: Float32Array;
}

/**
 * Maximum number of decoding rows for which drafts are used. With more rows, computing takes longer than reading the
 * weights, so verifying drafts costs extra time.
 */
const draftedRowsMax = 2;

/** True if drafts may save time with this many decoding rows. */
export function draftsMayPay(decodingCount: number): boolean {
  return decodingCount <= draftedRowsMax;
}

/**
 * Returns the draft tokens to verify for each row. A row gets no draft if it does not draw its next token from the
 * logits of this step, or draws together with other rows.
 */
export function collectDrafts(
  drafter: Drafter | null,
  rows: readonly Sequence[],
): readonly (readonly number[])[] {
  return drafter !== null && rows.every(drawsNext) ? drafter.draftsFor(rows) : rows.map(() => []);
}

/**
 * True if a row draws its next token in this step. A preempted row first recomputes tokens that were already drawn. A
 * row of a beam search waits for the other rows of its search.
 */
function drawsNext({ running, computedCount, tokenCount, answerTokenIds }: Sequence): boolean {
  return running.search === null && computedCount + 1 === tokenCount + answerTokenIds.length;
}
