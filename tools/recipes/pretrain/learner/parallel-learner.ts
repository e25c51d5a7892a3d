// A learner that distributes the rows of a batch over worker threads with one compute thread each. They synchronize
// once per step instead of once per operation, which is much faster on a busy machine. Weights and gradients are
// exchanged through shared memory.
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { present } from "../../../../src/base/domain/assert.ts";
import type { ModelConfig } from "../../../../src/inference/architectures/config.ts";
import { modelParameters } from "../../../../src/inference/architectures/parameters.ts";
import { silenceRuntime } from "../../../../src/inference/onnx/environment.ts";
import type { Learner } from "./learner.ts";
import type { Batch } from "./rows.ts";

/** Data that a worker receives at its start. Each shared buffer holds all parameters in their fixed order. */
export interface WorkerSetup {
  readonly config: ModelConfig;
  readonly weights: SharedArrayBuffer;
  readonly gradients: SharedArrayBuffer;
}

/** A worker's answer, sent once its gradients are in the shared buffer. */
export interface WorkerAnswer {
  readonly loss: number;
}

interface Hand {
  readonly worker: Worker;
  readonly gradients: ReadonlyMap<string, Float32Array>;
}

/** Starts the workers. Each batch must have at least as many rows as there are workers. */
export async function createParallelLearner(
  config: ModelConfig,
  options: { readonly workers: number },
): Promise<Learner> {
  silenceRuntime();
  const byteLength = 4 * modelParameters(config).reduce((sum, { shape }) => sum + size(shape), 0);
  const sharedWeights = new SharedArrayBuffer(byteLength);
  const weightViews = parameterViews(config, sharedWeights);
  const hands = await Promise.all(
    Array.from({ length: options.workers }, async (): Promise<Hand> => {
      const gradients = new SharedArrayBuffer(byteLength);
      const workerData: WorkerSetup = { config, weights: sharedWeights, gradients };
      const worker = new Worker(new URL("./learner-worker.js", import.meta.url), { workerData });
      await once(worker, "message");
      return { worker, gradients: parameterViews(config, gradients) };
    }),
  );
  return {
    differentiate: async (weights, batch) => {
      for (const [name, view] of weightViews) view.set(present(weights.get(name), name));
      const parts = splitBatch(batch, hands.length);
      const answers = await Promise.all(
        hands.map(({ worker }, index) => ask(worker, present(parts[index], "a part"))),
      );
      const shares = parts.map(({ weights_N }) => sumOf(weights_N) / sumOf(batch.weights_N));
      const loss = answers.reduce((sum, answer, index) => sum + answer.loss * (shares[index] ?? 0), 0);
      return { loss, gradients: combine(hands, shares) };
    },
    close: async () => {
      for (const { worker } of hands) worker.postMessage(null, []);
      await Promise.all(hands.map(({ worker }) => once(worker, "exit")));
    },
  };
}

async function ask(worker: Worker, batch: Batch): Promise<WorkerAnswer> {
  worker.postMessage(batch, []);
  // `once` rejects if the worker fails. Safe cast: learner-worker.ts posts messages of this type.
  const [answer] = (await once(worker, "message")) as [WorkerAnswer];
  return answer;
}

/** Returns the weighted sum of the workers' gradients. The sums overwrite the first worker's arrays. */
function combine(hands: readonly Hand[], shares: readonly number[]): ReadonlyMap<string, Float32Array> {
  const [first] = hands;
  const sums = present(first, "a worker").gradients;
  for (const [name, sum] of sums) {
    const firstShare = shares[0] ?? 0;
    for (let index = 0; index < sum.length; index++) sum[index] *= firstShare;
    for (const [place, { gradients }] of hands.entries()) {
      if (place === 0) continue;
      const share = shares[place] ?? 0;
      const values = present(gradients.get(name), name);
      for (let index = 0; index < sum.length; index++) sum[index] += share * values[index];
    }
  }
  return sums;
}

function sumOf(values: Float32Array): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** Splits a batch into `count` parts with nearly equal numbers of rows. */
export function splitBatch(batch: Batch, count: number): readonly Batch[] {
  const { rowCount, length } = batch;
  const places = Array.from(batch.places_N, Number);
  return Array.from({ length: count }, (_, part) => {
    const start = Math.floor((part * rowCount) / count) * length;
    const end = Math.floor(((part + 1) * rowCount) / count) * length;
    const from = places.filter((place) => place < start).length;
    const to = places.filter((place) => place < end).length;
    return {
      rowCount: (end - start) / length,
      length,
      tokens_BT: batch.tokens_BT.slice(start, end),
      places_N: batch.places_N.slice(from, to).map((place) => place - BigInt(start)),
      targets_N: batch.targets_N.slice(from, to),
      weights_N: batch.weights_N.slice(from, to),
    };
  });
}

/**
 * Returns the parameters by name. Each is a view of its part of the buffer, which holds all parameters in their fixed
 * order.
 */
export function parameterViews(
  config: ModelConfig,
  buffer: SharedArrayBuffer,
): ReadonlyMap<string, Float32Array> {
  let offset = 0;
  return new Map(
    modelParameters(config).map(({ name, shape }) => {
      const view = new Float32Array(buffer, offset, size(shape));
      offset += view.byteLength;
      return [name, view];
    }),
  );
}

function size(shape: readonly number[]): number {
  return shape.reduce((product, dimension) => product * dimension, 1);
}
