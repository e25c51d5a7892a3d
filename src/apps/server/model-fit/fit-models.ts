// Implements `hone models fit`: measures this machine, then estimates the memory and speed that a named model, or each
// known model, would have on it.
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { IntegerKernels } from "../../../base/domain/kernels/integer-kernels.ts";
import { quantizations } from "../../../base/domain/model.ts";
import type { ModelConfig } from "../../../inference/architectures/config.ts";
import { parseModelConfig, readModelConfig } from "../../../inference/architectures/config/read-config.ts";
import { countParameters } from "../../../inference/architectures/parameters.ts";
import { readForms } from "../../../inference/architectures/weights.ts";
import type { FormChoice } from "../../../inference/architectures/quantized/choose-forms.ts";
import { machineKernels } from "../../../inference/engine/device/machine-kernels.ts";
import { streamedRates } from "../../../inference/engine/device/streamed-rates.ts";
import { sequenceTrainingBytes } from "../../../train/trainer/embedded/sequence-memory.ts";
import { readClientSettings, readHubSettings } from "../config.ts";
import { thisMachine } from "../settings.ts";
import { describeModel, type DescribedModel } from "./described-model.ts";
import {
  fitModel,
  publishedForms,
  servingBytesOf,
  trainedTokenCount,
  type FitMachine,
  type ModelFit,
} from "./model-fit.ts";
import { knownModels } from "./known-models.ts";

export type { FitMachine, ModelFit };

/** Default length of requests, in tokens. */
export const usualContext = 4096;

export interface FitOptions {
  readonly data: string | null;
  readonly threads: number | null;
  /** Length of each request in tokens. */
  readonly contextLength: number;
}

/** A model with its estimates, one for each precision. */
export interface FittedModel {
  readonly name: string;
  readonly parameterCount: number;
  readonly contextLength: number;
  readonly downloadBytes: number | null;
  readonly fits: readonly ModelFit[];
}

export interface FitReport {
  readonly machine: FitMachine;
  readonly models: readonly FittedModel[];
}

/**
 * Estimates the memory and speed of the model `named`; if `named` is null, of every known model.
 *
 * @throws ServiceError if the named model does not exist or cannot be served
 */
export async function fitModels(named: string | null, options: FitOptions): Promise<FitReport> {
  const { threads, contextLength } = options;
  const scratch = mkdtempSync(join(tmpdir(), "hone-fit-"));
  try {
    const data = resolve(options.data ?? readClientSettings().data);
    const described =
      named === null ? null : await describeModel(named, { data, scratch, hub: readHubSettings() });
    const config = described && readModelConfig(described.folder);
    const kernels = await machineKernels(null);
    const rates = await streamedRates(kernels, threads ?? availableParallelism());
    const machine = { memoryBytes: thisMachine().memoryBytes, kernels, rates };
    const models =
      described === null || config === null
        ? fitKnownModels(contextLength, machine)
        : [fittedOf(described, config, { contextLength, machine })];
    return { machine, models };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Estimates all known models: in 8 bits if this machine's kernels support that, otherwise in float32. */
export function fitKnownModels(contextLength: number, machine: FitMachine): readonly FittedModel[] {
  return knownModels.map(({ repository, config: file }) => {
    const config = parseModelConfig(file, {}, repository);
    const fits = fitModel(config, { contextLength, quantizations: ["8"], formsOf: null }, machine);
    return { ...factsOf(config), name: repository, downloadBytes: null, fits };
  });
}

function fittedOf(
  { name, folder, hasTensors, downloadBytes }: DescribedModel,
  config: ModelConfig,
  { contextLength, machine }: { readonly contextLength: number; readonly machine: FitMachine },
): FittedModel {
  const formsOf = hasTensors ? (choice: FormChoice) => readForms(folder, config, choice) : null;
  const fits = fitModel(config, { contextLength, quantizations, formsOf }, machine);
  return { ...factsOf(config), name, downloadBytes, fits };
}

function factsOf(config: ModelConfig): Pick<FittedModel, "parameterCount" | "contextLength"> {
  return { parameterCount: countParameters(config), contextLength: config.contextLength };
}

/** Returns the largest known models that this machine can serve and train. Faster than estimating all known models. */
export function largestKnown(
  memoryBytes: number,
  kernels: IntegerKernels,
): { readonly served: string | null; readonly trained: string | null } {
  const servable = knownModels
    .map(({ repository, config }) => ({ repository, config: parseModelConfig(config, {}, repository) }))
    .filter(({ config }) => {
      const forms = publishedForms(config, { quantization: "8", kernels });
      return servingBytesOf(config, forms, usualContext) <= memoryBytes;
    });
  const isTrainable = (config: ModelConfig): boolean =>
    // Only the float32 weights are checked first: the exact estimate builds graphs, which takes long for a model that
    // is far too large.
    4 * countParameters(config) <= memoryBytes &&
    sequenceTrainingBytes(config, trainedTokenCount, new Map()) <= memoryBytes;
  return {
    served: servable.at(-1)?.repository ?? null,
    trained: servable.findLast(({ config }) => isTrainable(config))?.repository ?? null,
  };
}
