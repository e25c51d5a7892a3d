// Chooses the items of a reinforcement step, and reads them from the training file.
import { seededRandom, shuffled } from "../../base/domain/random.ts";
import type { Json, JsonObject } from "../../base/domain/text/json.ts";
import type { MessageRecord } from "../../base/domain/trajectory.ts";
import type { FineTuningOrder } from "../../base/domain/fine-tuning/fine-tuning-job.ts";

/** A line of the training file: the prompt, and all fields for the grader's templates. */
export interface ReinforcementItem {
  readonly index: number;
  readonly messages: readonly MessageRecord[];
  readonly tools: readonly JsonObject[] | null;
  readonly fields: JsonObject;
}

/** Returns the number of steps of a job. */
export function stepCountOf({ hyperparameters, exampleCount }: FineTuningOrder): number {
  return (
    Number(hyperparameters["n_epochs"]) * stepsPerEpoch(Number(hyperparameters["batch_size"]), exampleCount)
  );
}

function stepsPerEpoch(batchSize: number, exampleCount: number): number {
  return Math.ceil(exampleCount / batchSize);
}

/** Returns the 0-based line numbers of a step's items. The order of the lines is random and differs in each epoch. */
export function itemsOfStep(
  { hyperparameters, exampleCount, seed }: Pick<FineTuningOrder, "hyperparameters" | "exampleCount" | "seed">,
  step: number,
): readonly number[] {
  const batchSize = Number(hyperparameters["batch_size"]);
  const perEpoch = stepsPerEpoch(batchSize, exampleCount);
  const epoch = Math.floor(step / perEpoch);
  const lines = Array.from({ length: exampleCount }, (_, line) => line);
  const order = shuffled(seededRandom("fine-tuning items", seed, epoch), lines);
  const start = (step % perEpoch) * batchSize;
  return order.slice(start, start + batchSize);
}

const lineFeed = 0x0a;

/** Reads some lines of a training file, which was checked when the job was created. */
export function readItems(bytes: Uint8Array, indexes: readonly number[]): readonly ReinforcementItem[] {
  const wanted = new Set(indexes);
  const found = new Map<number, ReinforcementItem>();
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  let start = buffer.subarray(0, 3).equals(Buffer.from("\uFEFF")) ? 3 : 0;
  for (let index = 0; start < buffer.length && found.size < wanted.size; index++) {
    const feed = buffer.indexOf(lineFeed, start);
    const end = feed < 0 ? buffer.length : feed;
    if (wanted.has(index)) found.set(index, itemOf(buffer.toString("utf8", start, end), index));
    start = end + 1;
  }
  return indexes.flatMap((index) => found.get(index) ?? []);
}

function itemOf(line: string, index: number): ReinforcementItem {
  // Safe casts: the line was checked when the job was created.
  const fields = JSON.parse(line) as JsonObject;
  const { messages, tools = null } = fields as { readonly [key: string]: Json } & {
    readonly messages: readonly MessageRecord[];
    readonly tools?: readonly JsonObject[] | null;
  };
  return { index, messages, tools, fields };
}
