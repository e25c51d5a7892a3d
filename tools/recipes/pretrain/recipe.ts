// The parameters that determine a model: its sizes, its training data and its optimizer settings. Only this module and
// the corpus influence the result. A run chooses only its folder and its parallelism.
import type { AdamWOptions } from "../../../src/train/trainer/adamw.ts";
import { isNormWeight } from "../../../src/inference/architectures/parameters.ts";
import type { Mixture } from "./corpus/chats.ts";
import { honeTinySizes, type ModelSizes } from "./model/folder.ts";

export interface Recipe {
  /** Seed of the vocabulary sample, the initial weights and every batch. */
  readonly seed: string;
  readonly sizes: ModelSizes;
  /** Number of chats in which words are counted to select the vocabulary. */
  readonly vocabularyChats: number;
  /** Total number of tokens to train on, including padding. */
  readonly tokenCount: number;
  /** Rows per batch, and tokens per row. */
  readonly rowCount: number;
  readonly length: number;
  /**
   * Number of worker threads, each of which computes a share of the rows. Rounding depends on the shares, so a
   * different number gives a different model.
   */
  readonly workers: number;
  /**
   * Maximum learning rate. It rises for `risingSteps`, stays constant, and falls to zero over the last part of the
   * run.
   */
  readonly learningRate: number;
  readonly risingSteps: number;
  readonly fallingPart: number;
}

/** The built-in model. */
export const honeTiny: Recipe = {
  seed: "hone-tiny",
  sizes: honeTinySizes,
  vocabularyChats: 40_000,
  tokenCount: 45e6,
  rowCount: 8,
  length: 256,
  workers: 2,
  learningRate: 0.002,
  risingSteps: 100,
  fallingPart: 0.5,
};

/** Returns the number of steps in a whole run. */
export function stepCountOf({ tokenCount, rowCount, length }: Recipe): number {
  return Math.ceil(tokenCount / (rowCount * length));
}

/** Mixture of the chats in which words are counted to select the vocabulary. */
export const vocabularyMixture: Mixture = { factors: new Map(), toolChats: 0.2 };

/** Weight factors for the kinds that the model finds harder once it has learned to read. */
const harder = { copying: 1.3, sums: 2.2, comparing: 2, facts: 1.2, json: 1.3, spelling: 1.2, lists: 1.3 };

/**
 * Returns the mixture of exercises for a step. The first fifth of a run mostly contains short exercises, which teach
 * skills that chats with tools require, such as copying words. A chat with tools is as long as five short exercises.
 */
export function mixtureAt(recipe: Recipe, step: number): Mixture {
  const isEarly = step < stepCountOf(recipe) / 5;
  return isEarly
    ? { factors: new Map(), toolChats: 0.1 }
    : { factors: new Map(Object.entries(harder)), toolChats: 0.22 };
}

/** Returns the optimizer settings for a step. */
export function optimizerAt(recipe: Recipe, step: number): AdamWOptions {
  const rising = Math.min(1, (step + 1) / recipe.risingSteps);
  const falling = Math.min(1, (1 - step / stepCountOf(recipe)) / recipe.fallingPart);
  return {
    learningRate: recipe.learningRate * Math.min(rising, falling),
    beta1: 0.9,
    beta2: 0.98,
    epsilon: 1e-8,
    weightDecay: 0.1,
    decays: (name) => !isNormWeight(name),
    gradientNormMax: 1,
  };
}
