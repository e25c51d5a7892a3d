// The steps of a job: one pass over its batches, a gradient and an AdamW step for each, told as they are taken.
import type { Clock } from "../../domain/clock.ts";
import type { JobReport } from "../../domain/job.ts";
import type { Metrics } from "../job-metrics.ts";
import type { TrainingPlan } from "../plans/plan.ts";
import { hasKlPenalty, type Trainer } from "../trainer.ts";
import { withCurrentLogprobs } from "./current-logprobs.ts";
import { withReferenceLogprobs } from "./reference-logprobs.ts";

export interface StepContext {
  readonly report: JobReport;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * One pass over the plan, a step per batch.
 *
 * @returns the metrics of each step
 */
export async function takeSteps(
  trainer: Trainer,
  plan: TrainingPlan,
  { report, clock, signal }: StepContext,
): Promise<readonly Metrics[]> {
  const { told, loss } = plan;
  const batches = plan.precalculatesLogprobs
    ? await withCurrentLogprobs(trainer, plan.batches, { signal })
    : plan.batches;
  const steps: Metrics[] = [];
  for (const [index, sequences] of batches.entries()) {
    const startMs = clock.monotonicMs();
    const batch = hasKlPenalty(loss)
      ? await withReferenceLogprobs(trainer, sequences, { id: `reference ${index}`, signal })
      : sequences;
    const gradient = await trainer.forwardBackward(batch, loss, { id: `gradient ${index}`, signal });
    const step = await trainer.optimStep(plan.optimizerStep(index), { id: `step ${index}`, signal });
    const taken = { gradient, step, seconds: (clock.monotonicMs() - startMs) / 1000 };
    const metrics = told.step(index, taken);
    steps.push(metrics);
    const warning = told.warning(index, taken);
    if (warning !== null) await report.warned(warning);
    await report.stepped(index, told.event(index, metrics));
  }
  return steps;
}
