// The loop's interface to a drafter: draft tokens that may come next for the rows of a step, which the step then
// verifies. A draft token counts only if it equals the drawn one, so drafts never change an answer.
import type { KvLane } from "../cache/kv-lane.ts";
import type { Sequence } from "../loop/sequence.ts";

export interface Drafter {
  /**
   * @param rows that are computed together, each with its latest token
   * @returns draft tokens that may follow it for every row, possibly none, leaving room for one token after the last
   */
  draftsFor(rows: readonly Sequence[]): readonly (readonly number[])[];
  /** @param ms compute time of the step with these drafts */
  noteStep(drafts: readonly (readonly number[])[], ms: number): void;
}

/** A row whose draft was computed after the token that its first draw uses. */
export interface DraftedRow {
  readonly sequence: Sequence;
  readonly kv: KvLane;
  readonly draft: readonly number[];
  /** Scores after each token of the draft, [tokens, V]. */
  readonly logits_TV: Float32Array;
}

/** With more rows, a step is no longer bound by reading the weights. */
const draftedRowsMax = 2;

/** True if drafts may pay with this many decoding rows. */
export function draftsMayPay(decodingCount: number): boolean {
  return decodingCount <= draftedRowsMax;
}

/**
 * Returns the draft tokens to verify for each row; nothing if a row does not draw from its scores, or shares its
 * draws.
 */
export function collectDrafts(
  drafter: Drafter | null,
  rows: readonly Sequence[],
): readonly (readonly number[])[] {
  return drafter !== null && rows.every(drawsNext) ? drafter.draftsFor(rows) : rows.map(() => []);
}

/** A preempted row recomputes tokens that it has, and a row of a search waits for the others. */
function drawsNext({ running, computedCount, tokenCount, answerTokenIds }: Sequence): boolean {
  return running.search === null && computedCount + 1 === tokenCount + answerTokenIds.length;
}
