// How much memory an engine takes for a model folder, known before it is loaded: from configuration and tensors' names alone. An
// upper bound, since keys and values are counted as if all of their room were used.
import type { ModelConfig } from "../../architectures/config.ts";
import { readModelConfig } from "../../architectures/config/read-config.ts";
import { largeWeightBytes } from "../../architectures/large-weights.ts";
import type { FormChoice } from "../../architectures/quantized/choose-forms.ts";
import { keptBytes, type WeightForms } from "../../architectures/quantized/weight-forms.ts";
import { readForms } from "../../architectures/weights.ts";
import { keyValueBytesMax } from "../cache/kv-cache.ts";
import { positionBytes } from "../cache/slab.ts";
import type { EngineSettings } from "../settings.ts";

/** What an engine's process takes without a model: Node, the native code, and garbage that is not collected yet. */
const processBytes = 160 * 2 ** 20;

/** What the thread that computes masks takes, which a quiet moment starts: by itself, and for each token of the vocabulary. */
const maskThreadBytes = 20 * 2 ** 20;
const maskTokenBytes = 512;

/** Twelve sessions' programs, the memory that the C library keeps from loading them included, for each layer of a model. */
const programBytesPerLayer = 9.5 * 2 ** 20;

/**
 * How many times a model's weights stand in memory: those of large ones as they are and arranged, mapped; those of small ones
 * in each of twelve sessions.
 */
const weightCopies = { large: 2, small: 13 } as const;

/** The C library keeps about as much as a step takes for the next ones, in pieces between what is in use. */
const keptStepCount = 2;

type Limits = Pick<
  EngineSettings,
  "contextLengthMax" | "kvCacheBytesMax" | "slotCountMax" | "tokensPerStepMax"
>;

/** What the engine of a model takes at most, in bytes. */
export interface EngineMemory {
  readonly bytes: number;
  /** Of those, what keys and values alone take, as requests come. */
  readonly keyValueBytes: number;
}

/**
 * The most that the engine of a model takes, adapters aside.
 *
 * @throws ServiceError where the folder holds no model that can be computed so
 */
export function engineMemory(
  { folder, ...choice }: FormChoice & { readonly folder: string },
  settings: Limits,
): EngineMemory {
  const config = readModelConfig(folder);
  const forms: WeightForms = choice.quantization === "off" ? new Map() : readForms(folder, config, choice);
  const weightBytes = keptBytes(config, forms);
  const copies = weightBytes < largeWeightBytes ? weightCopies.small : weightCopies.large;
  const ownBytes =
    processBytes +
    maskThreadBytes +
    config.vocabularySize * maskTokenBytes +
    config.layers.length * programBytesPerLayer +
    copies * weightBytes +
    keptStepCount * stepBytes(config, settings);
  const keyValueBytes = kvBytes(config, settings);
  return { bytes: ownBytes + keyValueBytes, keyValueBytes };
}

/**
 * What the largest step takes beside weights and cache: a part of a long prompt, with scores of attention over the whole
 * context, what a layer computes of its tokens, and their keys and values of all layers; or else a token of every row, with
 * scores over the vocabulary. What the runtime returns is there twice, as it is copied.
 */
function stepBytes(config: ModelConfig, limits: Limits): number {
  const { contextLength, headCount, width, intermediateSize, vocabularySize } = config;
  const context = Math.min(contextLength, limits.contextLengthMax);
  const tokenNumbers = headCount * context + 8 * width + 4 * intermediateSize;
  const tokenBytes = tokenNumbers * Float32Array.BYTES_PER_ELEMENT + 2 * positionBytesOf(config);
  const partBytes = Math.min(limits.tokensPerStepMax, context) * tokenBytes;
  return Math.max(partBytes, 2 * limits.slotCountMax * vocabularySize * Float32Array.BYTES_PER_ELEMENT);
}

/** What running requests and kept prompts may take, which small models never fill. */
function kvBytes(config: ModelConfig, { contextLengthMax, kvCacheBytesMax, slotCountMax }: Limits): number {
  const contextLength = Math.min(config.contextLength, contextLengthMax);
  const bytesPerPosition = positionBytesOf(config);
  return keyValueBytesMax({ kvCacheBytesMax, slotCountMax, contextLength, bytesPerPosition });
}

/** Keys and values of one position, over all layers. */
function positionBytesOf({ layers, kvHeadCount, headSize }: ModelConfig): number {
  return positionBytes({ layerCount: layers.length, kvHeadCount, headSize });
}
