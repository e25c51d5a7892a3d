// What the loop needs of whoever drafts: tokens that may come next for the rows of a step, which the step then checks.
// A drafted token counts only where it is the one that is drawn, so an answer is the same with drafts and without.
import type { KvLane } from "../cache/kv-lane.ts";
import type { Sequence } from "../loop/sequence.ts";

export interface Drafter {
  /**
   * @param rows that are computed together, each its latest token
   * @returns for every row what may follow that token: nothing, or tokens of which the last leaves room for one more
   */
  draftsFor(rows: readonly Sequence[]): readonly (readonly number[])[];
  /** @param ms which the step with these drafts took to compute */
  noteStep(drafts: readonly (readonly number[])[], ms: number): void;
}

/** A row whose draft was computed behind the token that its first draw is from. */
export interface DraftedRow {
  readonly sequence: Sequence;
  readonly kv: KvLane;
  readonly draft: readonly number[];
  /** After each token of the draft, [tokens, V]. */
  readonly logits_TV: Float32Array;
}

/** With more rows a step has enough to do for the weights it reads. */
const draftedRowsMax = 2;

/** Whether drafts are worth a thought where so many rows decode. */
export function mayPay(decodingCount: number): boolean {
  return decodingCount <= draftedRowsMax;
}

/** Of each row what is to be checked: nothing where one of them does not draw from its scores, or shares what it draws. */
export function draftsOf(drafter: Drafter | null, rows: readonly Sequence[]): readonly (readonly number[])[] {
  return drafter !== null && rows.every(drawsNext) ? drafter.draftsFor(rows) : rows.map(() => []);
}

/** A row that was preempted computes tokens that it has, and one of a search waits for the others. */
function drawsNext({ running, computedCount, tokenCount, answerTokenIds }: Sequence): boolean {
  return running.search === null && computedCount + 1 === tokenCount + answerTokenIds.length;
}
