// LoRA adapters as folders in the PEFT layout: adapter_config.json and adapter_model.safetensors, which PEFT and vLLM load.
// What is not applied here is refused by name, so that an adapter never runs as another one.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { projectionNames } from "../domain/model.ts";
import { present } from "../domain/assert.ts";
import { ServiceError } from "../domain/service-error.ts";
import type { ModelConfig } from "./config.ts";
import { adaptedModules, loraScale, type AdaptedModule } from "./config/adapted-modules.ts";
import { ConfigReader, type JsonObject } from "./config/config-reader.ts";
import { tensorFaults } from "./check-tensors.ts";
import type { LoraAdapter } from "./lora.ts";
import { loraNames, loraParameters, loraProjections } from "./parameters.ts";
import { readSafetensorsHeader } from "../model-files/safetensors.ts";
import { readFloats, type StoredTensor } from "../model-files/stored-tensor.ts";
import { writeSafetensors } from "../model-files/write-safetensors.ts";

const namePrefix = "base_model.model.";

/**
 * Reads an adapter for the given model. Modules of other ranks and scales are brought to those of the adapter: rows and
 * columns of zeros are added, and B is multiplied. What is not adapted is zeros.
 *
 * @throws ServiceError `not_found` when a file is missing, `unsupported` naming every option that is not applied here,
 * `invalid` naming every missing, unexpected or misshapen matrix
 */
export function readLoraAdapter(folder: string, config: ModelConfig): LoraAdapter {
  const { stored, modules, ...adapter } = openLoraAdapter(folder, config);
  const { rank, scale, targets } = adapter;
  const matrices = new Map<string, Float32Array>();
  for (const { path, inputSize, outputSize } of loraProjections(config, targets)) {
    const { a, b } = loraNames(path);
    const module = modules.get(path);
    if (module === undefined) {
      matrices.set(a, new Float32Array(rank * inputSize));
      matrices.set(b, new Float32Array(outputSize * rank));
      continue;
    }
    const [rows, columns] = [readFloats(present(stored.get(a), a)), readFloats(present(stored.get(b), b))];
    matrices.set(a, module.rank === rank ? rows : withZeros(rows, rank * inputSize));
    const isAlike = module.rank === rank && module.scale === scale;
    matrices.set(b, isAlike ? columns : widened(columns, module, { rank, scale }));
  }
  return { ...adapter, matrices };
}

/** An adapter whose matrices lie in their file. */
export type StoredLoraAdapter = Omit<LoraAdapter, "matrices"> & {
  /** By the names of {@link LoraAdapter.matrices}; those that are not adapted are not there. */
  readonly stored: ReadonlyMap<string, StoredTensor>;
  /** By the path of each module that has matrices, in the order of `loraProjections`, its own rank and scale. */
  readonly modules: ReadonlyMap<string, AdaptedModule>;
};

/** As {@link readLoraAdapter}, without reading the matrices. */
export function openLoraAdapter(folder: string, config: ModelConfig): StoredLoraAdapter {
  const reader = new ConfigReader(readAdapterConfig(folder), "adapter_config.json");
  refuseWhatIsNotApplied(reader);
  const stored = readMatrices(folder);
  const { alpha, isStabilised, modules } = adaptedModules(reader, config, new Set(stored.keys()));
  if (reader.hasFaults) throw reader.error(`The adapter in ${folder} cannot be applied.`);

  const all = loraProjections(config, projectionNames);
  const wanted = all.flatMap(({ path, inputSize, outputSize }) => {
    const rank = modules.get(path)?.rank;
    if (rank === undefined) return [];
    const { a, b } = loraNames(path);
    return [
      { name: a, shape: [rank, inputSize] },
      { name: b, shape: [outputSize, rank] },
    ];
  });
  const faults = stored.size === 0 ? "it has no matrices" : tensorFaults(stored, wanted, () => false);
  if (faults !== null) {
    throw new ServiceError({
      code: "invalid",
      message: `The adapter in ${folder} does not fit the model: ${faults}.`,
    });
  }
  const rank = Math.max(...[...modules.values()].map((module) => module.rank));
  const targets = projectionNames.filter((name) =>
    [...modules.keys()].some((path) => path.endsWith(`.${name}`)),
  );
  return { rank, alpha, scale: loraScale(alpha, rank, isStabilised), targets, stored, modules };
}

/** The values, and zeros behind them. */
function withZeros(values: Float32Array, length: number): Float32Array {
  const filled = new Float32Array(length);
  filled.set(values);
  return filled;
}

/** The matrix B of a module, such that with the adapter's rank and scale it does what it did with its own. */
function widened(values: Float32Array, module: AdaptedModule, adapter: AdaptedModule): Float32Array {
  const factor = module.scale / adapter.scale;
  const wide = new Float32Array((values.length / module.rank) * adapter.rank);
  values.forEach((value, index) => {
    wide[Math.floor(index / module.rank) * adapter.rank + (index % module.rank)] = value * factor;
  });
  return wide;
}

/** Writes an adapter; the configuration comes last, so that a folder which has one is whole. */
export function writeLoraAdapter(folder: string, adapter: LoraAdapter, options: WriteLoraOptions): void {
  const { config } = options;
  mkdirSync(folder, { recursive: true });
  const tensors = loraParameters(config, adapter).map(({ name, shape }) => ({
    name: namePrefix + name,
    shape,
    data: present(adapter.matrices.get(name), name),
  }));
  writeSafetensors(join(folder, "adapter_model.safetensors"), tensors, { type: "F32" });
  const file = join(folder, "adapter_config.json");
  writeFileSync(`${file}.partial`, `${JSON.stringify(adapterConfig(adapter, options), null, 2)}\n`);
  renameSync(`${file}.partial`, file);
}

export interface WriteLoraOptions {
  readonly config: ModelConfig;
  /** What `base_model_name_or_path` says. */
  readonly baseModelName: string;
  /** Hex SHA-256 of the base's weights, which PEFT has no field for. */
  readonly baseWeights?: string;
}

/** In adapter_config.json, the weights that the adapter was trained over. Programs that do not know it leave it aside. */
const baseWeightsField = "base_model_sha256";

/**
 * The weights that an adapter says it was trained over.
 *
 * @returns null where it does not say
 * @throws ServiceError as {@link readLoraAdapter} for a configuration that is missing or no JSON
 */
export function baseWeightsOf(folder: string): string | null {
  const said = readAdapterConfig(folder)[baseWeightsField];
  return typeof said === "string" ? said : null;
}

function refuseWhatIsNotApplied(reader: ConfigReader): void {
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
  // PiSSA, OLoRA, CorDA, LoftQ and their like start from other base weights, which the folder does not hold.
  unless(
    "init_lora_weights",
    [true, false, "gaussian", "orthogonal", "eva"],
    "it changes the base model's weights, and the adapter alone is another model; save it with path_initial_model_for_weight_conversion, or merge it",
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
  unless("target_parameters", [], "only the seven projections are adapted");
  unless("layer_replication", [], "layers are as the base model has them; train without");
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

/** The matrices by their names without PEFT's prefix. */
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
  adapter: LoraAdapter,
  { baseModelName, baseWeights }: Omit<WriteLoraOptions, "config">,
): JsonObject {
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
    lora_alpha: adapter.alpha,
    lora_dropout: 0,
    modules_to_save: null,
    peft_type: "LORA",
    r: adapter.rank,
    rank_pattern: {},
    revision: null,
    target_modules: adapter.targets,
    task_type: "CAUSAL_LM",
    use_dora: false,
    use_rslora: adapter.scale !== adapter.alpha / adapter.rank,
  };
}

function missing(file: string): ServiceError {
  return new ServiceError({
    code: "not_found",
    message: `${file} does not exist; an adapter is a folder in the PEFT layout with safetensors.`,
  });
}
