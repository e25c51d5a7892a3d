// A run of pre-training in its own folder, in any number of pieces: the vocabulary first, then step after step to the
// last. Its outcome depends only on the recipe, neither on where it stopped nor on how long it took.
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
  /** Folder in which the run makes the model: small files from the start, weights in the end. */
  readonly modelFolder: string;
  readonly config: ModelConfig;
  readonly tokenizer: Tokenizer;
  readonly start: Checkpoint;
}

/** Report of one step. */
export interface StepReport {
  /** Steps taken, this one included. */
  readonly stepCount: number;
  readonly loss: number;
  readonly gradientNorm: number;
  readonly learningRate: number;
}

/**
 * Opens the run in a folder, or starts one.
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

/** Returns a hash of everything that the recipe and the corpus decide about a run; a change of either changes it. */
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
    message: `${folder} holds a run of another recipe or corpus; remove the folder to begin again, or name another with --state.`,
  });
}

function beginning(config: ModelConfig, { seed }: Recipe): Checkpoint {
  const weights = createRandomWeights(config, { seed, deviation: 0.04 });
  // Weights that write into the residual stream start smaller, the more layers do so (Radford et al., 2019).
  const shrink = 1 / Math.sqrt(2 * config.layers.length);
  for (const [name, values] of weights) {
    if (!/(o_proj|down_proj)\.weight$/.test(name)) continue;
    for (let index = 0; index < values.length; index++) values[index] *= shrink;
  }
  const cost: Cost = { pieces: 0, wallSeconds: 0, processorSeconds: 0, memoryBytes: 0 };
  return { weights, optimizer: createAdamWState(weights), progress: { stepCount: 0, cost } };
}

/** The batch of a step, which depends on nothing else: no step needs the one before to know what to learn from. */
function batchOf(tokenizer: Tokenizer, recipe: Recipe, step: number): Batch {
  const { seed, rowCount, length } = recipe;
  const random = seededRandom("batch", seed, step);
  return drawBatch(tokenizer, random, { rowCount, length, mixture: mixtureAt(recipe, step) });
}

/**
 * Takes steps from where the run stands, changing the weights and moments of `start` in place, until the recipe's last one
 * or until `goesOn` says no.
 *
 * @param goesOn asked after each step
 * @returns how many steps the run has taken
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
    // While the workers compute.
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
