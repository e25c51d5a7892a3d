// A pre-training run in its own folder, which can be split into any number of pieces: first the vocabulary, then one
// step after another. The result depends only on the recipe, not on where the run stopped or how long it took.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ServiceError } from "../../../src/base/domain/service-error.ts";
import { seededRandom } from "../../../src/base/domain/random.ts";
import type { ModelConfig } from "../../../src/inference/architectures/config.ts";
import { readModelConfig } from "../../../src/inference/architectures/config/read-config.ts";
import { createRandomWeights } from "../../../src/inference/architectures/testing/random-weights.ts";
import { type Tokenizer, loadTokenizer } from "../../../src/lib/tokenizer/tokenizer.ts";
import { adamWStep, createAdamWState } from "../../../src/train/trainer/adamw.ts";
import { type Checkpoint, type Cost, readCheckpoint } from "./checkpoint.ts";
import { drawChat } from "./corpus/chats.ts";
import { createParallelLearner } from "./learner/parallel-learner.ts";
import { type Batch, drawBatch } from "./learner/rows.ts";
import { writeConfiguration, writeTokenizer } from "./model/folder.ts";
import { type Recipe, mixtureAt, optimizerAt, stepCountOf, vocabularyMixture } from "./recipe.ts";

export interface TrainingRun {
  readonly recipe: Recipe;
  /** Folder of the resulting model: the small files exist from the start, the weights only at the end. */
  readonly modelFolder: string;
  readonly config: ModelConfig;
  readonly tokenizer: Tokenizer;
  readonly start: Checkpoint;
}

/** Report of one step. */
export interface StepReport {
  /** Number of steps taken, including this one. */
  readonly stepCount: number;
  readonly loss: number;
  readonly gradientNorm: number;
  readonly learningRate: number;
}

/**
 * Opens the run in a folder; starts one if there is none.
 *
 * @throws ServiceError `conflict` if the folder contains the run of another recipe or corpus
 */
export async function openRun(folder: string, recipe: Recipe): Promise<TrainingRun> {
  const modelFolder = join(folder, "model");
  if (!existsSync(join(folder, "fingerprint"))) writeSmallFiles(modelFolder, recipe);
  const config = readModelConfig(modelFolder);
  const tokenizer = await loadTokenizer(modelFolder);
  const kept = readCheckpoint(folder);
  keepFingerprint(folder, fingerprintOf(modelFolder, tokenizer, recipe), kept !== null);
  return { recipe, modelFolder, config, tokenizer, start: kept ?? beginning(config, recipe) };
}

function writeSmallFiles(modelFolder: string, { seed, sizes, vocabularyChats }: Recipe): void {
  mkdirSync(modelFolder, { recursive: true });
  writeConfiguration(modelFolder, sizes);
  const random = seededRandom("vocabulary", seed);
  const chats = Array.from({ length: vocabularyChats }, () => drawChat(random, vocabularyMixture));
  writeTokenizer(modelFolder, chats, sizes);
}

/**
 * Returns a hash of the recipe, the configuration, the vocabulary, and the first and last batch. Another recipe or
 * corpus therefore has another fingerprint.
 */
function fingerprintOf(modelFolder: string, tokenizer: Tokenizer, recipe: Recipe): string {
  const hash = createHash("sha256").update(JSON.stringify(recipe));
  for (const name of ["config.json", "tokenizer.json"]) hash.update(readFileSync(join(modelFolder, name)));
  for (const step of [0, stepCountOf(recipe) - 1])
    hash.update(new Uint8Array(batchOf(tokenizer, recipe, step).tokens_BT.buffer));
  return hash.digest("hex");
}

function keepFingerprint(folder: string, fingerprint: string, hasCheckpoint: boolean): void {
  const file = join(folder, "fingerprint");
  const known = existsSync(file) ? readFileSync(file, "utf8") : null;
  if (known === null && !hasCheckpoint) return writeFileSync(file, fingerprint);
  if (known === fingerprint) return;
  throw new ServiceError({
    code: "conflict",
    message: `${folder} contains the run of another recipe or corpus. Delete the folder to start over, or choose another folder with --state.`,
  });
}

function beginning(config: ModelConfig, { seed }: Recipe): Checkpoint {
  const weights = createRandomWeights(config, { seed, deviation: 0.04 });
  // The deeper the model, the smaller the initial weights that write into the residual stream (Radford et al., 2019).
  const shrink = 1 / Math.sqrt(2 * config.layers.length);
  for (const [name, values] of weights) {
    if (!/(o_proj|down_proj)\.weight$/.test(name)) continue;
    for (let index = 0; index < values.length; index++) values[index] *= shrink;
  }
  const cost: Cost = { pieces: 0, wallSeconds: 0, processorSeconds: 0, memoryBytes: 0 };
  return { weights, optimizer: createAdamWState(weights), progress: { stepCount: 0, cost } };
}

/** Returns the batch of a step. It depends on nothing else, so it can be computed before the previous step is done. */
function batchOf(tokenizer: Tokenizer, recipe: Recipe, step: number): Batch {
  const { seed, rowCount, length } = recipe;
  const random = seededRandom("batch", seed, step);
  return drawBatch(tokenizer, random, { rowCount, length, mixture: mixtureAt(recipe, step) });
}

/**
 * Takes steps from the run's position until the recipe's last step or until `goesOn` returns false. Changes the
 * weights and moments of `start` in place.
 *
 * @param goesOn called after each step
 * @returns total number of steps that the run has taken
 */
export async function takeSteps(
  { recipe, config, tokenizer, start }: TrainingRun,
  goesOn: (report: StepReport) => boolean,
): Promise<number> {
  const { weights, optimizer } = start;
  const total = stepCountOf(recipe);
  let stepCount = start.progress.stepCount;
  if (stepCount >= total) return stepCount;
  const learner = await createParallelLearner(config, { workers: recipe.workers });
  let batch = batchOf(tokenizer, recipe, stepCount);
  for (let isGoing = true; isGoing;) {
    const learning = learner.differentiate(weights, batch);
    // Prepares the next batch while the workers compute.
    batch = batchOf(tokenizer, recipe, stepCount + 1);
    const { loss, gradients } = await learning;
    const options = optimizerAt(recipe, stepCount);
    const { gradientNorm } = adamWStep(optimizer, weights, gradients, options);
    stepCount += 1;
    const report = { stepCount, loss, gradientNorm, learningRate: options.learningRate };
    isGoing = goesOn(report) && stepCount < total;
  }
  await learner.close();
  return stepCount;
}
