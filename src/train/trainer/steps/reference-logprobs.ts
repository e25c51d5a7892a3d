// Computes log-probabilities under the base model. A KL penalty needs them for all trained tokens; a metric needs them
// for a share of the tokens.
import { atTrained } from "../../trajectories/sequences.ts";
import type { OptimizerBatch, PlannedBatch } from "../data/optimizer-batches.ts";
import { type Loss, type Trainer, type TrainerCall, hasKlPenalty } from "../trainer.ts";

/** The base model's log-probabilities for some sequences of a batch, given by their indices (`rows`). */
export interface BaseComparison {
  readonly rows: readonly number[];
  /** Log-probabilities of the trained tokens, one array for each of `rows`. */
  readonly logprobs: readonly Float32Array[];
}

/**
 * Computes the given sequences of a batch with the base model, in one forward pass. Does nothing if `rows` is empty.
 */
export async function compareWithBase(
  trainer: Trainer,
  batch: OptimizerBatch,
  rows: readonly number[],
  call: TrainerCall,
): Promise<BaseComparison> {
  if (rows.length === 0) return { rows, logprobs: [] };
  const compared = rows.map((row) => batch[row]);
  const { logprobs } = await trainer.forward(compared, call, { hasAdapter: false });
  return { rows, logprobs };
}

/** The parts of a plan that determine its comparisons with the base model; see `TrainingPlan`. */
interface ComparedPlan {
  readonly batches: readonly PlannedBatch[];
  readonly comparedRows: readonly (readonly number[])[];
  readonly loss: Loss;
}

/** Log-probabilities of a start version that equals the base model; see `OldLogprobs`. */
interface StartLogprobs {
  readonly awaitsFirst: boolean;
  computed(planned: PlannedBatch): readonly Float32Array[] | null;
}

/** Compares the batches of a plan's steps with the base model. */
export class BaseComparisons {
  readonly #trainer: Trainer;
  readonly #plan: ComparedPlan;
  readonly #ofStart: StartLogprobs | null;

  /** @param ofStart null if the start version differs from the base model */
  constructor(trainer: Trainer, plan: ComparedPlan, ofStart: StartLogprobs | null) {
    this.#trainer = trainer;
    this.#plan = plan;
    this.#ofStart = ofStart;
  }

  /**
   * Returns the comparison of a step's batch before the step. Computes it only if the base model's log-probabilities
   * are not known.
   *
   * @returns a comparison of no sequences if there are none, or if the step itself gives their log-probabilities
   */
  async before(
    index: number,
    batch: OptimizerBatch,
    { signal }: Pick<TrainerCall, "signal">,
  ): Promise<BaseComparison> {
    const { comparedRows, loss } = this.#plan;
    const known = this.#known(index);
    if (known !== null) return known;
    if (this.#ofStart?.awaitsFirst === true && !hasKlPenalty(loss)) return { rows: [], logprobs: [] };
    return await compareWithBase(this.#trainer, batch, comparedRows[index], { id: `base ${index}`, signal });
  }

  /** Returns the comparison after the step; the result of `before` if that has the sequences. */
  after(index: number, before: BaseComparison): BaseComparison {
    return before.rows.length > 0 ? before : (this.#known(index) ?? before);
  }

  /** Returns the comparison if the base model's log-probabilities are known, or no sequence is compared. */
  #known(index: number): BaseComparison | null {
    const { batches, comparedRows } = this.#plan;
    const rows = comparedRows[index];
    const logprobs = this.#ofStart?.computed(rows.map((row) => batches[index][row])) ?? null;
    return logprobs && { rows, logprobs };
  }
}

/** Returns only the compared sequences, with the base model's log-probabilities as their reference. */
export function withReferenceLogprobs(
  batch: OptimizerBatch,
  { rows, logprobs }: BaseComparison,
): OptimizerBatch {
  return rows.map((row, index) => {
    const sequence = batch[row];
    return { ...sequence, referenceLogprobs: atTrained(sequence, logprobs[index]) };
  });
}
