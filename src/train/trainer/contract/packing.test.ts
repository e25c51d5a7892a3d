// Tests that packing changes no result: losses, log-probabilities and gradients equal those of each sequence computed
// separately in double precision. Uses random batches, and models with full attention, sliding windows, convolutions,
// delta rules and Mamba-2.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { dataFolderAt } from "../../../store/artifacts/testing/data-folder.ts";
import { projectionNames } from "../../../base/domain/model.ts";
import { type Random, seededRandom, shuffled } from "../../../base/domain/random.ts";
import { resolvePreferenceConfig } from "../../../base/domain/preferences/preference-config.ts";
import { searchedOf } from "../../../base/domain/testing/search.ts";
import { importanceSamplingLevels, resolveTrainingConfig } from "../../../base/domain/training-config.ts";
import type { ModelConfig } from "../../../inference/architectures/config.ts";
import { parseModelConfig } from "../../../inference/architectures/config/read-config.ts";
import { createLoraAdapter } from "../../../inference/architectures/lora.ts";
import { readLoraAdapter, writeLoraAdapter } from "../../../inference/architectures/peft-folder.ts";
import { createRandomWeights } from "../../../inference/architectures/testing/random-weights.ts";
import { weightsInMemory } from "../../../inference/architectures/testing/weights-in-memory.ts";
import { EmbeddedTrainers } from "../embedded/embedded-trainer.ts";
import { cutIntoPacks } from "../packing/packs.ts";
import { groupByPrefix } from "../packing/prefix-groups.ts";
import { NaiveTrainers } from "../testing/naive-trainer.ts";
import {
  type Loss,
  preferenceLossOf,
  type Trainer,
  type TrainerCall,
  type TrainerProvider,
  type TrainingSequence,
} from "../trainer.ts";
import { tinyConfig } from "./tiny-model.ts";
import { assertClose, flat, plainStep } from "./trainers-under-test.ts";

const slidingConfig = parseModelConfig(
  {
    architectures: ["MistralForCausalLM"],
    model_type: "mistral",
    vocab_size: 11,
    hidden_size: 8,
    intermediate_size: 12,
    num_hidden_layers: 2,
    num_attention_heads: 2,
    num_key_value_heads: 2,
    head_dim: 4,
    hidden_act: "silu",
    rms_norm_eps: 1e-5,
    rope_theta: 100,
    max_position_embeddings: 12,
    sliding_window: 3,
    tie_word_embeddings: false,
    eos_token_id: 0,
  },
  {},
  "the packing test's model with a window",
);

const convolutionConfig = parseModelConfig(
  {
    architectures: ["Lfm2ForCausalLM"],
    model_type: "lfm2",
    vocab_size: 11,
    hidden_size: 8,
    intermediate_size: 12,
    block_auto_adjust_ff_dim: false,
    num_hidden_layers: 3,
    layer_types: ["conv", "full_attention", "conv"],
    num_attention_heads: 2,
    num_key_value_heads: 1,
    conv_L_cache: 4,
    conv_bias: true,
    rope_theta: 100,
    max_position_embeddings: 12,
    eos_token_id: 0,
  },
  {},
  "the packing test's model with convolutions",
);

const deltaConfig = parseModelConfig(
  {
    architectures: ["Qwen3_5ForCausalLM"],
    model_type: "qwen3_5_text",
    vocab_size: 11,
    hidden_size: 8,
    intermediate_size: 12,
    num_hidden_layers: 2,
    layer_types: ["linear_attention", "full_attention"],
    num_attention_heads: 2,
    num_key_value_heads: 1,
    head_dim: 8,
    linear_num_key_heads: 1,
    linear_num_value_heads: 2,
    linear_key_head_dim: 4,
    linear_value_head_dim: 3,
    rope_parameters: { rope_type: "default", rope_theta: 100, partial_rotary_factor: 0.5 },
    max_position_embeddings: 12,
    tie_word_embeddings: true,
    eos_token_id: 0,
  },
  {},
  "the packing test's model with a delta rule",
);

/** Model whose layers share keys and values, with heads of two sizes, and with a separate embedding for each layer. */
const sharedConfig = parseModelConfig(
  {
    architectures: ["Gemma4ForCausalLM"],
    model_type: "gemma4_text",
    vocab_size: 11,
    hidden_size: 8,
    intermediate_size: 12,
    num_hidden_layers: 4,
    layer_types: ["sliding_attention", "full_attention", "sliding_attention", "full_attention"],
    num_kv_shared_layers: 2,
    use_double_wide_mlp: true,
    num_attention_heads: 2,
    num_key_value_heads: 1,
    head_dim: 4,
    global_head_dim: 8,
    hidden_size_per_layer_input: 2,
    vocab_size_per_layer_input: 11,
    sliding_window: 3,
    max_position_embeddings: 12,
    eos_token_id: 0,
  },
  {},
  "the packing test's model with shared keys",
);

const mambaConfig = parseModelConfig(
  {
    architectures: ["NemotronHForCausalLM"],
    vocab_size: 11,
    hidden_size: 8,
    intermediate_size: 12,
    layers_block_type: ["mamba", "mlp", "attention"],
    num_attention_heads: 2,
    num_key_value_heads: 1,
    head_dim: 4,
    mamba_num_heads: 4,
    mamba_head_dim: 3,
    ssm_state_size: 4,
    n_groups: 2,
    max_position_embeddings: 12,
    eos_token_id: 0,
  },
  {},
  "the packing test's model with Mamba-2",
);

const lora = { rank: 2, alpha: 4 };
const sequenceLengthMax = 12;

const losses: readonly Loss[] = [
  ...importanceSamplingLevels.map((importanceSamplingLevel, index) => {
    const config = resolveTrainingConfig({ importanceSamplingLevel, ppo: index % 2 === 1, k2Tau: 0.1 });
    return { kind: "policy", config } as const;
  }),
  { kind: "policy", config: resolveTrainingConfig({ klPenaltyCoefficient: 0.3 }) },
  {
    kind: "policy",
    config: resolveTrainingConfig({ klPenaltyCoefficient: 0.3, klPenaltySource: "sample" }),
  },
  { kind: "cross-entropy" },
  preferenceLossOf(resolvePreferenceConfig({ loss: "dpo", lengthNormalized: true, beta: 2 })),
];

/**
 * Returns sequences from the turns of one trajectory, and sequences with several answers to each of several prompts.
 * Some are equal, are prefixes of others, or have only two tokens.
 */
function randomBatch(random: Random): readonly TrainingSequence[] {
  const ids = (count: number): readonly number[] => Array.from({ length: count }, () => random.index(11));
  const said = ids(9);
  const batch = [3, 6, 9].map((length) => trained(random, [...said.slice(0, length), ...ids(2)], 9));
  for (let group = 0; group < 2 + random.index(2); group++) {
    const prompt = ids(1 + random.index(7));
    const known: (readonly number[])[] = [];
    for (let answer = 0; answer < 1 + random.index(5); answer++) {
      const begun = random.uniform() < 0.4 && known.length > 0 ? known[random.index(known.length)] : prompt;
      const room = sequenceLengthMax - begun.length;
      const tokenIds = room === 0 ? begun : [...begun, ...ids(random.index(Math.min(4, room) + 1))];
      known.push(tokenIds);
      batch.push(trained(random, tokenIds.length < 2 ? [...tokenIds, ...ids(1)] : tokenIds, group));
    }
  }
  return batch;
}

/**
 * Returns a sequence of which a random part is trained on. Other sequences may have the same tokens in their prompts. A
 * third of the sequences has no recorded log-probabilities.
 */
function trained(random: Random, tokenIds: readonly number[], group: number): TrainingSequence {
  const mask = Uint8Array.from(tokenIds, (_, index) => (index > 0 && random.uniform() < 0.6 ? 1 : 0));
  if (!mask.includes(1)) mask[tokenIds.length - 1] = 1;
  const isRecorded = random.uniform() < 0.67;
  const logprobs = (): Float32Array =>
    Float32Array.from(mask, (trains) => (trains === 1 ? -1.5 - 2 * random.uniform() : NaN));
  return {
    tokenIds: Int32Array.from(tokenIds),
    mask,
    oldLogprobs: isRecorded ? logprobs() : new Float32Array(mask.length).fill(NaN),
    referenceLogprobs: logprobs(),
    advantage: 2 * random.uniform() - 1,
    weight: 0.5 + random.uniform(),
    group,
  };
}

/**
 * Pairs sequences at random, so that the two answers of a pair can be in different microbatches. An odd last sequence
 * is dropped.
 */
function paired(random: Random, batch: readonly TrainingSequence[]): readonly TrainingSequence[] {
  return shuffled(random, batch)
    .slice(batch.length % 2)
    .map((sequence, row) => ({ ...sequence, preference: { index: row >> 1, isChosen: row % 2 === 0 } }));
}

interface Computed {
  readonly loss: number;
  readonly logprobs: readonly number[];
  readonly gradient: readonly number[];
}

/** Creates a data folder for the test, with an adapter to start from that changes the model's output. */
function dataFolderOf(config: ModelConfig, t: TestContext): string {
  const dataFolder = mkdtempSync(join(tmpdir(), "hone-packing-"));
  t.after(() => rmSync(dataFolder, { recursive: true }));
  const adapter = createLoraAdapter(config, { ...lora, seed: "start" });
  const random = seededRandom("packing adapter");
  for (const values of adapter.matrices.values())
    values.forEach((_, index) => (values[index] = 0.6 * (random.uniform() - 0.5)));
  mkdirSync(join(dataFolder, "start"));
  writeLoraAdapter(join(dataFolder, "start"), adapter, { config, baseModelName: "tiny" });
  return dataFolder;
}

async function compute(
  trainers: TrainerProvider,
  { config, dataFolder }: { readonly config: ModelConfig; readonly dataFolder: string },
  { batch, loss }: { readonly batch: readonly TrainingSequence[]; readonly loss: Loss },
): Promise<Computed> {
  let count = 0;
  const call = (): TrainerCall => ({ id: `${count++}`, signal: new AbortController().signal });
  const trainer = await trainers.open({ kind: "adapter", folder: join(dataFolder, "start") }, call());
  const result = await trainer.forwardBackward(batch, loss, call());
  const { logprobs } = await trainer.forward(batch, call());
  logprobs.forEach((values, index) => assertClose(values, result.logprobs[index], 1e-5));
  const matrices = async (each: Trainer): Promise<readonly number[]> => {
    const folder = mkdtempSync(join(dataFolder, "version-"));
    await each.exportAdapter(folder, call());
    return flat(readLoraAdapter(folder, config));
  };
  const before = await matrices(trainer);
  await trainer.optimStep(plainStep, call());
  const after = await matrices(trainer);
  return {
    loss: result.loss,
    logprobs: logprobs.flatMap((values) => [...values]),
    gradient: before.map((value, index) => value - after[index]),
  };
}

/**
 * Returns sequences of equal length. Two of them share a prompt. Only the last token of each sequence is trained on.
 */
function evenBatch(random: Random): readonly TrainingSequence[] {
  const beginnings = [[0], [1], [2], [3], [4], [9, 8, 7, 6, 5, 1], [9, 8, 7, 6, 5, 2]];
  return beginnings.map((beginning, group) => {
    const more = Array.from({ length: 7 - beginning.length }, () => random.index(11));
    const sequence = trained(random, [...beginning, ...more], group);
    return { ...sequence, mask: sequence.mask.with(6, 1) };
  });
}

/**
 * Returns the kind of layout of each pack. It is `branched` if rows leave their shared prefix at different positions.
 */
function layoutsOf(batch: readonly TrainingSequence[], microbatchTokens: number): readonly string[] {
  return cutIntoPacks(groupByPrefix(batch), microbatchTokens).map(({ kind, groups }) => {
    const isBranched = groups.some((group) => new Set(group.map((row) => row.prefixLength)).size > 1);
    return isBranched ? "branched" : kind;
  });
}

/**
 * Maximum relative difference from the results in double precision. In the model with shared keys, rounding to float32
 * changes gradients by up to 6e-5, and by the same amount in every pack.
 */
const toleranceOf = (config: ModelConfig): number => (config === sharedConfig ? 1e-4 : 1e-5);

const others = Object.entries({
  sliding: slidingConfig,
  convolution: convolutionConfig,
  delta: deltaConfig,
  shared: sharedConfig,
  mamba: mambaConfig,
});

/**
 * Models with the numbers of losses to compute on them. A loss uses only log-probabilities, so in `npm test` a few of
 * the losses suffice for all models except one.
 */
const cases = [
  ["plain", tinyConfig, losses.length] as const,
  ...searchedOf(others, 1).map(([name, config]) => [name, config, 3] as const),
];

for (const [name, config, lossCount] of cases) {
  test(`packed sequences give the results of separate ones, on a ${name} model`, async (t) => {
    const tolerance = toleranceOf(config);
    const dataFolder = dataFolderOf(config, t);
    const weights = createRandomWeights(config, { seed: "packing", deviation: 0.4 });
    const oracle = new NaiveTrainers({ config, weights, lora, dataFolder, sequenceLengthMax });
    const sizes = [9, 1000];
    const embedded = sizes.map(
      (microbatchTokens) =>
        new EmbeddedTrainers({
          config,
          readWeights: () => weightsInMemory(config, weights),
          lora: { ...lora, targets: projectionNames },
          baseModelName: "tiny",
          artifacts: dataFolderAt(dataFolder).artifacts,
          sequenceLengthMax,
          microbatchTokens,
          sharesPrefixes: true,
          threads: 1,
        }),
    );
    t.after(() => Promise.all(embedded.map((trainers) => trainers.close())));
    const layouts = new Set<string>();
    const where = { config, dataFolder };
    const computed = new Set(searchedOf(losses, lossCount, name));
    for (const [index, loss] of losses.entries()) {
      const random = seededRandom("packed batch", name, index);
      const drawn = index === 1 ? evenBatch(random) : randomBatch(random);
      const batch = loss.kind === "preference" ? paired(random, drawn) : drawn;
      for (const size of sizes) for (const layout of layoutsOf(batch, size)) layouts.add(layout);
      if (!computed.has(loss)) continue;
      const expected = await compute(oracle, where, { batch, loss });
      for (const trainers of searchedOf(embedded, 1, `${name} ${index}`)) {
        const actual = await compute(trainers, where, { batch, loss });
        assertClose(actual.logprobs, expected.logprobs, tolerance);
        assertClose(actual.gradient, expected.gradient, tolerance);
        const difference = Math.abs(actual.loss - expected.loss);
        const allowed = tolerance * Math.max(Math.abs(expected.loss), 0.1);
        assert.ok(difference <= allowed, `loss ${index} is off by ${difference}`);
      }
    }
    assert.deepEqual(layouts, new Set(["branched", "list", "prefixed", "rows"]));
  });
}
