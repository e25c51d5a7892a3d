// Measures the loss on a job's held-out data after the steps that end an epoch.
import type { OptimizerBatch, PlannedBatch } from "../data/optimizer-batches.ts";
import { heldOutLossName, type Metrics } from "../job-metrics.ts";
import { batchLoss } from "../losses/batch-loss.ts";
import type { TrainingPlan } from "../plans/plan.ts";
import type { Loss, Trainer } from "../trainer.ts";

/**
 * Returns the loss on the held-out data after the step with this index; empty if it is not measured then.
 *
 * @param withReference adds the reference values that the loss uses
 */
export async function heldOutLoss(
  trainer: Trainer,
  { heldOut, loss, read }: Pick<TrainingPlan, "heldOut" | "loss" | "read">,
  index: number,
  {
    withReference,
    signal,
  }: {
    readonly withReference: (planned: PlannedBatch, batch: OptimizerBatch) => OptimizerBatch;
    readonly signal: AbortSignal;
  },
): Promise<Metrics> {
  if (heldOut === null || !heldOut.stepIndices.has(index)) return {};
  let [sum, weight] = [0, 0];
  for (const [place, planned] of heldOut.batches.entries()) {
    const batch = withReference(planned, read(planned));
    const { logprobs } = await trainer.forward(batch, { id: `held out ${index} ${place}`, signal });
    const inputs = batch.map((sequence, row) => ({ sequence, logprobs: logprobs[row] }));
    const size = sizeOf(planned, loss);
    sum += size * batchLoss(inputs, loss).loss;
    weight += size;
  }
  return { [heldOutLossName]: sum / weight };
}

/** Returns the number of items over which the loss of a batch is a mean: preferences, or trained tokens. */
function sizeOf(batch: PlannedBatch, { kind }: Loss): number {
  if (kind === "preference") return new Set(batch.map(({ preference }) => preference?.index)).size;
  return batch.reduce((count, { trainedCount }) => count + trainedCount, 0);
}
