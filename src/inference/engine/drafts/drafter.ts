// Interface between the loop and a drafter, which guesses draft tokens for the rows of a step; the step then verifies
// them. A draft token counts only if it equals the drawn token, so drafts never change an answer.
import type { KvLane } from "../cache/kv-lane.ts";
import type { Sequence } from "../loop/sequence.ts";

export interface Drafter {
  /**
   * Guesses draft tokens.
   *
   * @param rows rows that are computed together, each with its latest token
   * @returns for every row the draft tokens that may follow its latest token, possibly none, leaving room for one
   * token after the last
   */
  draftsFor(rows: readonly Sequence[]): readonly (readonly number[])[];
  /**
   * Learns from a step.
   *
   * @param ms compute time of the step with these drafts
   */
  noteStep(drafts: readonly (readonly number[])[], ms: number): void;
}

/** A row whose draft was computed together with its latest token. */
export interface DraftedRow {
  readonly sequence: Sequence;
  readonly kv: KvLane;
  readonly draft: readonly number[];
  /** Logits after each token of the draft, [tokens, V]. */
  readonly logits_TV: Float32Array;
}

/** Maximum decoding rows for drafts. With more rows, reading the weights no longer dominates a step's time. */
const draftedRowsMax = 2;

/** True if drafts may save time with this many decoding rows. */
export function draftsMayPay(decodingCount: number): boolean {
  return decodingCount <= draftedRowsMax;
}

/** Returns the draft tokens to verify for each row; empty if a row does not draw from its logits, or shares its draws. */
export function collectDrafts(
  drafter: Drafter | null,
  rows: readonly Sequence[],
): readonly (readonly number[])[] {
  return drafter !== null && rows.every(drawsNext) ? drafter.draftsFor(rows) : rows.map(() => []);
}

/**
 * True if a row draws its next token in this step. A preempted row recomputes tokens that it has, and a row of a
 * search waits for the others.
 */
function drawsNext({ running, computedCount, tokenCount, answerTokenIds }: Sequence): boolean {
  return running.search === null && computedCount + 1 === tokenCount + answerTokenIds.length;
}
