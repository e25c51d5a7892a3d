// Which sequences are also computed with the base model, so that a job can say how far it has moved from it: a share of the
// tokens, since each costs a forward pass. Decided before the first step, by the batches alone. Pure.
import type { PlannedSequence } from "../data/planned-sequence.ts";

type Batch = readonly Pick<PlannedSequence, "tokenCount">[];

/**
 * For each batch the rows to compare, its first ones; all together never have more than `share` of the tokens so far. Where
 * a batch is one long sequence, that is one of every few steps. A job too small for that compares its shortest sequence.
 *
 * @param share in [0, 1]; 1 compares all, 0 none
 */
export function baseSamples(batches: readonly Batch[], share: number): readonly (readonly number[])[] {
  const samples = shareOf(batches, share);
  if (share === 0 || samples.some((rows) => rows.length > 0)) return samples;
  const tokenCounts = batches.map((batch) => batch.map(({ tokenCount }) => tokenCount));
  const least = tokenCounts.flat().reduce((one, other) => Math.min(one, other), Infinity);
  const shortest = tokenCounts.findIndex((counts) => counts.includes(least));
  return samples.map((rows, index) => (index === shortest ? [tokenCounts[index].indexOf(least)] : rows));
}

function shareOf(batches: readonly Batch[], share: number): readonly (readonly number[])[] {
  let allowance = 0;
  return batches.map((batch) => {
    allowance += share * tokenCountOf(batch);
    const rows: number[] = [];
    for (const [row, { tokenCount }] of batch.entries()) {
      // What rounding takes off a share of 1 does not cost a row.
      if (tokenCount > allowance + 1e-6) break;
      allowance -= tokenCount;
      rows.push(row);
    }
    return rows;
  });
}

function tokenCountOf(batch: Batch): number {
  return batch.reduce((count, { tokenCount }) => count + tokenCount, 0);
}
