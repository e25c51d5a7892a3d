// How much memory an engine takes for a model folder, known before it is loaded: from configuration and tensors' names alone. An
// upper bound, since keys and values are counted as if all of their room were used.
import type { Quantization } from "../../domain/model.ts";
import type { ModelConfig } from "../../model/config.ts";
import { readModelConfig } from "../../model/config/read-config.ts";
import { largeWeightBytes } from "../../model/large-weights.ts";
import { keptBytes, type WeightForms } from "../../model/quantized/weight-forms.ts";
import { readForms } from "../../model/weights.ts";
import { keyValueBytesMax } from "../cache/kv-cache.ts";
import type { EngineSettings } from "../settings.ts";

/** What an engine's process takes without a model: Node, and the native code with its sessions. */
const processBytes = 160 * 2 ** 20;

/**
 * How many times a model's weights stand in memory: those of large ones once, mapped, and nearly as much is left for what a
 * long prompt takes; in 8 and 4 bits also arranged anew by some sessions. Those of small ones are in each of six sessions.
 */
const weightCopies = { large: 2, largeQuantized: 3, small: 7 } as const;

/**
 * The most that the engine of a model takes, in bytes.
 *
 * @throws ServiceError where the folder holds no model that can be computed so
 */
export function engineMemoryBytes(
  { folder, quantization }: { readonly folder: string; readonly quantization: Quantization },
  settings: Pick<EngineSettings, "contextLengthMax" | "kvCacheBytesMax" | "slotCountMax">,
): number {
  const config = readModelConfig(folder);
  const forms: WeightForms = quantization === "off" ? new Map() : readForms(folder, config, quantization);
  const weightBytes = keptBytes(config, forms);
  const large = forms.size > 0 ? weightCopies.largeQuantized : weightCopies.large;
  const copies = weightBytes < largeWeightBytes ? weightCopies.small : large;
  return processBytes + copies * weightBytes + kvBytes(config, settings);
}

/** What running requests and kept prompts may take, which small models never fill. */
function kvBytes(
  { layers, kvHeadCount, headSize, contextLength }: ModelConfig,
  { contextLengthMax, kvCacheBytesMax, slotCountMax }: Parameters<typeof engineMemoryBytes>[1],
): number {
  const bytesPerPosition = 2 * layers.length * kvHeadCount * headSize * Float32Array.BYTES_PER_ELEMENT;
  const servedLength = Math.min(contextLength, contextLengthMax);
  return keyValueBytesMax({ kvCacheBytesMax, slotCountMax, contextLength: servedLength, bytesPerPosition });
}
