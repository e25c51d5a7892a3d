// Which sequences share an optimizer step. Sequences of like length go together, so that little is padding when a batch
// is computed as rows; the order of the steps is shuffled. The same sequences and seed always give the same batches.
import { seededRandom, shuffled } from "../../domain/random.ts";
import type { TrainingSequence } from "../trainer.ts";

/** The sequences of one optimizer step. */
export type OptimizerBatch = readonly TrainingSequence[];

/**
 * Cuts the job's sequences into the batches of its optimizer steps.
 *
 * @param batchTokens the tokens of a batch, padding not counted, stay within this unless one sequence alone exceeds it
 * @param seed the job's, so that a repeated attempt takes the same steps
 */
export function cutIntoBatches(
  sequences: readonly TrainingSequence[],
  { batchTokens, seed }: { readonly batchTokens: number; readonly seed: string },
): OptimizerBatch[] {
  const random = seededRandom("optimizer batches", seed);
  const batches = cutByLength(shuffled(random, sequences), {
    tokensMax: batchTokens,
    measure: ({ tokenCount }) => tokenCount,
  });
  return shuffled(random, batches);
}

/** What a batch measures while it is filled; all at least 1. */
export interface BatchSize {
  readonly rowCount: number;
  readonly longest: number;
  readonly tokenCount: number;
}

/**
 * Cuts sequences into batches of like length, the longest first; those of one length stay in the order given.
 *
 * @param tokensMax what `measure` may give for a batch; a sequence that exceeds it alone has a batch of its own
 */
export function cutByLength<Sequence extends Pick<TrainingSequence, "tokenIds">>(
  sequences: readonly Sequence[],
  { tokensMax, measure }: { readonly tokensMax: number; readonly measure: (size: BatchSize) => number },
): Sequence[][] {
  const sorted = [...sequences].sort((left, right) => right.tokenIds.length - left.tokenIds.length);
  const batches: Sequence[][] = [];
  let current: Sequence[] = [];
  let currentTokens = 0;
  for (const sequence of sorted) {
    const size = {
      rowCount: current.length + 1,
      longest: (current[0] ?? sequence).tokenIds.length,
      tokenCount: currentTokens + sequence.tokenIds.length,
    };
    if (current.length > 0 && measure(size) > tokensMax) {
      batches.push(current);
      current = [];
      currentTokens = 0;
    }
    current.push(sequence);
    currentTokens += sequence.tokenIds.length;
  }
  if (current.length > 0) batches.push(current);
  return batches;
}
