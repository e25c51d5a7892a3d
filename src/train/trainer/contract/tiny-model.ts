// Fixtures of the trainer contract: a model small enough for the reference interpreter, an adapter that changes its
// output, and training data. Also computes the expected log-probabilities without a trainer, by merging the adapter
// into the weights.
import { projectionNames } from "../../../base/domain/model.ts";
import { present } from "../../../base/domain/assert.ts";
import { seededRandom } from "../../../base/domain/random.ts";
import { GraphBuilder } from "../../../lib/graph/builder.ts";
import type { Dense } from "../../../lib/graph/testing/dense.ts";
import type { Graph } from "../../../lib/graph/graph.ts";
import { interpret } from "../../../lib/graph/testing/interpret.ts";
import { parseModelConfig } from "../../../inference/architectures/config/read-config.ts";
import { type LoraAdapter, createLoraAdapter } from "../../../inference/architectures/lora.ts";
import { loraNames, loraProjections } from "../../../inference/architectures/parameters.ts";
import { createRandomWeights } from "../../../inference/architectures/testing/random-weights.ts";
import { addTrainingForward } from "../../../inference/architectures/training/forward.ts";
import { weightsInMemory } from "../../../inference/architectures/testing/weights-in-memory.ts";
import { trainedIndices } from "../../trajectories/sequences.ts";
import { type Loss, targetsOf, type TrainingSequence } from "../trainer.ts";

/** Content of the tiny model's config.json. */
export const tinyModelConfig = {
  architectures: ["LlamaForCausalLM"],
  model_type: "llama",
  vocab_size: 11,
  hidden_size: 8,
  intermediate_size: 12,
  num_hidden_layers: 1,
  num_attention_heads: 2,
  num_key_value_heads: 1,
  head_dim: 4,
  hidden_act: "silu",
  rms_norm_eps: 1e-5,
  rope_theta: 100,
  max_position_embeddings: 12,
  tie_word_embeddings: true,
  eos_token_id: 0,
};

export const tinyConfig = parseModelConfig(tinyModelConfig, {}, "the contract's tiny model");

export const tinyWeights = createRandomWeights(tinyConfig, { seed: "contract", deviation: 0.4 });

export const tinyLora = { rank: 2, alpha: 4 };

/** Returns a LoRA adapter whose B matrices are not zero, so that each matrix has a gradient. */
export function trainedAdapter(): LoraAdapter {
  const adapter = createLoraAdapter(tinyConfig, { ...tinyLora, seed: "start" });
  const random = seededRandom("contract adapter");
  for (const [name, values] of adapter.matrices) {
    if (!name.includes("lora_B")) continue;
    values.forEach((_, index) => (values[index] = 0.4 * (random.uniform() - 0.5)));
  }
  return adapter;
}

/**
 * Returns sequences of different lengths in two groups. One sequence has no recorded log-probabilities. The reference
 * log-probabilities are arbitrary numbers.
 */
export function tinyBatch(): readonly TrainingSequence[] {
  const random = seededRandom("contract batch");
  return [5, 8, 6, 9, 5, 7].map((length, index) => {
    const mask = Uint8Array.from({ length }, (_, at) => (at === 0 || at % 4 === 2 ? 0 : 1));
    const isRecorded = index !== 4;
    return {
      tokenIds: Int32Array.from({ length }, () => random.index(tinyConfig.vocabularySize)),
      mask,
      oldLogprobs: Float32Array.from(mask, (trains) =>
        trains === 1 && isRecorded ? -1.5 - 2 * random.uniform() : NaN,
      ),
      advantage: index % 2 === 0 ? 1.5 : -0.75,
      weight: 0.5 + random.uniform(),
      referenceLogprobs: Float32Array.from(mask, (trains) =>
        trains === 1 ? -1 - 2 * random.uniform() : NaN,
      ),
      ...(index % 3 === 0 ? { tokenWeights: Float32Array.from(mask, () => 1.5 * random.uniform()) } : {}),
      group: index % 2,
    };
  });
}

/**
 * Returns training data with the inputs that a loss needs: answers in pairs for preference losses, single answers for
 * KTO.
 */
export function tinyBatchFor(loss: Loss): readonly TrainingSequence[] {
  if (loss.kind !== "preference") return tinyBatch();
  const isPaired = loss.config.loss !== "kto";
  return tinyBatch().map((sequence, row) => {
    const side = { isChosen: row % 2 === 0 };
    const preference = isPaired ? { ...side, index: row >> 1 } : { ...side, index: row, referencePoint: 0.3 };
    return { ...sequence, preference };
  });
}

const forwardGraph = buildForward();

function buildForward(): Graph {
  const builder = new GraphBuilder();
  const inputs = {
    layout: { kind: "rows", tokens_BT: builder.input("tokens", "int64", ["B", "T"]) } as const,
    places_N: builder.input("places", "int64", ["N"]),
    targets_N: builder.input("targets", "int64", ["N"]),
  };
  const options = { learns: { kind: "nothing" }, hasEntropy: false } as const;
  const { logprobs_N } = addTrainingForward(builder, tinyConfig, inputs, options);
  return builder.build({ logprobs: logprobs_N });
}

/**
 * Computes the log-probabilities of the trained tokens in double precision. If the adapter is null, uses the base
 * model.
 */
export function expectedLogprobs(sequence: TrainingSequence, adapter: LoraAdapter | null): readonly number[] {
  const merged = mergedWeights(adapter);
  const indices = trainedIndices(sequence);
  const row = (values: readonly number[]): Dense => ({
    dims: [values.length],
    data: Float64Array.from(values),
  });
  const outputs = interpret(forwardGraph, {
    ...Object.fromEntries(
      forwardGraph.parameters.map(({ name, value }) => [
        name,
        { dims: value.shape.map(Number), data: present(merged.get(name), name) },
      ]),
    ),
    tokens: { dims: [1, sequence.tokenIds.length], data: Float64Array.from(sequence.tokenIds) },
    places: row(indices.map((index) => index - 1)),
    targets: row(indices.map((index) => targetsOf(sequence)[index])),
  });
  return [...outputs["logprobs"].data];
}

/** Computes W + scale · B A in double precision for each projection that has adapter matrices A and B. */
function mergedWeights(adapter: LoraAdapter | null): ReadonlyMap<string, Float64Array> {
  const merged = new Map<string, Float64Array>();
  for (const [name, source] of weightsInMemory(tinyConfig, tinyWeights)) {
    if ("data" in source) merged.set(name, Float64Array.from(source.data));
  }
  if (adapter === null) return merged;
  const { rank, scale, matrices } = adapter;
  for (const { path, inputSize, outputSize } of loraProjections(tinyConfig, projectionNames)) {
    const weight = present(merged.get(`${path}.weight`), path);
    const a = present(matrices.get(loraNames(path).a), path);
    const b = present(matrices.get(loraNames(path).b), path);
    for (let output = 0; output < outputSize; output++)
      for (let input = 0; input < inputSize; input++)
        for (let each = 0; each < rank; each++)
          weight[output * inputSize + input] += scale * b[output * rank + each] * a[each * inputSize + input];
  }
  return merged;
}
