// Estimates how much memory an engine takes for a model folder, before the model is loaded. Reads only the
// configuration and the names of the tensors. The estimate is an upper bound, because it assumes that keys and values
// fill their limit.
import { intermediateSizeOf, type ModelConfig } from "../../architectures/config.ts";
import { readModelConfig } from "../../architectures/config/read-config.ts";
import { largeWeightBytes } from "../../architectures/large-weights.ts";
import type { FormChoice } from "../../architectures/quantized/choose-forms.ts";
import { keptBytes, type WeightForms } from "../../architectures/quantized/weight-forms.ts";
import { cacheShapes, stateShapes } from "../../architectures/serving/sequence-memory.ts";
import { inputWidth } from "../../architectures/recurrent/state-layers.ts";
import { readForms } from "../../architectures/weights.ts";
import { keyValueBytesMax, slotBytesOf, type SlotBytes } from "../cache/kv-cache.ts";
import type { EngineSettings } from "../settings.ts";

/** Bytes that an engine's process takes without a model, for Node, native code and uncollected garbage. */
const processBytes = 160 * 2 ** 20;

/**
 * Bytes that the thread for constraint masks takes: a fixed number, and a number per token of the vocabulary. The
 * thread always counts, because idle work starts it.
 */
const maskThreadBytes = 20 * 2 ** 20;
const maskTokenBytes = 512;

/**
 * Bytes per layer that the programs of twelve sessions take, including memory that the C library retains after loading
 * them.
 */
const programBytesPerLayer = 9.5 * 2 ** 20;

/**
 * Number of copies of a model's weights in memory. Large weights exist twice: as stored, and as arranged for the
 * runtime's kernels, which is a private copy until a first start has written it. Small weights exist once, and again in
 * each of twelve sessions.
 */
const weightCopies = { large: 2, small: 13 } as const;

/**
 * Number of steps whose memory the estimate includes: the running step and about one earlier step. The C library
 * retains memory of earlier steps, because it lies in fragments between allocations in use.
 */
const keptStepCount = 2;

type Limits = Pick<
  EngineSettings,
  "contextLengthMax" | "kvCacheBytesMax" | "slotCountMax" | "tokensPerStepMax"
>;

/** Maximum memory of an engine with a model, in bytes. */
export interface EngineMemory {
  readonly bytes: number;
  /** Share of `bytes` that keys and values may take. They fill it as requests arrive. */
  readonly keyValueBytes: number;
}

/**
 * Returns the maximum memory of an engine with a model, without adapters.
 *
 * @throws ServiceError if the folder holds no model that can be computed with these settings
 */
export function engineMemory(
  { folder, ...choice }: FormChoice & { readonly folder: string },
  settings: Limits,
): EngineMemory {
  const config = readModelConfig(folder);
  const forms: WeightForms = choice.quantization === "off" ? new Map() : readForms(folder, config, choice);
  return engineMemoryOf(config, forms, settings);
}

/** Like {@link engineMemory}, but needs only the model's configuration and the forms of its weights, not its files. */
export function engineMemoryOf(config: ModelConfig, forms: WeightForms, settings: Limits): EngineMemory {
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

/** Returns the width of a layer's widest values: those of the feed-forward part, or of Mamba-2's first projection. */
function widestOf(config: ModelConfig, layer: number): number {
  const isMamba = config.layers[layer].kind === "mamba";
  return Math.max(intermediateSizeOf(config, layer), isMamba ? inputWidth(config, layer) : 0);
}

/**
 * Returns the memory in bytes of the largest step, without weights and cache. The runtime's results count twice,
 * because they are copied. The largest step is one of two:
 * * part of a long prompt: attention scores over the whole context, a layer's activations, and keys and values of all
 * layers;
 * * one token of every row: logits over the vocabulary.
 */
function stepBytes(config: ModelConfig, limits: Limits): number {
  const { contextLength, headCount, width, vocabularySize, layers, layerEmbedding } = config;
  const intermediateSize = Math.max(...layers.map((_, layer) => widestOf(config, layer)));
  const context = Math.min(contextLength, limits.contextLengthMax);
  const embeddingSize = layers.length * (layerEmbedding?.size ?? 0);
  const tokenNumbers =
    headCount * context + 8 * width + 4 * intermediateSize + 4 * embeddingSize + expertNumbers(config);
  const tokenBytes = tokenNumbers * Float32Array.BYTES_PER_ELEMENT + 2 * slotBytesIn(config).bytesPerPosition;
  const partBytes = Math.min(limits.tokensPerStepMax, context) * tokenBytes;
  return Math.max(partBytes, 2 * limits.slotCountMax * vocabularySize * Float32Array.BYTES_PER_ELEMENT);
}

/**
 * Returns how many numbers a mixture of experts needs per token: the inputs and results of each expert that the token
 * uses, and their copies in padded tiles.
 */
function expertNumbers({ experts, width }: ModelConfig): number {
  return experts === null ? 0 : 4 * experts.activeCount * (width + experts.intermediateSize);
}

/**
 * Returns the maximum memory in bytes for the keys and values of running requests and cached prompts. A small model may
 * need less than the configured limit, even if all slots fill the context length.
 */
function kvBytes(config: ModelConfig, { contextLengthMax, kvCacheBytesMax, slotCountMax }: Limits): number {
  const contextLength = Math.min(config.contextLength, contextLengthMax);
  return keyValueBytesMax({ kvCacheBytesMax, slotCountMax, contextLength, ...slotBytesIn(config) });
}

/**
 * Returns the memory of a slot of the model: keys and values per position, and the states of layers that have no keys
 * and values.
 */
export function slotBytesIn(config: ModelConfig): SlotBytes {
  return slotBytesOf({ caches: cacheShapes(config), states: stateShapes(config) });
}
