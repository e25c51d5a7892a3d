// Computes the loss on a batch and the gradients of all weights in one session: the model's forward pass,
// cross-entropy over the answers, and the gradient. It does not update the weights.
import { present } from "../../../../src/base/domain/assert.ts";
import { GraphBuilder } from "../../../../src/lib/graph/builder.ts";
import { gradient } from "../../../../src/lib/graph/gradient.ts";
import { float32Data, type Tensor } from "../../../../src/lib/graph/tensor.ts";
import type { ModelConfig } from "../../../../src/inference/architectures/config.ts";
import { modelParameters } from "../../../../src/inference/architectures/parameters.ts";
import { addTrainingForward } from "../../../../src/inference/architectures/training/forward.ts";
import { rotarySources } from "../../../../src/inference/architectures/serving/rotary-sources.ts";
import { createSession } from "../../../../src/inference/onnx/session.ts";
import type { Batch } from "./rows.ts";

export interface Learner {
  /** Returns the weighted mean loss per answer token in nats, and the gradient of each parameter. */
  differentiate(
    weights: ReadonlyMap<string, Float32Array>,
    batch: Batch,
  ): Promise<{ readonly loss: number; readonly gradients: ReadonlyMap<string, Float32Array> }>;
  close(): Promise<void>;
}

/**
 * Creates the session. The number of rows, their length and the number of answer positions may differ between batches.
 */
export async function createLearner(
  config: ModelConfig,
  options: { readonly threads: number },
): Promise<Learner> {
  const builder = new GraphBuilder();
  const inputs = {
    layout: { kind: "rows", tokens_BT: builder.input("tokens", "int64", ["B", "T"]) } as const,
    places_N: builder.input("places", "int64", ["N"]),
    targets_N: builder.input("targets", "int64", ["N"]),
  };
  const forward = addTrainingForward(builder, config, inputs, {
    learns: { kind: "weights" },
    hasEntropy: false,
  });
  const weights_N = builder.input("weights", "float32", ["N"]);
  const weighted = builder.reduceSum(builder.multiply(forward.logprobs_N, weights_N));
  const loss = builder.negate(builder.divide(weighted, builder.reduceSum(weights_N)));
  const names = [...forward.learned.keys()];
  const slopes = gradient(builder, loss, [...forward.learned.values()]);
  const outputs = Object.fromEntries(slopes.map((slope, index) => [`gradient.${names[index]}`, slope]));
  const session = await createSession(builder.build({ loss, ...outputs }), {
    weights: rotarySources(config),
    // Off, because learners compute in several threads of one process. With flushing, the threads would not all compute
    // the same results.
    flushesDenormals: false,
    ...options,
  });
  return {
    differentiate: async (weights, batch) => {
      const results = await session.run({ ...batchFeeds(batch), ...weightFeeds(config, weights) });
      return {
        loss: present(float32Data(results["loss"])[0], "the loss"),
        gradients: new Map(names.map((name) => [name, float32Data(results[`gradient.${name}`])])),
      };
    },
    close: () => session.release(),
  };
}

function batchFeeds({
  rowCount,
  length,
  tokens_BT,
  places_N,
  targets_N,
  weights_N,
}: Batch): Record<string, Tensor> {
  return {
    tokens: { dtype: "int64", dims: [rowCount, length], data: tokens_BT },
    places: { dtype: "int64", dims: [places_N.length], data: places_N },
    targets: { dtype: "int64", dims: [targets_N.length], data: targets_N },
    weights: { dtype: "float32", dims: [weights_N.length], data: weights_N },
  };
}

function weightFeeds(
  config: ModelConfig,
  weights: ReadonlyMap<string, Float32Array>,
): Record<string, Tensor> {
  return Object.fromEntries(
    modelParameters(config).map(({ name, shape }) => [
      name,
      { dtype: "float32", dims: shape, data: present(weights.get(name), name) } satisfies Tensor,
    ]),
  );
}
