// How far recorded log-probabilities are from those that training computes of the same tokens. At a job's first step, on
// data of the version it starts from, that is the difference between serving and training: what is beyond rounding has a
// cause that the job's sender should know.
import { trainedIndices } from "../trajectories/sequences.ts";
import type { OptimizerBatch } from "./data/optimizer-batches.ts";
import type { ForwardResult } from "./trainer.ts";
import type { SequenceOrigin } from "./data/training-data.ts";

export interface LogprobDifference {
  /** The greatest |computed - recorded|; 0 where nothing was recorded. */
  readonly nats: number;
  /** The mean of |computed - recorded|; 0 where nothing was recorded. */
  readonly meanNats: number;
  /** Where the greatest is in the batch; null where nothing was recorded, or all is equal. */
  readonly row: number | null;
}

/** @param batch with the log-probabilities as recorded, NaN where unknown */
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

/** Between serving and training one and the same token behind the same prompt: rounding stays far below. */
const expectedNatsMax = 0.05;

/** The same on average where serving or training computes with fewer bits: single tokens differ by any amount. */
const quantizedMeanMax = 0.25;

export interface DifferenceContext {
  /** Of the sequence that has the greatest. */
  readonly origin: SequenceOrigin | undefined;
  /** The version that the job starts from. */
  readonly startStep: number;
  /** In which precision the base is served, or trained over, where that is not float32. */
  readonly roundedTo?: string | undefined;
}

/** A warning for the job's sender, with the likely cause; null where rounding explains the difference. */
export function differenceWarning(
  { nats, meanNats }: Pick<LogprobDifference, "nats" | "meanNats">,
  { origin, startStep, roundedTo }: DifferenceContext,
): string | null {
  const isQuantized = roundedTo !== undefined;
  if (isQuantized ? meanNats <= quantizedMeanMax : nats <= expectedNatsMax) return null;
  const place = origin === undefined ? "" : ` (${origin.place})`;
  const most = isQuantized
    ? `and by ${meanNats.toPrecision(3)} on average, where ${quantizedMeanMax} is the most that weights in ${roundedTo} explain.`
    : `where ${expectedNatsMax} is the most that rounding explains.`;
  return (
    `At the first step recorded and computed log-probabilities differ by up to ${nats.toPrecision(3)} nats${place}, ` +
    `${most} ${causeOf(origin, startStep)}`
  );
}

/** The likeliest first: another version explains any difference, and another prompt most. */
function causeOf(origin: SequenceOrigin | undefined, startStep: number): string {
  const version = origin?.policyVersion ?? null;
  if (version !== null && version !== startStep)
    return (
      `It was made with version ${version}, as it says, and training starts from version ${startStep}: the loss takes that ` +
      "into account, and the less the two differ the more of it counts. Train before sampling goes on, or sample from the newest version."
    );
  if (origin?.isRendered === true) return renderedCause;
  return version === null
    ? "Its tokens are exact, so the rollout is likely of another version than the one that training starts from, or of another model."
    : `Its tokens are exact, and it was made with version ${version}, as it says, from which training starts: the ` +
        "log-probabilities are likely of another model, or were taken after a temperature or penalties.";
}

const renderedCause =
  "It has choices without prompt_token_ids, whose prompts were rendered from the messages: the rollout likely stood behind " +
  "another prompt. Send choices with prompt_token_ids and token_ids, as the server gave them, or record on the choice, or " +
  "on the trajectory, what the request said of its prompt: tools, chat_template_kwargs, add_generation_prompt, " +
  "continue_final_message.";
