// LoRA adapters as folders in the PEFT layout, which PEFT and vLLM can load: adapter_config.json and
// adapter_model.safetensors. An unsupported option is refused by name, because ignoring it would compute a different
// adapter.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { orderedProjections } from "../../base/domain/model.ts";
import { present } from "../../base/domain/assert.ts";
import { invalid, ServiceError } from "../../base/domain/service-error.ts";
import type { ModelConfig } from "./config.ts";
import { adaptedModules, loraScale, type AdaptedModule } from "./config/adapted-modules.ts";
import { ConfigReader, type JsonObject } from "./config/config-reader.ts";
import { tensorFaults } from "./check-tensors.ts";
import type { LoraAdapter } from "./lora.ts";
import { lastNamesOf, loraNames, loraProjections } from "./parameters.ts";
import {
  blockOf,
  blockStarts,
  readSplitProjections,
  stackedAdapter,
  unfusedField,
  type StackedAdapter,
  type UnfusedAdapter,
} from "./stacked-adapter.ts";
import { isOfMultimodal, matricesOfTextPart, nameInMultimodal, textPartPattern } from "./config/text-part.ts";
import { storedProjections, type StoredProjection } from "./stored-projections.ts";
import { readSafetensorsHeader } from "../../lib/model-files/safetensors.ts";
import { readFloats, rowsOf, type StoredTensor } from "../../lib/model-files/stored-tensor.ts";
import { writeSafetensors } from "../../lib/model-files/write-safetensors.ts";

const namePrefix = "base_model.model.";

/**
 * Reads an adapter for the given model. Converts modules of other ranks or scales to the adapter's rank and scale: pads
 * their matrices with zeros, and multiplies B by a factor. The matrices of modules that are not adapted are zeros.
 *
 * @throws ServiceError `not_found` if a file is missing, `unsupported` naming every unsupported option, `invalid`
 * naming every missing, unexpected or misshapen matrix
 */
export function readLoraAdapter(folder: string, config: ModelConfig): LoraAdapter {
  const opened = openLoraAdapter(folder, config);
  const { rank, alpha, scale, targets, stored, modules, unfused } = opened;
  const starts = unfused === null ? null : blockStarts(config, unfused);
  const matrices = new Map<string, Float32Array>();
  for (const { path, inputSize, outputSize } of loraProjections(config, targets)) {
    const { a, b } = loraNames(path);
    const module = modules.get(path);
    if (module === undefined) {
      matrices.set(a, new Float32Array(rank * inputSize));
      matrices.set(b, new Float32Array(outputSize * rank));
      continue;
    }
    const [storedA, storedB] = [present(stored.get(a), a), present(stored.get(b), b)];
    if (starts !== null) {
      const start = present(starts.get(path), path);
      matrices.set(a, readFloats(rowsOf(storedA, start, rank)));
      matrices.set(b, readBlock(storedB, { start, rank }));
      continue;
    }
    const [rows, columns] = [readFloats(storedA), readFloats(storedB)];
    matrices.set(a, module.rank === rank ? rows : zeroPad(rows, rank * inputSize));
    const isAlike = module.rank === rank && module.scale === scale;
    matrices.set(b, isAlike ? columns : widened(columns, module, { rank, scale }));
  }
  return { rank, alpha, scale, targets, matrices };
}

/**
 * Reads the block of a fused module's B matrix that belongs to one projection: the projection's own rows and columns.
 *
 * @throws ServiceError `invalid` if other columns of these rows are not zero
 */
export function readBlock(
  b: StoredTensor,
  { start, rank }: { readonly start: number; readonly rank: number },
): Float32Array {
  const block = blockOf(readFloats(b), { stackedRank: b.shape[1], start, rank });
  if (block !== null) return block;
  throw notStackedError(`rows of ${b.name} hold numbers outside their ${rank} columns from ${start} on`);
}

/** An adapter whose matrices are still in the file, not in memory. */
export type StoredLoraAdapter = Omit<LoraAdapter, "matrices"> & {
  /**
   * Matrices by the names of {@link LoraAdapter.matrices}; absent for modules that are not adapted. The projections of
   * a fused module share one A, and each has its own rows of B.
   */
  readonly stored: ReadonlyMap<string, StoredTensor>;
  /** Rank and scale of each projection that has matrices, by the projection's path. */
  readonly modules: ReadonlyMap<string, AdaptedModule>;
  /** Last path components of the modules that have matrices in the file. */
  readonly moduleNames: readonly string[];
  /** Description of the adapter before its projections were stacked into fused modules; null if none is recorded. */
  readonly unfused: UnfusedAdapter | null;
};

/** Like {@link readLoraAdapter}, but does not read the matrices. */
export function openLoraAdapter(folder: string, config: ModelConfig): StoredLoraAdapter {
  const reader = new ConfigReader(readAdapterConfig(folder), "adapter_config.json");
  refuseUnsupportedOptions(reader);
  const found = readMatrices(folder);
  const stored = matricesOfTextPart(found, folder);
  const { alpha, isStabilised, modules } = adaptedModules(reader, config, {
    names: new Set(stored.keys()),
    isTextPart: isOfMultimodal(found),
  });
  const unfused = readSplitProjections(reader, config);
  if (reader.hasFaults) throw reader.error(`The adapter in ${folder} cannot be applied.`);

  const adapted = storedProjections(config).filter(({ path }) => modules.has(path));
  const wanted = adapted.flatMap(({ path, inputSize, outputSize }) => {
    const { rank } = present(modules.get(path), path);
    const { a, b } = loraNames(path);
    return [
      { name: a, shape: [rank, inputSize] },
      { name: b, shape: [outputSize, rank] },
    ];
  });
  const faults =
    stored.size === 0 ? "it has no matrices" : tensorFaults(stored, wanted, { isRedundant: () => false });
  if (faults !== null) {
    throw invalid(`The adapter in ${folder} does not fit the model: ${faults}.`);
  }
  const parts = partsOf(adapted, { stored, modules });
  const moduleNames = lastNamesOf([...modules.keys()]);
  if (unfused !== null) {
    requireStacked(adapted, modules, unfused);
    return { ...unfused, ...parts, moduleNames, unfused };
  }
  const rank = Math.max(...[...modules.values()].map((module) => module.rank));
  const targets = orderedProjections([
    ...new Set(adapted.flatMap((module) => module.parts.map(({ name }) => name))),
  ]);
  return {
    rank,
    alpha,
    scale: loraScale(alpha, rank, isStabilised),
    targets,
    ...parts,
    moduleNames,
    unfused,
  };
}

/** Maps the file's matrices to the decoder's projections; a fused module has several projections. */
function partsOf(
  adapted: readonly StoredProjection[],
  { stored, modules }: Pick<StoredLoraAdapter, "stored" | "modules">,
): Pick<StoredLoraAdapter, "stored" | "modules"> {
  const matrices = new Map<string, StoredTensor>();
  const ownModules = new Map<string, AdaptedModule>();
  for (const { path, parts } of adapted) {
    const whole = loraNames(path);
    const [a, b] = [present(stored.get(whole.a), whole.a), present(stored.get(whole.b), whole.b)];
    for (const { projection, from } of parts) {
      const own = loraNames(projection.path);
      matrices.set(own.a, a);
      matrices.set(own.b, parts.length === 1 ? b : rowsOf(b, from, projection.outputSize));
      ownModules.set(projection.path, present(modules.get(path), path));
    }
  }
  return { stored: matrices, modules: ownModules };
}

/**
 * Requires that each fused module has the scale of its projections, and a rank that is large enough for their stacked
 * matrices.
 */
function requireStacked(
  adapted: readonly StoredProjection[],
  modules: ReadonlyMap<string, AdaptedModule>,
  { rank, scale }: UnfusedAdapter,
): void {
  for (const { path, parts } of adapted) {
    const module = present(modules.get(path), path);
    const isStack = module.rank >= parts.length * rank;
    if (!isStack || Math.abs(module.scale / scale - 1) > 1e-9) {
      throw notStackedError(
        `${path} has rank ${module.rank} and scale ${module.scale}, its parts ${rank} and ${scale}`,
      );
    }
  }
}

function notStackedError(fault: string): ServiceError {
  return invalid(
    `The adapter does not consist of the parts that ${unfusedField} in its adapter_config.json describes: ${fault}. Remove that field to use it unsplit.`,
  );
}

function zeroPad(values: Float32Array, length: number): Float32Array {
  const filled = new Float32Array(length);
  filled.set(values);
  return filled;
}

/** Converts a module's B to the rank and scale of the adapter, so that the module's product stays the same. */
function widened(values: Float32Array, module: AdaptedModule, adapter: AdaptedModule): Float32Array {
  const factor = module.scale / adapter.scale;
  const wide = new Float32Array((values.length / module.rank) * adapter.rank);
  values.forEach((value, index) => {
    wide[Math.floor(index / module.rank) * adapter.rank + (index % module.rank)] = value * factor;
  });
  return wide;
}

/** Writes an adapter. Writes its configuration last, so a folder with a configuration is complete. */
export function writeLoraAdapter(folder: string, adapter: LoraAdapter, options: WriteLoraOptions): void {
  const { config } = options;
  mkdirSync(folder, { recursive: true });
  const stacked = stackedAdapter(config, adapter);
  const ownName = config.isTextPart ? nameInMultimodal : (name: string): string => name;
  const tensors = stacked.tensors.map((tensor) => ({ ...tensor, name: namePrefix + ownName(tensor.name) }));
  writeSafetensors(join(folder, "adapter_model.safetensors"), tensors, { type: "F32" });
  const file = join(folder, "adapter_config.json");
  const isStabilised = adapter.scale !== adapter.alpha / adapter.rank;
  writeFileSync(
    `${file}.partial`,
    `${JSON.stringify(adapterConfig(stacked, { ...options, isStabilised }), null, 2)}\n`,
  );
  renameSync(`${file}.partial`, file);
}

export interface WriteLoraOptions {
  readonly config: ModelConfig;
  /** Name of the base model, written to `base_model_name_or_path`. */
  readonly baseModelName: string;
  /** Hex SHA-256 of the base's weights. PEFT has no field for this hash, so Hone adds one. */
  readonly baseWeights?: string;
}

/**
 * Field in adapter_config.json with the hash of the base weights that the adapter was trained on. Other programs
 * ignore this field.
 */
const baseWeightsField = "base_model_sha256";

/**
 * Returns the recorded hash of the base weights that an adapter was trained on.
 *
 * @returns null if no hash is recorded
 * @throws ServiceError as {@link readLoraAdapter} for a configuration that is missing or not JSON
 */
export function baseWeightsOf(folder: string): string | null {
  const said = readAdapterConfig(folder)[baseWeightsField];
  return typeof said === "string" ? said : null;
}

function refuseUnsupportedOptions(reader: ConfigReader): void {
  const unless = (field: string, harmless: readonly unknown[], cure: string): void => {
    const value = reader.get(field) ?? null;
    const isEmpty = value !== null && typeof value === "object" && Object.keys(value).length === 0;
    if (value !== null && !isEmpty && !harmless.includes(value)) reader.refuse(field, cure);
  };
  if (reader.get("peft_type") !== "LORA") reader.refuse("peft_type", "only LORA is applied");
  unless("bias", ["none"], "trained biases are not applied; train with bias none");
  unless("lora_bias", [false], "biases of the matrices are not applied; train without");
  unless("fan_in_fan_out", [false], "transposed weights are not read; use a model with linear layers");
  unless("task_type", ["CAUSAL_LM"], "only language models are served");
  // PiSSA, OLoRA, CorDA, LoftQ and similar initialisations change the base weights before training, and the folder does
  // not contain the changed weights. Only initialisations that leave the base unchanged are accepted.
  unless(
    "init_lora_weights",
    [true, false, "gaussian", "orthogonal", "eva"],
    "it changes the base model's weights, so the adapter without them is another model; save it with path_initial_model_for_weight_conversion, or merge it",
  );
  for (const field of ["use_dora", "use_qalora", "use_bdlora"])
    unless(field, [false], "only plain LoRA is applied");
  for (const field of [
    "alora_invocation_tokens",
    "arrow_config",
    "kasa_config",
    "velora_config",
    "monteclora_config",
  ]) {
    unless(field, [], "only plain LoRA is applied");
  }
  unless("modules_to_save", [], "whole trained modules are not applied; train the projections only");
  unless("trainable_token_indices", [], "trained embeddings are not applied; train the projections only");
  unless(
    "target_parameters",
    [],
    "weights of experts are not adapted here; train projections of attention, such as q_proj, and of dense layers",
  );
  unless("layer_replication", [], "layers cannot be replicated; train without this option");
}

function readAdapterConfig(folder: string): JsonObject {
  const file = join(folder, "adapter_config.json");
  if (!existsSync(file)) throw missing(file);
  try {
    return JSON.parse(readFileSync(file, "utf8")) as JsonObject;
  } catch (cause) {
    throw new ServiceError({ code: "invalid", message: `${file} is not valid JSON; copy it again.`, cause });
  }
}

/** Returns the matrices in the file by their names without PEFT's prefix. */
function readMatrices(folder: string): ReadonlyMap<string, StoredTensor> {
  const file = join(folder, "adapter_model.safetensors");
  if (!existsSync(file)) throw missing(file);
  const matrices = new Map<string, StoredTensor>();
  for (const [name, tensor] of readSafetensorsHeader(file).tensors) {
    matrices.set(name.startsWith(namePrefix) ? name.slice(namePrefix.length) : name, tensor);
  }
  return matrices;
}

function adapterConfig(
  { rank, alpha, moduleNames, unfused }: StackedAdapter,
  options: WriteLoraOptions & { readonly isStabilised: boolean },
): JsonObject {
  const { config, baseModelName, baseWeights, isStabilised } = options;
  return {
    alpha_pattern: {},
    auto_mapping: null,
    base_model_name_or_path: baseModelName,
    ...(baseWeights === undefined ? {} : { [baseWeightsField]: baseWeights }),
    bias: "none",
    fan_in_fan_out: false,
    inference_mode: true,
    init_lora_weights: true,
    layers_pattern: null,
    layers_to_transform: null,
    lora_alpha: alpha,
    lora_dropout: 0,
    modules_to_save: null,
    peft_type: "LORA",
    r: rank,
    rank_pattern: {},
    revision: null,
    target_modules: config.isTextPart ? textPartPattern(moduleNames) : moduleNames,
    task_type: "CAUSAL_LM",
    use_dora: false,
    use_rslora: isStabilised,
    ...(unfused === null ? {} : { [unfusedField]: unfused }),
  };
}

function missing(file: string): ServiceError {
  return new ServiceError({
    code: "not_found",
    message: `${file} does not exist; an adapter is a folder in the PEFT layout with safetensors.`,
  });
}
