// How much memory an engine takes for a model folder, known before it is loaded: from the configuration alone. An upper
// bound, since keys and values are counted as if all of their room were used.
import type { ModelConfig } from "../../model/config.ts";
import { readModelConfig } from "../../model/config/read-config.ts";
import { largeWeightBytes } from "../../model/large-weights.ts";
import { modelParameters } from "../../model/parameters.ts";
import type { EngineSettings } from "../settings.ts";

/** What an engine's process takes without a model: Node, and the native code with its sessions. */
const processBytes = 160 * 2 ** 20;

/**
 * How many times a model's weights stand in memory: those of large ones once, mapped, and nearly as much is left for what a
 * long prompt takes; those of small ones also in each of six sessions.
 */
const weightCopies = { large: 2, small: 7 } as const;

/** The most that the engine of a model takes, in bytes. */
export function engineMemoryBytes(
  modelFolder: string,
  settings: Pick<EngineSettings, "contextLengthMax" | "kvCacheBytesMax" | "slotCountMax">,
): number {
  const config = readModelConfig(modelFolder);
  const weightBytes = weightCountOf(config) * Float32Array.BYTES_PER_ELEMENT;
  const copies = weightBytes < largeWeightBytes ? weightCopies.small : weightCopies.large;
  return processBytes + copies * weightBytes + kvBytes(config, settings);
}

function weightCountOf(config: ModelConfig): number {
  const counts = modelParameters(config).map(({ shape }) =>
    shape.reduce((product, size) => product * size, 1),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

/** What running requests may take, which small models never fill. */
function kvBytes(
  { layers, kvHeadCount, headSize, contextLength }: ModelConfig,
  { contextLengthMax, kvCacheBytesMax, slotCountMax }: Parameters<typeof engineMemoryBytes>[1],
): number {
  const positionBytes = 2 * layers.length * kvHeadCount * headSize * Float32Array.BYTES_PER_ELEMENT;
  const filledBytes = slotCountMax * Math.min(contextLength, contextLengthMax) * positionBytes;
  return Math.min(kvCacheBytesMax, filledBytes);
}
