// Estimates what a model needs on this machine (memory for serving and training) and how fast it will be. Needs only
// the model's configuration, so people can decide before a download.
import type { KernelMeasurement, KernelRate } from "../../../base/domain/kernels/integer-kernels.ts";
import type { Quantization } from "../../../base/domain/model.ts";
import type { ModelConfig } from "../../../inference/architectures/config.ts";
import { modelParameters } from "../../../inference/architectures/parameters.ts";
import {
  chooseForms,
  precisionLabel,
  type FormChoice,
} from "../../../inference/architectures/quantized/choose-forms.ts";
import { keptBytes, type WeightForms } from "../../../inference/architectures/quantized/weight-forms.ts";
import { requestCount, speedOf, type FitSpeed } from "./fit-speed.ts";
import { engineMemoryOf, slotBytesIn } from "../../../inference/engine/model-swapping/memory-need.ts";
import { engineSettings } from "../../../inference/engine/settings.ts";
import { elementCount } from "../../../lib/graph/tensor.ts";
import type { StoredTensor } from "../../../lib/model-files/stored-tensor.ts";
import { sequenceTrainingBytes } from "../../../train/trainer/embedded/sequence-memory.ts";

/** Length of the sequence whose training is estimated, in tokens. */
export const trainedTokenCount = 1024;

/** The machine, as measured. */
export interface FitMachine {
  readonly memoryBytes: number;
  readonly kernels: KernelMeasurement;
  /**
   * Measured speeds of products with weight matrices that are read from main memory, not from the processor's cache.
   * All threads compute together. Null if no speed is to be estimated.
   */
  readonly rates: readonly KernelRate[] | null;
}

/** Estimates for a model in one precision. */
export interface ModelFit {
  readonly quantize: Quantization;
  readonly precision: string;
  readonly weightBytes: number;
  /** Maximum memory of the engine with {@link requestCount} requests of the asked length. */
  readonly servingBytes: number;
  /**
   * Peak memory of training with a sequence of {@link trainedTokenCount} tokens, over base weights in float32 if this
   * precision is float32, and otherwise in 8 bits (`base_precision`). If the machine has less memory, the job saves
   * memory, and takes longer.
   */
  readonly trainingBytes: number;
  readonly speed: FitSpeed | null;
  readonly isServable: boolean;
  readonly isTrainable: boolean;
}

export interface FitQuestion {
  /** Length of each request in tokens, prompt and answer together. */
  readonly contextLength: number;
  readonly quantizations: readonly Quantization[];
  /** Returns the storage form of each weight; null to assume the forms that {@link publishedForms} returns. */
  readonly formsOf: ((choice: FormChoice) => WeightForms) | null;
}

/** Estimates a model in each precision; leaves out a precision that gives the same forms as an earlier one. */
export function fitModel(
  config: ModelConfig,
  { contextLength, quantizations, formsOf }: FitQuestion,
  machine: FitMachine,
): readonly ModelFit[] {
  const tokenCount = Math.min(trainedTokenCount, config.contextLength);
  const formsIn = formsOf ?? ((choice) => publishedForms(config, choice));
  /** Estimates by precision of the base weights; each is computed at most once. */
  const trained: { float32?: number; int8?: number } = {};
  const trainingBytesOf = (forms: WeightForms): number => {
    const bytesOf = (own: WeightForms): number =>
      sequenceTrainingBytes(config, tokenCount, own, machine.memoryBytes);
    if (forms.size === 0) return (trained.float32 ??= bytesOf(forms));
    const int8Forms = (): WeightForms => formsIn({ quantization: "8", kernels: machine.kernels });
    return (trained.int8 ??= bytesOf(int8Forms()));
  };
  const seen = new Set<string>();
  return quantizations.flatMap((quantize) => {
    const forms = formsIn({ quantization: quantize, kernels: machine.kernels });
    const key = JSON.stringify([...forms]);
    if (seen.has(key)) return [];
    seen.add(key);
    const servingBytes = servingBytesOf(config, forms, contextLength);
    const trainingBytes = trainingBytesOf(forms);
    return [
      {
        quantize,
        precision: precisionLabel(config, forms, quantize) ?? "float32",
        weightBytes: keptBytes(config, forms),
        servingBytes,
        trainingBytes,
        speed: machine.rates && speedOf(config, forms, machine.rates),
        isServable: servingBytes <= machine.memoryBytes,
        isTrainable: trainingBytes <= machine.memoryBytes,
      },
    ];
  });
}

/** Returns the maximum memory of the engine with {@link requestCount} requests of `length` tokens. */
export function servingBytesOf(config: ModelConfig, forms: WeightForms, length: number): number {
  const contextLength = Math.min(length, config.contextLength);
  const limits = { ...engineSettings.with(), contextLengthMax: contextLength };
  const { bytes, keyValueBytes } = engineMemoryOf(config, forms, limits);
  const { bytesPerPosition, bytesPerSlot } = slotBytesIn(config);
  return bytes - keyValueBytes + requestCount * (contextLength * bytesPerPosition + bytesPerSlot);
}

/** Returns the forms of a model whose files have 16-bit floating point weights, as hubs publish most models. */
export function publishedForms(config: ModelConfig, choice: FormChoice): WeightForms {
  const stored = modelParameters(config).map(({ name, shape }): [string, StoredTensor] => [
    name,
    { name, shape, type: "BF16", file: "", offset: 0, byteLength: 2 * elementCount(shape) },
  ]);
  return chooseForms(config, new Map(stored), choice);
}
