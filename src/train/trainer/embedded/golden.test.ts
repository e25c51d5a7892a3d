// Compares loss, gradients and optimizer steps with recorded reference values, on a small Qwen3 model with a LoRA
// adapter.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { dataFolderAt } from "../../../store/artifacts/testing/data-folder.ts";
import { projectionNames } from "../../../base/domain/model.ts";
import {
  type GoldenCase,
  goldenConfig,
  goldenTrainingFolder,
  readGoldenTraining,
} from "../../../../test/golden-training.ts";
import { searchedOf } from "../../../base/domain/testing/search.ts";
import { type TrainingConfig, resolveTrainingConfig } from "../../../base/domain/training-config.ts";
import { float32Data, float32Tensor } from "../../../lib/graph/tensor.ts";
import { readModelConfig } from "../../../inference/architectures/config/read-config.ts";
import { loraParameters } from "../../../inference/architectures/parameters.ts";
import { readLoraAdapter } from "../../../inference/architectures/peft-folder.ts";
import { readSafetensorsHeader } from "../../../lib/model-files/safetensors.ts";
import { readFloats } from "../../../lib/model-files/stored-tensor.ts";
import { readModelWeights } from "../../../inference/architectures/weights.ts";
import { createSession } from "../../../inference/onnx/session.ts";
import { globalNorm, reinforcementLearningAdamW } from "../adamw.ts";
import { plainStep } from "../contract/trainers-under-test.ts";
import { EmbeddedTrainers, type EmbeddedTrainerOptions } from "./embedded-trainer.ts";
import { int8Base } from "./load-trainers.ts";
import type { Loss, Trainer, TrainerCall, TrainingSequence } from "../trainer.ts";
import { layoutOf } from "../packing/pack-layout.ts";
import { type Pack, cutIntoPacks } from "../packing/packs.ts";
import { groupByPrefix, prefixOf, ungrouped } from "../packing/prefix-groups.ts";
import { type Microbatch, arePlacesDistinct, lossFeeds, tokenFeeds, wantedFeeds } from "./feeds.ts";
import { buildGradientGraph, buildLogprobGraph, gradientName } from "./training-graphs.ts";
import { integerKernels } from "../../../inference/onnx/integer-kernels.ts";

const modelFolder = "test/fixtures/goldens/models/qwen3";
const adapterFolder = `${goldenTrainingFolder}/adapter`;
const golden = readGoldenTraining();
const config = readModelConfig(modelFolder);
const weights = readModelWeights(modelFolder, config, { cacheFolder: null });
const adapter = readLoraAdapter(adapterFolder, config);
const adapterFeeds = Object.fromEntries(
  loraParameters(config, adapter).map(({ name, shape }) => [
    name,
    float32Tensor(shape, adapter.matrices.get(name) ?? assert.fail(name)),
  ]),
);
const expectedGradients = readSafetensorsHeader(`${goldenTrainingFolder}/gradients.safetensors`).tensors;

function goldenBatch({ advantages, weights }: GoldenCase): readonly TrainingSequence[] {
  return golden.sequences.map((sequence, index) => ({
    tokenIds: Int32Array.from(sequence.token_ids),
    mask: Uint8Array.from(sequence.assistant_mask),
    oldLogprobs: Float32Array.from(sequence.old_logprobs, (value) => value ?? NaN),
    advantage: advantages[index],
    weight: weights[index],
    group: sequence.group,
  }));
}

/** Replaces the recorded log-probabilities of the sampling policy with those that the current adapter gives. */
async function precalculated(batch: readonly TrainingSequence[]): Promise<readonly TrainingSequence[]> {
  const microbatch = layoutOf({ kind: "list", groups: ungrouped(batch) });
  const graph = buildLogprobGraph(config, { adapter, layout: "list" });
  const session = await createSession(graph, { weights, threads: 1, optimizesProgram: false });
  const outputs = await session.run({ ...tokenFeeds(microbatch, config), ...adapterFeeds });
  const values = float32Data(outputs["logprobs"]).values();
  await session.release();
  return batch.map((sequence) => ({
    ...sequence,
    oldLogprobs: Float32Array.from(sequence.mask, (trains) => (trains ? (values.next().value ?? NaN) : NaN)),
  }));
}

/**
 * Puts the whole batch into one pack. A pack of kind `list` keeps each sequence separate; other kinds share each
 * group's common prefix.
 */
function packOf(
  batch: readonly TrainingSequence[],
  kind: Pack<TrainingSequence>["kind"],
): Pack<TrainingSequence> {
  if (kind === "list") return { kind, groups: ungrouped(batch) };
  const [pack, ...others] = cutIntoPacks(groupByPrefix(batch), 1000);
  assert.deepEqual(
    [pack.kind, others, pack.groups.map((group) => prefixOf(group).length)],
    [kind, [], [9, 6]],
  );
  return pack;
}

/**
 * Returns the reference losses of the trained tokens, in the order of a layout. Entry t of a sequence's reference
 * losses belongs to its token t + 1.
 */
function flatLosses(
  goldenCase: GoldenCase,
  batch: readonly TrainingSequence[],
  { sequences_S, trained_N }: Microbatch,
): readonly number[] {
  return trained_N.map(
    ({ sequence, index }) => goldenCase.per_token_loss[batch.indexOf(sequences_S[sequence])][index - 1],
  );
}

function assertClose(
  actual: Float32Array,
  expected: ArrayLike<number>,
  tolerance: number,
  what: string,
): void {
  assert.equal(actual.length, expected.length, what);
  let worst = 0;
  actual.forEach((value, index) => (worst = Math.max(worst, Math.abs(value - expected[index]))));
  assert.ok(worst <= tolerance, `${what} is off by ${worst}, ${tolerance} is allowed`);
}

async function check(
  name: string,
  trainingConfig: TrainingConfig,
  layout: Pack<TrainingSequence>["kind"],
): Promise<void> {
  const goldenCase = golden.cases[name];
  const given = goldenBatch(goldenCase);
  const batch = trainingConfig.precalculateLogprobs ? await precalculated(given) : given;
  const loss: Loss = { kind: "policy", config: trainingConfig };
  const microbatch = layoutOf(packOf(batch, layout));
  const hasDistinctPlaces = arePlacesDistinct(microbatch);
  const graph = buildGradientGraph(config, { adapter, layout, hasDistinctPlaces, loss });
  const session = await createSession(graph, { weights, threads: 1, optimizesProgram: false });
  const losses = flatLosses(goldenCase, batch, microbatch);
  const feeds = {
    ...tokenFeeds(microbatch, config),
    ...(hasDistinctPlaces ? wantedFeeds(microbatch) : {}),
    ...lossFeeds(microbatch, { loss, tokenCount: losses.length, klElsewhere: 0, preferences: null }),
    ...adapterFeeds,
  };
  const outputs = await session.run(feeds);
  await session.release();
  assertClose(float32Data(outputs["loss"]), [goldenCase.loss], 1e-5 * Math.abs(goldenCase.loss), "loss");
  const largestLoss = Math.max(...losses.map(Math.abs));
  assertClose(float32Data(outputs["per_token_loss"]), losses, 1e-5 * largestLoss, "per-token loss");
  const gradients = new Map(
    [...adapter.matrices.keys()].map((matrix) => [matrix, float32Data(outputs[gradientName(matrix)])]),
  );
  assertGradients(name, gradients);
  const norm = goldenCase.grad_norm;
  assertClose(Float32Array.of(globalNorm(gradients)), [norm], 1e-4 * norm, "norm");
}

function assertGradients(name: string, gradients: ReadonlyMap<string, Float32Array>): void {
  for (const [matrix, values] of gradients) {
    const expected = readFloats(expectedGradients.get(`${name}/${matrix}`) ?? assert.fail(matrix));
    const largest = expected.reduce((greatest, value) => Math.max(greatest, Math.abs(value)), 0);
    assertClose(values, expected, 1e-4 * largest, `gradient of ${matrix}`);
  }
}

/**
 * Asserts that each entry is within 1e-5 of the reference. Skips entries whose first gradient is too small for float32,
 * because Adam amplifies the rounding error of such a gradient. Even the reference's gradients differ from double
 * precision by 2.3e-6 of the largest one.
 */
function assertFinalAdapter(matrices: ReadonlyMap<string, Float32Array>): void {
  const after = readSafetensorsHeader(`${goldenTrainingFolder}/after_5_steps.safetensors`).tensors;
  let unresolvedCount = 0;
  for (const [name, values] of matrices) {
    const expected = readFloats(after.get(name) ?? assert.fail(name));
    const slopes = readFloats(expectedGradients.get(`default/${name}`) ?? assert.fail(name));
    const largest = slopes.reduce((greatest, value) => Math.max(greatest, Math.abs(value)), 0);
    values.forEach((value, index) => {
      const difference = Math.abs(value - expected[index]);
      if (difference <= 1e-5) return;
      unresolvedCount += 1;
      const slope = Math.abs(slopes[index]);
      assert.ok(slope <= 3e-6 * largest && difference <= 2e-4, `${name}[${index}] is off by ${difference}`);
    });
  }
  assert.ok(unresolvedCount <= 3, `${unresolvedCount} entries are off`);
}

const scratch = mkdtempSync(join(tmpdir(), "hone-golden-"));
after(() => rmSync(scratch, { recursive: true }));

interface Computed {
  readonly microbatchTokens: number;
  readonly sharesPrefixes: boolean;
}

function trainersOf(
  { microbatchTokens, sharesPrefixes }: Computed,
  base: Partial<Pick<EmbeddedTrainerOptions, "readWeights" | "int8">> = {},
): EmbeddedTrainers {
  return new EmbeddedTrainers({
    config,
    readWeights: () => weights,
    ...base,
    lora: { rank: 4, alpha: 8, targets: projectionNames },
    baseModelName: "qwen3",
    artifacts: dataFolderAt(scratch).artifacts,
    sequenceLengthMax: 48,
    microbatchTokens,
    sharesPrefixes,
    threads: 1,
  });
}

const start = { kind: "adapter", folder: adapterFolder } as const;

let callCount = 0;
function newCall(): TrainerCall {
  return { id: String(callCount++), signal: new AbortController().signal };
}

async function savedMatrices(trainer: Trainer): Promise<ReadonlyMap<string, Float32Array>> {
  const folder = mkdtempSync(join(scratch, "adapter-"));
  await trainer.exportAdapter(folder, newCall());
  return readLoraAdapter(folder, config).matrices;
}

async function checkInParts(name: string, computed: Computed): Promise<void> {
  const goldenCase = golden.cases[name];
  const trainingConfig = goldenConfig(goldenCase.config);
  const trainers = trainersOf(computed);
  try {
    const given = goldenBatch(goldenCase);
    const batch = trainingConfig.precalculateLogprobs ? await precalculated(given) : given;
    const trainer = await trainers.open(start, newCall());
    const policy: Loss = { kind: "policy", config: trainingConfig };
    const { loss } = await trainer.forwardBackward(batch, policy, newCall());
    assertClose(Float32Array.of(loss), [goldenCase.loss], 1e-5 * Math.abs(goldenCase.loss), "loss");
    const { metrics } = await trainer.optimStep(plainStep, newCall());
    const norm = goldenCase.grad_norm;
    assertClose(Float32Array.of(metrics["gradient_norm"]), [norm], 1e-4 * norm, "norm");
    const moved = await savedMatrices(trainer);
    const difference = (matrix: string, values: Float32Array): Float32Array =>
      values.map((value, index) => value - (moved.get(matrix) ?? assert.fail(matrix))[index]);
    assertGradients(
      name,
      new Map([...adapter.matrices].map(([matrix, values]) => [matrix, difference(matrix, values)])),
    );
  } finally {
    await trainers.close();
  }
}

const waysInParts: readonly Computed[] = [1, 60, 80, 130, 200].flatMap((microbatchTokens) =>
  [false, true].map((sharesPrefixes) => ({ microbatchTokens, sharesPrefixes })),
);
for (const [name, { config: caseConfig }] of searchedOf(Object.entries(golden.cases), 9))
  for (const way of searchedOf(["list", "prefixed", "parts"] as const, 1, name))
    test(`agrees with the reference case ${name}, computed as ${way}`, async () => {
      if (way !== "parts") return await check(name, goldenConfig(caseConfig), way);
      for (const computed of searchedOf(waysInParts, 1, name)) await checkInParts(name, computed);
    });

test("the microbatch size does not change the result, for a token loss and for a sequence loss", async () => {
  for (const name of ["default", "ppo-sequence"])
    for (const computed of searchedOf(waysInParts, 2, name)) await checkInParts(name, computed);
});

async function checkFiveSteps(computed: Computed): Promise<void> {
  const trainers = trainersOf(computed);
  try {
    const batch = goldenBatch(golden.cases["default"]);
    const loss: Loss = { kind: "policy", config: resolveTrainingConfig({}) };
    const optimizer = { ...reinforcementLearningAdamW, learningRate: golden.adamw.learning_rate };
    let trainer = await trainers.open(start, newCall());
    for (const [index, expected] of golden.adamw.steps.entries()) {
      if (index === 2) {
        const state = await trainer.saveState("between", newCall());
        await trainer.close();
        trainer = await trainers.open({ kind: "state", state, keepsOptimizer: true }, newCall());
      }
      const gradient = await trainer.forwardBackward(batch, loss, newCall());
      const { metrics } = await trainer.optimStep(optimizer, newCall());
      assertClose(
        Float32Array.of(gradient.loss),
        [expected.loss],
        1e-4 * Math.abs(expected.loss),
        `loss ${index}`,
      );
      const norm = expected.grad_norm_before_clip;
      assertClose(Float32Array.of(metrics["gradient_norm"]), [norm], 1e-4 * norm, `norm ${index}`);
    }
    assertFinalAdapter(await savedMatrices(trainer));
  } finally {
    await trainers.close();
  }
}

for (const computed of [
  { microbatchTokens: 2048, sharesPrefixes: false },
  { microbatchTokens: 2048, sharesPrefixes: true },
  { microbatchTokens: 80, sharesPrefixes: true },
]) {
  test(`five optimizer steps give the reference adapter, also if training is interrupted between them: ${JSON.stringify(computed)}`, () =>
    checkFiveSteps(computed));
}

const roundedCases = [
  ["default", false],
  ["ppo-sequence", true],
] as const;

for (const [name, sharesPrefixes] of searchedOf(roundedCases, 1)) {
  test(`over an 8-bit base the gradient of ${name} points in the reference's direction`, async () => {
    const rounded = int8Base(modelFolder, config, { cacheFolder: null, kernels: await integerKernels(null) });
    const trainers = trainersOf({ microbatchTokens: 80, sharesPrefixes }, rounded);
    const exact = trainersOf({ microbatchTokens: 80, sharesPrefixes });
    try {
      const goldenCase = golden.cases[name];
      const batch = goldenBatch(goldenCase);
      const policy: Loss = { kind: "policy", config: goldenConfig(goldenCase.config) };
      const trainer = await trainers.open(start, newCall());
      const { loss, logprobs } = await trainer.forwardBackward(batch, policy, newCall());
      assertClose(Float32Array.of(loss), [goldenCase.loss], 0.02 * Math.abs(goldenCase.loss), "loss");
      const again = await trainer.forward(batch, newCall());
      assert.deepEqual(again.logprobs, logprobs, "a gradient and a forward pass compute the same");
      const inFloat32 = await trainer.forward(batch, newCall(), { isFloat32: true });
      const expected = await (await exact.open(start, newCall())).forward(batch, newCall());
      assert.deepEqual(inFloat32.logprobs, expected.logprobs);
      assert.notDeepEqual(inFloat32.logprobs, logprobs);
      await trainer.optimStep(plainStep, newCall());
      const moved = await savedMatrices(trainer);
      for (const [matrix, values] of adapter.matrices) {
        const after = moved.get(matrix) ?? assert.fail(matrix);
        const slopes = values.map((value, index) => value - after[index]);
        const reference = readFloats(expectedGradients.get(`${name}/${matrix}`) ?? assert.fail(matrix));
        const cosine = cosineOf(slopes, reference);
        assert.ok(cosine > 0.98, `the cosine of ${matrix} is ${cosine}`);
      }
    } finally {
      await Promise.all([trainers.close(), exact.close()]);
    }
  });
}

function cosineOf(left: Float32Array, right: Float32Array): number {
  const dot = (one: Float32Array, other: Float32Array): number =>
    one.reduce((sum, value, index) => sum + value * other[index], 0);
  return dot(left, right) / Math.sqrt(dot(left, left) * dot(right, right));
}
