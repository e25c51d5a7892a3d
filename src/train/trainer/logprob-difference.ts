// Compares recorded log-probabilities with those that training computes for the same tokens. In a job's first step, on
// data of its start version, they should differ only by rounding. A larger difference has a cause that the job's
// creator should know.
import { trainedIndices } from "../trajectories/sequences.ts";
import type { OptimizerBatch } from "./data/optimizer-batches.ts";
import type { ForwardResult } from "./trainer.ts";
import type { SequenceOrigin } from "./data/training-data.ts";

export interface LogprobDifference {
  /** Largest |computed - recorded| of a token; 0 if no log-probability was recorded. */
  readonly nats: number;
  /** Mean of |computed - recorded| over the tokens; 0 if no log-probability was recorded. */
  readonly meanNats: number;
  /** Index of the sequence with the largest difference; null if nothing was recorded or all are equal. */
  readonly row: number | null;
}

/** Compares computed log-probabilities with the recorded ones in `batch`, which are NaN where unknown. */
export function logprobDifference(batch: OptimizerBatch, { logprobs }: ForwardResult): LogprobDifference {
  let greatest: Pick<LogprobDifference, "nats" | "row"> = { nats: 0, row: null };
  let [sum, count] = [0, 0];
  batch.forEach((sequence, row) =>
    trainedIndices(sequence).forEach((index, position) => {
      const nats = Math.abs(logprobs[row][position] - sequence.oldLogprobs[index]);
      if (Number.isNaN(nats)) return;
      sum += nats;
      count += 1;
      if (nats > greatest.nats) greatest = { nats, row };
    }),
  );
  return { ...greatest, meanNats: sum / Math.max(count, 1) };
}

/**
 * Largest expected difference of a token in nats if serving and training use the same precision. Rounding causes
 * smaller differences.
 */
const expectedNatsMax = 0.05;

/** Largest expected mean difference, in nats, if serving or training uses quantized weights. */
const quantizedMeanMax = 0.25;

export interface DifferenceContext {
  /** Place in the request body from which the sequence with the largest difference comes. */
  readonly origin: SequenceOrigin | undefined;
  /** Number of the version from which the job starts. */
  readonly startStep: number;
  /** Precision of the base model's weights if serving or training rounds them; undefined if both use float32. */
  readonly roundedTo?: string | undefined;
}

/** Returns a warning to the job's creator that names the likely cause; null if rounding explains the difference. */
export function differenceWarning(
  { nats, meanNats }: Pick<LogprobDifference, "nats" | "meanNats">,
  { origin, startStep, roundedTo }: DifferenceContext,
): string | null {
  const isQuantized = roundedTo !== undefined;
  if (isQuantized ? meanNats <= quantizedMeanMax : nats <= expectedNatsMax) return null;
  const place = origin === undefined ? "" : ` (${origin.place})`;
  const most = isQuantized
    ? `and by ${meanNats.toPrecision(3)} on average; weights in ${roundedTo} explain at most ${quantizedMeanMax}.`
    : `but rounding explains at most ${expectedNatsMax}.`;
  return (
    `At the first step recorded and computed log-probabilities differ by up to ${nats.toPrecision(3)} nats${place}, ` +
    `${most} ${causeOf(origin, startStep)}`
  );
}

/**
 * Names the likeliest cause of a difference. Checks first whether another version sampled the tokens, then whether Hone
 * rendered the prompt from messages.
 */
function causeOf(origin: SequenceOrigin | undefined, startStep: number): string {
  const version = origin?.policyVersion ?? null;
  if (version !== null && version !== startStep)
    return (
      `It was recorded with version ${version}, and training starts from version ${startStep}. The loss corrects for that, ` +
      "but uses less of the data the more the two differ. Train before sampling continues, or sample from the newest version."
    );
  if (origin?.isRendered === true) return renderedCause;
  return version === null
    ? "Its tokens are exact, so the rollout likely comes from another version than training starts from, or from another model."
    : `Its tokens are exact, and it was recorded with version ${version}, from which training starts: the ` +
        "log-probabilities likely come from another model, or were taken after temperature or penalties.";
}

const renderedCause =
  "It has choices without prompt_token_ids, whose prompts were rendered from the messages: the rollout likely had " +
  "another prompt. Send choices with prompt_token_ids and token_ids, as the server returned them, or record the request's " +
  "prompt options on the choice or the trajectory: tools, chat_template_kwargs, add_generation_prompt, " +
  "continue_final_message.";
