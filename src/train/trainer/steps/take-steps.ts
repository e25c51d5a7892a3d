// Takes the steps of a job. For each batch, computes a gradient, takes an AdamW step, reports the step with the
// estimated remaining time, and may take a snapshot. Does not repeat steps that an earlier attempt saved.
import type { Clock } from "../../../base/domain/clock.ts";
import type { BasePrecision } from "../../../base/domain/trainer/base-precision.ts";
import type { JobReport } from "../../../base/domain/job.ts";
import { trainedIndices } from "../../trajectories/sequences.ts";
import type { OptimizerBatch, PlannedBatch } from "../data/optimizer-batches.ts";
import type { TrainingPlan } from "../plans/plan.ts";
import { type Trainer, hasKlPenalty } from "../trainer.ts";
import { comparePrecision, type DifferenceMemory } from "./base-precision.ts";
import { heldOutLoss } from "./held-out-loss.ts";
import { requiredReference, preferenceReference } from "./preference-reference.ts";
import type { JobSnapshots, PastSteps } from "./job-snapshots.ts";
import { OldLogprobs, requiredLogprobs, withOldLogprobs } from "./old-logprobs.ts";
import { BaseComparisons, withReferenceLogprobs } from "./reference-logprobs.ts";

export interface StepContext {
  readonly report: JobReport;
  readonly snapshots: JobSnapshots;
  readonly clock: Clock;
  /** Precision in which products with the base model's weights are computed. */
  readonly basePrecision: BasePrecision;
  /**
   * Remembers how much the base model's precision changes log-probabilities. If null or absent, the job measures this
   * itself.
   */
  readonly differences?: DifferenceMemory | null | undefined;
  /** True if the start version gives the same log-probabilities as the base model. */
  readonly startsAtBase: boolean;
  /** Returns the time in seconds that this attempt has taken so far, including the time before the first step. */
  readonly secondsSpent: () => number;
  readonly signal: AbortSignal;
}

/** Returns the names of the values that an earlier attempt must have saved for this attempt to continue the plan. */
export function requiredArrays(plan: TrainingPlan): readonly string[] {
  return [
    ...requiredLogprobs(plan),
    ...(needsStartCheck(plan) ? [checkedLogprobsName] : []),
    ...requiredReference(plan),
  ];
}

const checkedLogprobsName = "checked-logprobs";

/** True if the checked sequences need a forward pass of their own before the first step. */
function needsStartCheck({ metrics, precalculatesLogprobs, batches }: TrainingPlan): boolean {
  return metrics.result !== null && !precalculatesLogprobs && batches.length > 0;
}

/** The results of all steps of a job, including steps of earlier attempts. */
export interface TakenSteps extends PastSteps {
  /** The checked sequences, with the log-probabilities that the policy gave them before the job. */
  readonly checked: OptimizerBatch;
}

/**
 * Takes one step for each batch of the plan that earlier attempts did not take.
 *
 * @param trainer has the state after the past steps
 * @param past results of the steps that earlier attempts took
 */
export async function takeSteps(
  trainer: Trainer,
  plan: TrainingPlan,
  past: PastSteps,
  context: StepContext,
): Promise<TakenSteps> {
  const { batches, loss } = plan;
  const { report, clock, snapshots, startsAtBase, secondsSpent, signal } = context;
  const precision = past.metrics.length === 0 ? await comparePrecision(trainer, plan, context) : null;
  const old = await OldLogprobs.before(trainer, plan, { snapshots, stepCount: past.metrics.length, signal });
  const comparisons = new BaseComparisons(trainer, plan, startsAtBase ? old : null);
  const references = await preferenceReference(trainer, plan, context);
  const timeLeft = new TimeLeft(batches.map(tokenCountOf));
  // Extends this list in place. Copying it in every step would take quadratic time.
  const metrics = [...past.metrics];
  const warnings = [...past.warnings];
  const steps = (): PastSteps => ({ metrics, warnings, seconds: past.seconds + secondsSpent() });
  const warn = async (warning: string | null): Promise<void> => {
    if (warning === null) return;
    warnings.push(warning);
    await report({ kind: "warned", warning });
  };
  await report({ kind: "entered", phase: "training" });
  const check = async (): Promise<OptimizerBatch> => {
    const recordedCheck = plan.read(plan.checked);
    const sequences = await computeStartCheck(trainer, plan, recordedCheck, { old, snapshots, signal });
    if (sequences.length > 0 && past.metrics.length === 0)
      await warn(plan.metrics.startWarning(recordedCheck, { logprobs: sequences.map(trainedLogprobs) }));
    return sequences;
  };
  let checked = old.awaitsFirst ? [] : await check();
  await warn(precision?.warning ?? null);
  let beganMs = clock.monotonicMs();
  for (const [index, planned] of batches.entries()) {
    if (index < past.metrics.length) continue;
    const startMs = clock.monotonicMs();
    const recorded = plan.read(planned);
    const sequences = await references.ofStep(index, old.of(planned, recorded));
    const before = await comparisons.before(index, sequences, { signal });
    const batch = hasKlPenalty(loss) ? withReferenceLogprobs(sequences, before) : sequences;
    const gradient = await trainer.forwardBackward(batch, loss, { id: `gradient ${index}`, signal });
    const step = await trainer.optimStep(plan.optimizerStep(index), { id: `step ${index}`, signal });
    const nowMs = clock.monotonicMs();
    const isAwaited = old.awaitsFirst;
    const compared = isAwaited ? await old.afterFirst(batch, gradient) : batch;
    if (isAwaited) checked = await check();
    const comparison = comparisons.after(index, before);
    const seconds = (nowMs - startMs) / 1000;
    const taken = { recorded, batch: compared, comparison, gradient, step, seconds };
    const heldOut = await heldOutLoss(trainer, plan, index, { withReference: references.ofHeldOut, signal });
    metrics.push({ ...plan.metrics.step(index, taken), ...heldOut, ...(index === 0 && precision?.metrics) });
    await report({
      kind: "stepped",
      index,
      metrics: plan.metrics.event(index, metrics[index]),
      secondsLeft: timeLeft.after(index, nowMs - beganMs),
    });
    beganMs = nowMs;
    // Offers no snapshot after the last step, because the job then saves the version itself.
    const isLast = index === batches.length - 1;
    if (!isLast && (await snapshots.offer(trainer, steps(), signal)))
      await report({ kind: "saved", stepCount: index + 1 });
  }
  return { ...steps(), checked };
}

/** Returns the checked sequences, with the log-probabilities that the policy gives them before the job. */
async function computeStartCheck(
  trainer: Trainer,
  plan: TrainingPlan,
  recorded: OptimizerBatch,
  { old, snapshots, signal }: Pick<StepContext, "snapshots" | "signal"> & { readonly old: OldLogprobs },
): Promise<OptimizerBatch> {
  if (!needsStartCheck(plan)) return old.of(plan.checked, recorded);
  const compute = async () => (await trainer.forward(recorded, { id: "before", signal })).logprobs;
  return withOldLogprobs(recorded, await snapshots.once(checkedLogprobsName, compute), { truncation: 0 });
}

function trainedLogprobs(sequence: OptimizerBatch[number]): Float32Array {
  return Float32Array.from(trainedIndices(sequence), (index) => sequence.oldLogprobs[index]);
}

/**
 * Reports how many steps an earlier attempt saved, and repeats the reports of these steps, in case that attempt died
 * before it sent them.
 */
export async function repeatReports(
  { metrics, warnings }: PastSteps,
  plan: TrainingPlan,
  { report, reportedCount }: { readonly report: JobReport; readonly reportedCount: number },
): Promise<void> {
  for (const warning of warnings) await report({ kind: "warned", warning });
  for (const [index, step] of metrics.entries())
    if (index >= reportedCount)
      await report({ kind: "stepped", index, metrics: plan.metrics.event(index, step) });
  await report({ kind: "saved", stepCount: metrics.length });
}

function tokenCountOf(batch: PlannedBatch): number {
  return batch.reduce((count, { tokenCount }) => count + tokenCount, 0);
}

/** Number of latest steps from which the speed is measured. It is small, because the machine's speed may change. */
const measuredMax = 16;

/** Estimates the time of a job's remaining steps from the speed of its latest steps. */
export class TimeLeft {
  readonly #tokenCounts: readonly number[];
  readonly #measured: { readonly ms: number; readonly tokenCount: number }[] = [];
  #isFirst = true;

  /** @param tokenCounts number of tokens in each step of the job; a step's time is assumed to be proportional to it */
  constructor(tokenCounts: readonly number[]) {
    this.#tokenCounts = tokenCounts;
  }

  /**
   * Returns the estimated time in seconds from the end of this step to the end of the last one. Undefined after an
   * attempt's first step, whose time includes loading its program.
   *
   * @param index index of the finished step
   * @param ms duration of the step, including the work around it
   */
  after(index: number, ms: number): number | undefined {
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    if (isFirst) return undefined;
    this.#measured.push({ ms, tokenCount: this.#tokenCounts[index] });
    if (this.#measured.length > measuredMax) this.#measured.shift();
    const tokensLeft = sumOf(this.#tokenCounts.slice(index + 1));
    const msPerToken =
      sumOf(this.#measured.map((step) => step.ms)) / sumOf(this.#measured.map((step) => step.tokenCount));
    return (tokensLeft * msPerToken) / 1000;
  }
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
