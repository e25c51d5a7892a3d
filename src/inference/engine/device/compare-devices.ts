// Checks that a device computes the same logits as the CPU for prompts and for the tokens after them. Uses a small
// model.
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { Device } from "../../../base/domain/model.ts";
import { readModelConfig } from "../../architectures/config/read-config.ts";
import { readModelWeights } from "../../architectures/weights.ts";
import { canComputeOn } from "../../onnx/devices.ts";
import { KvLane, roundUpPositions } from "../cache/kv-lane.ts";
import { createGraphRunner } from "../graph-runner.ts";

/** Lengths of a short and a long prompt in tokens; devices use different kernels for them. */
const promptLengths = [5, 150];
/** Number of tokens of the longer prompt that are computed in a second call. */
const laterLength = 70;
/**
 * Tolerance, as a fraction of the greatest logit. Adding float32 values in another order changes sums by about 1e-5.
 */
const toleranceShare = 1e-3;

/**
 * Checks that a device computes as the CPU does.
 *
 * @param modelFolder folder of a model that uses the runtime's usual kernels and is small enough to be computed at each
 * start
 * @returns null if the device may be used, else the reason why not, as a text for the operator
 */
export async function deviceFault(modelFolder: string, device: Device): Promise<string | null> {
  if (!canComputeOn(device)) return `the runtime of this platform does not support ${device}`;
  const expected = await scoresOn(modelFolder, "cpu");
  try {
    return differenceOf(await scoresOn(modelFolder, device), expected);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return reasonOf(error);
  }
}

/** Describes for the operator how two arrays of logits differ; returns null if they differ within the tolerance. */
export function differenceOf(actual: Float32Array, expected: Float32Array): string | null {
  const greatest = greatestOf(expected.map(Math.abs));
  const difference = greatestOf(actual.map((score, index) => Math.abs(score - expected[index])));
  // The comparison is false for NaN, so NaN counts as a difference.
  if (difference <= toleranceShare * greatest) return null;
  return `its scores differ from the processor's by ${difference.toPrecision(2)} of ${greatest.toPrecision(3)}`;
}

/**
 * Returns the logits of every token of two prompts, then those of a continuation of the longer prompt, then those of
 * one new token in each row.
 */
async function scoresOn(modelFolder: string, device: Device): Promise<Float32Array> {
  const config = readModelConfig(modelFolder);
  const weights = readModelWeights(modelFolder, config, { cacheFolder: null });
  const runner = await createGraphRunner({ config, weights, threads: 1, adapterCountMax: 0, device });
  try {
    const lane = new KvLane(runner.shape);
    lane.reshape(promptLengths.length, roundUpPositions(Math.max(...promptLengths) + laterLength + 1));
    const part = (slot: number, length: number) => ({
      slot,
      tokenIds: tokens(length),
      logits: "all" as const,
    });
    promptLengths.forEach(() => lane.takeSlot());
    const first = await runner.prefill(
      lane,
      null,
      promptLengths.map((length, slot) => part(slot, length)),
    );
    const later = await runner.prefill(lane, null, [part(1, laterLength)]);
    const decoded = await runner.decode(lane, null, [...promptLengths.keys()]);
    return Float32Array.from([...first, ...later, decoded].flatMap((scores) => [...scores]));
  } finally {
    await runner.close();
  }
}

function tokens(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => 3 + ((13 * index) % 500));
}

function greatestOf(values: Float32Array): number {
  return values.reduce((one, other) => Math.max(one, other), 0);
}

/** Returns the message of the runtime's error without the source locations at its end. */
function reasonOf(error: ServiceError): string {
  const text = error.cause instanceof Error ? error.cause.message : error.message;
  return text
    .trim()
    .replaceAll(/\s+/g, " ")
    .replace(/^.*was false\. /, "");
}
