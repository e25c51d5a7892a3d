// A model's weights as sources for a session: buffers, or places in files that can be mapped.
// Float32 files are used where they lie; large models in sixteen bits are converted once, into a cache file.
import { createHash } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { present } from "../domain/assert.ts";
import { ServiceError } from "../domain/service-error.ts";
import type { WeightSource } from "../graph/weight-source.ts";
import { tensorFaults } from "./check-tensors.ts";
import type { ModelConfig } from "./config.ts";
import { rotaryTableNames } from "./decoder.ts";
import { readStoredTensors } from "../model-files/weight-files.ts";
import { readFloats, type StoredTensor } from "../model-files/stored-tensor.ts";
import { writeWhole } from "../model-files/write-safetensors.ts";
import { isNormWeight, modelParameters } from "./parameters.ts";
import { rotaryTables } from "./rotary.ts";
import { parameterTensors, storedParameters } from "./stored-projections.ts";

/** Every weight is computed with in float32. */
type FloatSource = WeightSource<"float32">;

export interface ReadWeightsOptions {
  /** Where converted weights of large models are kept; null converts into memory each time. */
  readonly cacheFolder: string | null;
  /** Above this many bytes of float32 the cache file is used. */
  readonly memoryBytesMax?: number;
}

/** Mapped tensors begin on such a boundary. */
const alignment = 4096;

/** Changes whenever converted files would hold other bytes or another order. */
const cacheFormat = "hone-f32-1";

/**
 * Reads the weights of a model folder, with the rotary tables that the graphs want beside them.
 *
 * @throws ServiceError `invalid` naming missing, unexpected and misshapen tensors; else as `readStoredTensors`
 */
export function readModelWeights(
  folder: string,
  config: ModelConfig,
  { cacheFolder, memoryBytesMax = 64 * 1024 * 1024 }: ReadWeightsOptions,
): ReadonlyMap<string, FloatSource> {
  const stored = checkedTensors(folder, config);
  const isMappable = stored.every(({ type, offset }) => type === "F32" && offset % 4 === 0);
  const isLarge = stored.reduce((sum, tensor) => sum + floatBytes(tensor), 0) > memoryBytesMax;
  const sourceOf = new Map<string, FloatSource>(rotarySources(config));
  if (isMappable && !config.isNormOffset) {
    for (const { name, file, offset } of stored) sourceOf.set(name, { file, offset });
  } else if (cacheFolder !== null && isLarge) {
    const file = ensureCache(folder, { config, cacheFolder, stored });
    for (const [name, offset] of cacheOffsets(stored)) sourceOf.set(name, { file, offset });
  } else {
    for (const tensor of stored) sourceOf.set(tensor.name, { data: converted(tensor, config) });
  }
  return sourceOf;
}

/**
 * Checks that the weights of a folder are those of its configuration, and lie whole in their files; computes nothing.
 *
 * @throws ServiceError as {@link readModelWeights}
 */
export function checkWeights(folder: string, config: ModelConfig): void {
  checkedTensors(folder, config);
}

/** The rotary tables alone, for graphs whose weights are inputs. */
export function rotarySources(config: ModelConfig): ReadonlyMap<string, { readonly data: Float32Array }> {
  return new Map(
    config.rotaries.flatMap((rotary, index) => {
      const names = rotaryTableNames(index);
      const size = { rotarySize: config.rotarySize, positionCount: config.contextLength };
      const { cosines, sines } = rotaryTables(rotary, size);
      return [
        [names.cos, { data: cosines }],
        [names.sin, { data: sines }],
      ] as const;
    }),
  );
}

/** The tensors in the order of the parameters, after checking that they are those of the model. */
function checkedTensors(folder: string, config: ModelConfig): readonly StoredTensor[] {
  const stored = readStoredTensors(folder);
  const faults = tensorFaults(stored, storedParameters(config), (name) => isRedundant(name, config));
  if (faults === null) {
    const tensors = parameterTensors(stored, config);
    return modelParameters(config).map(({ name }) => present(tensors.get(name), name));
  }
  throw new ServiceError({
    code: "invalid",
    message: `The weights in ${folder} are not those of its config.json: ${faults}.`,
  });
}

/** Older files store what follows from the rest: rotary frequencies, and tied output projections. */
function isRedundant(name: string, config: ModelConfig): boolean {
  return name.endsWith("rotary_emb.inv_freq") || (config.isTied && name === "lm_head.weight");
}

function converted(tensor: StoredTensor, config: ModelConfig): Float32Array {
  const values = readFloats(tensor);
  if (!config.isNormOffset || !isNormWeight(tensor.name)) return values;
  return values.map((value) => value + 1);
}

/** Converts unless that was done before, and returns the cache file. */
function ensureCache(
  folder: string,
  options: {
    readonly config: ModelConfig;
    readonly cacheFolder: string;
    readonly stored: readonly StoredTensor[];
  },
): string {
  const { config, cacheFolder, stored } = options;
  const { modelKey, contentKey } = cacheKeys(folder, stored);
  const name = `${modelKey}-${contentKey}.f32`;
  const file = join(cacheFolder, name);
  if (existsSync(file)) return file;
  mkdirSync(cacheFolder, { recursive: true });
  writeCache(file, stored, config);
  // One model keeps one file: what was converted from its earlier weights is of no more use.
  for (const other of readdirSync(cacheFolder)) {
    const isEarlier = other.startsWith(`${modelKey}-`) && other.endsWith(".f32") && other !== name;
    if (isEarlier) rmSync(join(cacheFolder, other), { force: true });
  }
  return file;
}

/** Where the cache file holds each tensor: in order, each on a boundary. */
function cacheOffsets(stored: readonly StoredTensor[]): ReadonlyMap<string, number> {
  const offsets = new Map<string, number>();
  let offset = 0;
  for (const tensor of stored) {
    offsets.set(tensor.name, offset);
    offset += padded(floatBytes(tensor));
  }
  return offsets;
}

/** The model's key is its folder; the content's key changes with any of its files. */
function cacheKeys(
  folder: string,
  stored: readonly StoredTensor[],
): { readonly modelKey: string; readonly contentKey: string } {
  const files = [...new Set(stored.map(({ file }) => file))].sort().map((file) => {
    const { size, mtimeMs } = statSync(file);
    return [file, size, mtimeMs];
  });
  const tensors = stored.map(({ name, offset, shape }) => [name, offset, shape]);
  return { modelKey: hash(realpathSync(folder)), contentKey: hash([cacheFormat, files, tensors]) };
}

function hash(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 16);
}

function writeCache(file: string, stored: readonly StoredTensor[], config: ModelConfig): void {
  // Two processes may convert at once; each has a file of its own, and the last rename wins with the same bytes.
  const partial = `${file}.${process.pid}.partial`;
  const descriptor = openSync(partial, "w");
  try {
    for (const tensor of stored) {
      const values = converted(tensor, config);
      writeWhole(descriptor, values);
      writeWhole(descriptor, new Uint8Array(padded(values.byteLength) - values.byteLength));
    }
    fsyncSync(descriptor);
    renameSync(partial, file);
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
}

function padded(byteLength: number): number {
  return Math.ceil(byteLength / alignment) * alignment;
}

function floatBytes({ shape }: StoredTensor): number {
  return shape.reduce((product, size) => product * size, 4);
}
