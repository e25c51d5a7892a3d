// Chooses the hyperparameters that a request leaves open, and turns hyperparameters into the settings of training jobs.
import type { FineTuningMethodName, Hyperparameters } from "../../base/domain/fine-tuning/fine-tuning-job.ts";
import {
  resolvePreferenceConfig,
  type PreferenceConfig,
} from "../../base/domain/preferences/preference-config.ts";
import {
  resolveSupervisedConfig,
  type SupervisedConfig,
} from "../../base/domain/supervised/supervised-config.ts";
import { resolveTrainingConfig, type TrainingConfig } from "../../base/domain/training-config.ts";

/** Learning rates for the multiplier 1. They suit adapters of the server's default rank. */
const usualRates = { supervised: 2e-4, dpo: 5e-5, reinforcement: 5e-4 };

/** Hyperparameters in a request. Null, absent and "auto" leave the choice to the server. */
export type AskedHyperparameters = Readonly<Record<string, number | string | null | undefined>>;

/** Returns the hyperparameters in effect for a training file with this number of examples. */
export function resolveHyperparameters(
  method: FineTuningMethodName,
  asked: AskedHyperparameters,
  exampleCount: number,
): Hyperparameters {
  const chosen: Hyperparameters = {
    ...automatic[method](exampleCount),
    learning_rate_multiplier: 1,
  };
  const names = Object.keys(chosen);
  return Object.fromEntries(
    names.map((name) => {
      const value = asked[name] ?? "auto";
      return [name, value === "auto" ? chosen[name] : value];
    }),
  );
}

const automatic: { readonly [Method in FineTuningMethodName]: (exampleCount: number) => Hyperparameters } = {
  supervised: (count) => ({ n_epochs: usualEpochs(count), batch_size: usualBatch(count, 2) }),
  dpo: (count) => ({ n_epochs: 1, batch_size: usualBatch(count, 8), beta: 0.1 }),
  reinforcement: (count) => ({
    n_epochs: Math.min(25, Math.max(1, Math.ceil(32 / count))),
    batch_size: Math.min(8, count),
    compute_multiplier: 1,
    eval_interval: 5,
    eval_samples: 1,
    reasoning_effort: "default",
  }),
};

/**
 * Returns the number of epochs: three, or more for a file of less than 34 examples, so that training sees about a
 * hundred.
 */
function usualEpochs(exampleCount: number): number {
  return exampleCount * 3 >= 100 ? 3 : Math.min(25, Math.ceil(100 / exampleCount));
}

/** Returns the batch size: 0.2 % of the examples, but at least the usual size and at most 256. */
function usualBatch(exampleCount: number, usual: number): number {
  return Math.min(256, Math.max(usual, Math.round(0.002 * exampleCount)));
}

/** Returns the configuration of the training job for a supervised fine-tuning job. */
export function supervisedConfigOf(hyperparameters: Hyperparameters, seed: number): SupervisedConfig {
  return {
    ...resolveSupervisedConfig(sharedSettings(hyperparameters)),
    learningRate: usualRates.supervised * Number(hyperparameters["learning_rate_multiplier"]),
    seed,
  };
}

/** Returns the configuration of the training job for a DPO fine-tuning job. */
export function dpoConfigOf(hyperparameters: Hyperparameters, seed: number): PreferenceConfig {
  return {
    ...resolvePreferenceConfig({ ...sharedSettings(hyperparameters), loss: "dpo" }),
    beta: Number(hyperparameters["beta"]),
    learningRate: usualRates.dpo * Number(hyperparameters["learning_rate_multiplier"]),
    seed,
  };
}

/** Maximum number of optimizer steps in the training job of one reinforcement step. */
const optimizerStepsMax = 4;

/**
 * Returns the configuration of the training job for one reinforcement step.
 *
 * @param groupCount number of items whose answers differ in their rewards
 */
export function reinforcementConfigOf(hyperparameters: Hyperparameters, groupCount: number): TrainingConfig {
  return resolveTrainingConfig({
    learningRate: usualRates.reinforcement * Number(hyperparameters["learning_rate_multiplier"]),
    stepCount: Math.min(optimizerStepsMax, groupCount),
  });
}

function sharedSettings(hyperparameters: Hyperparameters) {
  return {
    epochCount: Number(hyperparameters["n_epochs"]),
    batchSize: Number(hyperparameters["batch_size"]),
  };
}
