// A model's weights as sources for a session: buffers, or locations in files that can be mapped. Float32 files are
// used in place; large models in other types are converted once, into a cache file.
import { present } from "../../base/domain/assert.ts";
import type { Quantization } from "../../base/domain/model.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { WeightSource } from "../../lib/graph/weight-source.ts";
import { tensorFaults } from "./check-tensors.ts";
import type { ModelConfig } from "./config.ts";
import { ggufFilesOf, ggufNamesOf } from "../../lib/model-files/gguf/gguf-model.ts";
import { readStoredTensors } from "../../lib/model-files/weight-files.ts";
import { rowsOf, rowsReadTogether, type StoredTensor } from "../../lib/model-files/stored-tensor.ts";
import { joinExperts } from "./experts/join-experts.ts";
import { float32Bytes, isStoredAsOffset, modelParameters } from "./parameters.ts";
import { chooseForms, precisionLabel, type FormChoice } from "./quantized/choose-forms.ts";
import { convertWeight, floatsOf, type Conversion, type RowRange } from "./quantized/conversion.ts";
import {
  isCodes,
  keptParts,
  weightUseFor,
  type WeightForm,
  type WeightForms,
} from "./quantized/weight-forms.ts";
import { hasBlocks } from "./config/read-experts.ts";
import { readConfigFiles } from "./config/served-config.ts";
import { cachedRotarySources, rotarySources } from "./serving/rotary-sources.ts";
import { parameterTensors, storedParameters } from "./stored-projections.ts";
import { ensureCached, ensureCachedByThreads, type CacheEntry, type CachePlace } from "./weights-cache.ts";

/** Source of a float32 weight. */
type FloatSource = WeightSource<"float32">;

export interface ReadWeightsOptions {
  /**
   * Folder for cache files of large models' converted weights. If null, weights are converted into memory each time.
   */
  readonly cacheFolder: string | null;
  /** If true, throws an error if a needed cache file is missing, instead of writing it. */
  readonly isReadOnly?: boolean;
  /**
   * If true, sessions of a large model map the rotary tables from a cache file. Otherwise each session has its own
   * copy, which takes megabytes. Default false.
   */
  readonly sharesTables?: boolean;
  /** Size of a model's weights in float32, in bytes, above which the cache file is used. */
  readonly memoryBytesMax?: number;
  /** Called while a cache file with converted weights is written, as described at `CachePlace`. */
  readonly onProgress?: CachePlace["onProgress"];
  /** Maximum number of values that are converted at a time, if rows are independent. */
  readonly pieceValues?: number;
}

/** A model's weights with their locations and forms. */
export interface ModelWeights {
  readonly sources: ReadonlyMap<string, WeightSource>;
  readonly forms: WeightForms;
}

/** Default for `memoryBytesMax`. */
const defaultMemoryBytesMax = 64 * 1024 * 1024;

/**
 * Reads the weights of a model folder in the forms that `chooseForms` selects, with the rotary tables.
 *
 * @throws ServiceError as {@link readModelWeights}
 */
export function readQuantizedWeights(
  folder: string,
  config: ModelConfig,
  options: ReadWeightsOptions & FormChoice,
): ModelWeights {
  const planned = planQuantized(folder, config, options);
  return { forms: planned.forms, sources: withTables(kept(planned, options), folder, config, options) };
}

/** Like {@link readQuantizedWeights}, but several threads write a missing cache file. */
export async function openQuantizedWeights(
  folder: string,
  config: ModelConfig,
  options: ReadWeightsOptions & FormChoice & { readonly threads: number },
): Promise<ModelWeights> {
  const planned = planQuantized(folder, config, options);
  const { place, stored, entries } = planned;
  const cache = cacheOf(planned, options);
  const weights =
    cache === null
      ? kept(planned, options)
      : await ensureCachedByThreads({ ...place, ...cache }, stored, entries, options.threads);
  return { forms: planned.forms, sources: withTables(weights, folder, config, options) };
}

/** Weights that a cache file or the memory holds, and how they are made from stored tensors. */
interface PlannedWeights {
  readonly config: ModelConfig;
  readonly place: Pick<CachePlace, "modelFolder" | "ending" | "format">;
  readonly stored: readonly StoredTensor[];
  readonly entries: readonly CacheEntry[];
  /** True if float32 weights are used at their place in the model's files. */
  readonly isInPlace?: boolean;
}

function planQuantized(
  folder: string,
  config: ModelConfig,
  choice: FormChoice,
): PlannedWeights & { readonly forms: WeightForms } {
  const stored = checkedTensors(folder, config);
  const byName = new Map(stored.map((tensor) => [tensor.name, tensor]));
  const forms = chooseForms(config, byName, choice);
  if (forms.size === 0) return { ...planFloats(folder, config, stored), forms };
  const entries = modelParameters(config).map((parameter): CacheEntry => {
    const tensor = present(byName.get(parameter.name), parameter.name);
    const form = forms.get(parameter.name) ?? "float32";
    const use = weightUseFor(parameter.name, config);
    return { parts: keptParts(parameter, form, use), made: conversionOf(tensor, form, config) };
  });
  return { config, place: quantizedPlace(folder, forms), stored, entries, forms };
}

function planFloats(folder: string, config: ModelConfig, stored: readonly StoredTensor[]): PlannedWeights {
  const entries = stored.map((tensor): CacheEntry => {
    const { name, shape } = tensor;
    return { parts: [{ name, dtype: "float32", shape }], made: conversionOf(tensor, "float32", config) };
  });
  const place = { modelFolder: folder, ending: ".f32", format: "hone-f32-1" };
  const isInPlace = stored.every((tensor) => isUsableInPlace(tensor, config));
  return { config, place, stored, entries, isInPlace };
}

function conversionOf(tensor: StoredTensor, form: WeightForm, config: ModelConfig): Conversion {
  const { name } = tensor;
  return { tensor, form, use: weightUseFor(name, config), isOffset: isStoredAsOffset(name, config) };
}

function withTables(
  weights: ReadonlyMap<string, WeightSource>,
  folder: string,
  config: ModelConfig,
  options: ReadWeightsOptions,
): ReadonlyMap<string, WeightSource> {
  return new Map<string, WeightSource>([...rotaryTables(folder, config, options), ...weights]);
}

/**
 * Reads the weights of a model folder, all in 8 bits. They equal those of {@link readQuantizedWeights} with 8 bits, and
 * share their cache file. On a machine without an exact kernel for 8 bits, all weights are float32.
 *
 * @throws ServiceError as {@link readModelWeights}
 */
export function readInt8TrainingWeights(
  folder: string,
  config: ModelConfig,
  options: ReadWeightsOptions & Pick<FormChoice, "kernels">,
): ModelWeights {
  return readQuantizedWeights(folder, config, { ...options, quantization: "8" });
}

/**
 * Returns the precision (`precisionLabel`) of the weights that {@link readQuantizedWeights} would return, without
 * reading weights.
 *
 * @throws ServiceError as {@link readModelWeights}
 */
export function readPrecision(folder: string, config: ModelConfig, choice: FormChoice): string | undefined {
  if (!mayBeRounded(folder, choice.quantization)) return undefined;
  return precisionLabel(config, readForms(folder, config, choice), choice.quantization);
}

/**
 * False if every machine computes the model in float32. With `as-stored`, only GGUF files and experts in four bits
 * (gpt-oss) hold types that are computed in other forms.
 */
export function mayBeRounded(folder: string, quantization: Quantization): boolean {
  if (quantization !== "as-stored") return quantization !== "off";
  return ggufFilesOf(folder) !== null || hasBlocks(readConfigFiles(folder).config);
}

/**
 * Returns the weight forms that {@link readQuantizedWeights} would choose, without reading weights. Throws the same
 * errors.
 */
export function readForms(folder: string, config: ModelConfig, choice: FormChoice): WeightForms {
  const stored = new Map(checkedTensors(folder, config).map((tensor) => [tensor.name, tensor]));
  return chooseForms(config, stored, choice);
}

/** Format version of the cache files for quantized weights. */
const quantizedFormat = "hone-quantized-2";

/**
 * Returns the identity of a model's cache file. Weights that are all in 8 bits have a separate file, because training
 * may need it in addition to the file for serving.
 */
function quantizedPlace(folder: string, forms: WeightForms): PlannedWeights["place"] {
  const isInt8 = [...forms.values()].every(isCodes);
  const format = `${quantizedFormat} ${JSON.stringify([...forms])}`;
  return { modelFolder: folder, ending: isInt8 ? ".int8" : ".quantized", format };
}

/**
 * Returns the locations of weights: in the model's files if they are usable there, in a cache file for a large model,
 * which is written if missing, or in memory for a small model.
 */
function kept(planned: PlannedWeights, options: ReadWeightsOptions): ReadonlyMap<string, WeightSource> {
  const { place, stored, entries, isInPlace = false } = planned;
  if (isInPlace) return new Map(stored.map(({ name, file, offset }) => [name, { file, offset }]));
  const cache = cacheOf(planned, options);
  return cache === null ? madeInMemory(entries) : ensureCached({ ...place, ...cache }, stored, entries);
}

/** Returns the options for a model's cache file; null if its weights need no such file. */
function cacheOf(
  { config, isInPlace = false }: PlannedWeights,
  {
    cacheFolder,
    isReadOnly,
    onProgress,
    pieceValues,
    memoryBytesMax = defaultMemoryBytesMax,
  }: ReadWeightsOptions,
): Omit<CachePlace, "modelFolder" | "ending" | "format"> | null {
  const isLarge = float32Bytes(modelParameters(config)) > memoryBytesMax;
  return cacheFolder === null || isInPlace || !isLarge
    ? null
    : { cacheFolder, isReadOnly, onProgress, pieceValues };
}

function madeInMemory(entries: readonly CacheEntry[]): ReadonlyMap<string, WeightSource> {
  return new Map(
    entries.flatMap(({ parts, made }) => {
      const data = typeof made === "function" ? made() : convertWeight(made, null);
      // Copies codes, because the next conversion overwrites them.
      const copies =
        typeof made === "function" || made.form === "float32" ? data : data.map((one) => one.slice());
      return parts.map(({ name }, index) => [name, { data: present(copies[index], name) }] as const);
    }),
  );
}

/**
 * Reads the weights of a model folder, with the rotary tables that the graphs need.
 *
 * @throws ServiceError `invalid` naming missing, unexpected and misshapen tensors; otherwise as `readStoredTensors`
 */
export function readModelWeights(
  folder: string,
  config: ModelConfig,
  options: ReadWeightsOptions,
): ReadonlyMap<string, FloatSource> {
  const planned = planFloats(folder, config, checkedTensors(folder, config));
  // Safe cast: all conversions are to float32.
  return withTables(kept(planned, options), folder, config, options) as ReadonlyMap<string, FloatSource>;
}

/**
 * Writes the values of a weight, or of some of its rows, into an array of their size.
 *
 * @param rows null for all rows
 */
export type ReadFloats = (name: string, into: Float32Array, rows: RowRange | null) => void;

/** Maximum number of values that {@link floatReader} reads at a time, if rows are independent. */
const readValuesMax = 2 ** 22;

/**
 * Returns a function that reads one weight of a model folder in float32, or one rotary table, by its name. The function
 * keeps nothing in memory.
 *
 * @throws ServiceError as {@link readModelWeights}
 */
export function floatReader(folder: string, config: ModelConfig): ReadFloats {
  const stored = new Map(checkedTensors(folder, config).map((tensor) => [tensor.name, tensor]));
  const tables = rotarySources(config);
  return (name, into, rows) => {
    const table = tables.get(name);
    if (table === undefined)
      writeFloats(conversionOf(present(stored.get(name), name), "float32", config), into, rows);
    else into.set(table.data);
  };
}

function writeFloats(conversion: Conversion, into: Float32Array, rows: RowRange | null): void {
  const { tensor } = conversion;
  const [rowCount, width] = tensor.shape;
  const { from, count } = rows ?? { from: 0, count: rowCount };
  const isSmall = rows === null && into.length <= readValuesMax;
  if (isSmall || tensor.shape.length !== 2 || rowsReadTogether(tensor) !== 1) {
    const values = floatsOf(conversion);
    into.set(rows === null ? values : values.subarray(from * width, (from + count) * width));
    return;
  }
  const step = Math.max(1, Math.floor(readValuesMax / width));
  for (let row = 0; row < count; row += step) {
    const piece = rowsOf(tensor, from + row, Math.min(step, count - row));
    into.set(floatsOf({ ...conversion, tensor: piece }), row * width);
  }
}

/**
 * Checks that the weights of a folder match its configuration, and that the files contain all their bytes. Reads no
 * values.
 *
 * @throws ServiceError as {@link readModelWeights}
 */
export function checkWeights(folder: string, config: ModelConfig): void {
  checkedTensors(folder, config);
}

/** Returns the locations of the rotary tables: in a cache file if sessions share them, or in memory. */
function rotaryTables(
  folder: string,
  config: ModelConfig,
  {
    cacheFolder,
    isReadOnly,
    sharesTables = false,
    memoryBytesMax = defaultMemoryBytesMax,
  }: ReadWeightsOptions,
): ReadonlyMap<string, FloatSource> {
  const isLarge = float32Bytes(modelParameters(config)) > memoryBytesMax;
  return sharesTables && isLarge && cacheFolder !== null
    ? cachedRotarySources(config, { modelFolder: folder, cacheFolder, isReadOnly })
    : rotarySources(config);
}

/** Returns the stored tensors in the order of the parameters, after checking that they match the model. */
function checkedTensors(folder: string, config: ModelConfig): readonly StoredTensor[] {
  const stored = joinExperts(readStoredTensors(folder), config);
  const names = ggufNamesOf(folder);
  const faults = tensorFaults(stored, storedParameters(config, stored), {
    isRedundant: (name) => isRedundant(name, config),
    shownAs: names?.tensor,
  });
  if (faults === null) {
    const tensors = parameterTensors(stored, config);
    return modelParameters(config).map(({ name }) => present(tensors.get(name), name));
  }
  throw new ServiceError({
    code: "invalid",
    message:
      names === null
        ? `The weights in ${folder} do not match its config.json: ${faults}.`
        : `The tensors of ${names.file} do not match its metadata: ${faults}.`,
  });
}

/**
 * True for tensors that Hone ignores:
 * - rotary frequencies, and tied output projections, in older files
 * - the `mtp` layers, which predict several tokens ahead
 * - keys and values of layers that use the keys and values of an earlier layer
 */
function isRedundant(name: string, config: ModelConfig): boolean {
  const isOfDraftHead = name.startsWith("mtp.");
  const ofKeys = /^model\.layers\.(\d+)\.self_attn\.[kv]_(?:proj|norm)\.(?:weight|bias)$/.exec(name)?.[1];
  const layer = ofKeys === undefined ? undefined : config.layers.at(Number(ofKeys));
  return (
    isOfDraftHead ||
    (layer?.kind === "attention" && layer.keysFrom !== undefined) ||
    name.endsWith("rotary_emb.inv_freq") ||
    (config.isTied && name === "lm_head.weight")
  );
}

/** True if the tensor's bytes in the file already are the float32 values that {@link floatsOf} would return. */
function isUsableInPlace(
  { name, type, offset, rearranged, pieces }: StoredTensor,
  config: ModelConfig,
): boolean {
  const isWidened = type !== "F32";
  const isChanged = rearranged !== undefined || pieces !== undefined || isStoredAsOffset(name, config);
  return !isWidened && !isChanged && offset % 4 === 0;
}
