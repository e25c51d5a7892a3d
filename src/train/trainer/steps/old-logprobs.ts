// The old log-probabilities of a job's sequences, with which its loss compares the current ones: recorded, or computed
// with the start version. The first step computes its own sequences with that version anyway, so a job computes only
// those of the other steps before it.
import { present } from "../../../base/domain/assert.ts";
import { atTrained } from "../../trajectories/sequences.ts";
import type { OptimizerBatch, PlannedBatch, PlannedSequence } from "../data/optimizer-batches.ts";
import type { TrainingPlan } from "../plans/plan.ts";
import type { ForwardResult, Trainer, TrainingSequence } from "../trainer.ts";
import type { JobSnapshots } from "./job-snapshots.ts";
import { withoutRepeats } from "./without-repeats.ts";

/** Names under which a job saves log-probabilities for later attempts: those of the first step, and all others. */
const [firstName, currentName] = ["first-logprobs", "current-logprobs"];

/** Returns the names of the values that an earlier attempt must have saved for this attempt to follow its steps. */
export function requiredLogprobs(plan: TrainingPlan): readonly string[] {
  if (!plan.precalculatesLogprobs) return [];
  return learnsFromStep(plan) ? [firstName, currentName] : [currentName];
}

/**
 * True if the first step gives the old log-probabilities of its own sequences. False if tokens have importance weights,
 * because these must be known before the step.
 */
function learnsFromStep({ precalculatesLogprobs, importanceTruncation }: TrainingPlan): boolean {
  return precalculatesLogprobs && importanceTruncation === 0;
}

/** Context of {@link OldLogprobs.before}. */
interface Before {
  readonly snapshots: Pick<JobSnapshots, "once">;
  /** Number of steps that earlier attempts took. */
  readonly stepCount: number;
  readonly signal: AbortSignal;
}

export class OldLogprobs {
  readonly #plan: TrainingPlan;
  readonly #snapshots: Pick<JobSnapshots, "once">;
  /** Computed values of each sequence's trained tokens. */
  readonly #known = new Map<PlannedSequence, Float32Array>();

  private constructor(plan: TrainingPlan, snapshots: Pick<JobSnapshots, "once">) {
    this.#plan = plan;
    this.#snapshots = snapshots;
  }

  /** Computes the values that the job needs before its next step, or reads those that an earlier attempt saved. */
  static async before(
    trainer: Trainer,
    plan: TrainingPlan,
    { snapshots, stepCount, signal }: Before,
  ): Promise<OldLogprobs> {
    const old = new OldLogprobs(plan, snapshots);
    const { batches, precalculatesLogprobs } = plan;
    if (!precalculatesLogprobs || batches.length === 0) return old;
    const others = withoutRepeats(batches, learnsFromStep(plan) ? batches[0] : []);
    const compute = (): Promise<readonly Float32Array[]> => currentLogprobs(trainer, plan, others, signal);
    old.#learn(others.flat(), await snapshots.once(currentName, compute));
    if (stepCount > 0) await old.afterFirst([], null);
    return old;
  }

  /** True if the first step has yet to give the values of its own sequences. */
  get awaitsFirst(): boolean {
    const { batches } = this.#plan;
    return learnsFromStep(this.#plan) && batches.length > 0 && !this.#known.has(batches[0][0]);
  }

  /**
   * Returns a batch with the old log-probabilities that its loss uses. They are unknown for the first step's sequences
   * before that step; the loss then takes the current ones as old ones.
   */
  of(planned: PlannedBatch, recorded: OptimizerBatch): OptimizerBatch {
    const { precalculatesLogprobs, importanceTruncation: truncation } = this.#plan;
    if (!precalculatesLogprobs) return recorded;
    const logprobs = planned.map((sequence) => this.#known.get(sequence) ?? unknown);
    return withOldLogprobs(recorded, logprobs, { truncation });
  }

  /** Returns the computed values of some sequences; null if one of them is not known. */
  computed(planned: PlannedBatch): readonly Float32Array[] | null {
    const logprobs = planned.flatMap((sequence) => this.#known.get(sequence) ?? []);
    return logprobs.length === planned.length ? logprobs : null;
  }

  /**
   * Takes the values of the first step's sequences from its result, or from those that an earlier attempt saved.
   *
   * @returns the batch with the old log-probabilities that its loss used
   */
  async afterFirst(batch: OptimizerBatch, result: ForwardResult | null): Promise<OptimizerBatch> {
    if (!learnsFromStep(this.#plan)) return batch;
    const compute = async (): Promise<readonly Float32Array[]> =>
      present(result?.logprobs, "saved log-probabilities of the first step");
    const logprobs = await this.#snapshots.once(firstName, compute);
    this.#learn(this.#plan.batches[0], logprobs);
    return withOldLogprobs(batch, logprobs, { truncation: 0 });
  }

  #learn(sequences: PlannedBatch, logprobs: readonly Float32Array[]): void {
    for (const [index, sequence] of sequences.entries())
      this.#known.set(sequence, present(logprobs[index], "a sequence's log-probabilities"));
  }
}

const unknown = new Float32Array(0);

/** Computes the log-probabilities of each sequence's trained tokens under the current policy. */
async function currentLogprobs(
  trainer: Trainer,
  { read }: Pick<TrainingPlan, "read">,
  batches: readonly PlannedBatch[],
  signal: AbortSignal,
): Promise<readonly Float32Array[]> {
  const result: Float32Array[] = [];
  for (const [index, batch] of batches.entries()) {
    if (batch.length === 0) continue;
    const { logprobs } = await trainer.forward(read(batch), { id: `forward ${index}`, signal });
    result.push(...logprobs);
  }
  return result;
}

/**
 * Replaces the old log-probabilities of a batch.
 *
 * @param logprobs new values for each sequence's trained tokens; an empty array if they are unknown
 * @param truncation if above 0, the upper limit of a token's importance weight (its new probability divided by its
 * recorded one). This truncated importance sampling (Ionides, 2008) corrects for tokens that another policy sampled
 */
export function withOldLogprobs(
  batch: OptimizerBatch,
  logprobs: readonly Float32Array[],
  { truncation }: { readonly truncation: number },
): OptimizerBatch {
  return batch.map((sequence, row) => withOldLogprobsOf(sequence, logprobs[row], truncation));
}

function withOldLogprobsOf(
  sequence: TrainingSequence,
  logprobs: Float32Array,
  truncation: number,
): TrainingSequence {
  const oldLogprobs = atTrained(sequence, logprobs);
  if (truncation === 0) return { ...sequence, oldLogprobs };
  const tokenWeights = oldLogprobs.map((old, at) =>
    truncatedRatio(old, sequence.oldLogprobs[at], truncation),
  );
  return { ...sequence, oldLogprobs, tokenWeights };
}

/**
 * Returns a token's new probability divided by its recorded one, but at most `truncation`. Returns 1 for tokens that
 * were not recorded or are not trained on.
 */
function truncatedRatio(old: number, recorded: number, truncation: number): number {
  const ratio = Math.min(Math.exp(old - recorded), truncation);
  return Number.isNaN(ratio) ? 1 : ratio;
}
