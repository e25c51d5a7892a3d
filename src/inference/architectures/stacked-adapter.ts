// Converts adapters between separate projections and the fused projections of some models' files, without loss: the
// projections' A matrices are stacked, and their B matrices become blocks on a diagonal. Every module gets the largest
// rank, filled up with zeros, because programs that load adapters expect one rank and scale for all modules.
import { present } from "../../base/domain/assert.ts";
import { orderedProjections, projectionNames, type ProjectionName } from "../../base/domain/model.ts";
import type { NamedTensor } from "../../lib/model-files/write-safetensors.ts";
import { loraScale } from "./config/adapted-modules.ts";
import type { ConfigReader, JsonObject } from "./config/config-reader.ts";
import type { ModelConfig } from "./config.ts";
import type { LoraAdapter } from "./lora.ts";
import { hasFusedMatrices } from "./module-names.ts";
import { lastNamesOf, loraNames } from "./parameters.ts";
import { storedProjections, type StoredProjection } from "./stored-projections.ts";

/** Rank, alpha and projections of an adapter before it was stacked. */
export interface UnfusedAdapter {
  readonly rank: number;
  readonly alpha: number;
  readonly scale: number;
  readonly targets: readonly ProjectionName[];
}

/**
 * Field of adapter_config.json that describes the adapter before it was stacked. Programs other than Hone ignore it.
 */
export const unfusedField = "unfused_adapter";

export interface StackedAdapter {
  readonly rank: number;
  readonly alpha: number;
  /** Last path components of the modules, such as `qkv_proj`. */
  readonly moduleNames: readonly string[];
  /** LoRA matrices of all modules, A before B, by the names of `loraNames`. */
  readonly tensors: readonly NamedTensor[];
  /** Value of the field {@link unfusedField}; null if nothing was stacked. */
  readonly unfused: JsonObject | null;
}

/** Converts an adapter to the layout of the model's files, where several projections may share a matrix. */
export function stackedAdapter(config: ModelConfig, adapter: LoraAdapter): StackedAdapter {
  const { targets, alpha } = adapter;
  const modules = storedProjections(config).filter(({ parts }) =>
    parts.some(({ name }) => targets.includes(name)),
  );
  const partCount = partCountOf(modules);
  const isStabilised = adapter.scale !== alpha / adapter.rank;
  return {
    rank: partCount * adapter.rank,
    alpha: alpha * (isStabilised ? Math.sqrt(partCount) : partCount),
    moduleNames: lastNamesOf(modules.map(({ path }) => path)),
    tensors: modules.flatMap((module) => stackedMatrices(module, adapter, partCount * adapter.rank)),
    unfused:
      partCount === 1
        ? null
        : { r: adapter.rank, lora_alpha: alpha, use_rslora: isStabilised, target_modules: targets },
  };
}

function partCountOf(modules: readonly StoredProjection[]): number {
  return Math.max(...modules.map(({ parts }) => parts.length));
}

function stackedMatrices(
  { path, inputSize, outputSize, parts }: StoredProjection,
  { rank, matrices }: LoraAdapter,
  stackedRank: number,
): readonly NamedTensor[] {
  const a = new Float32Array(stackedRank * inputSize);
  const b = new Float32Array(outputSize * stackedRank);
  for (const [index, { projection, from }] of parts.entries()) {
    const names = loraNames(projection.path);
    const [own_RD, own_OR] = [matrices.get(names.a), matrices.get(names.b)];
    if (own_RD === undefined) continue;
    a.set(own_RD, index * rank * inputSize);
    const columns = present(own_OR, names.b);
    for (let row = 0; row < projection.outputSize; row++) {
      const place = (from + row) * stackedRank + index * rank;
      b.set(columns.subarray(row * rank, (row + 1) * rank), place);
    }
  }
  const names = loraNames(path);
  return [
    { name: names.a, shape: [stackedRank, inputSize], data: a },
    { name: names.b, shape: [outputSize, stackedRank], data: b },
  ];
}

/** Reads {@link unfusedField} of adapter_config.json; adds faults to `reader`. Returns null if the field is absent. */
export function readSplitProjections(reader: ConfigReader, config: ModelConfig): UnfusedAdapter | null {
  const fields = hasFusedMatrices(config.architecture) ? reader.object(unfusedField) : null;
  if (fields === null) return null;
  const named = fields.get("target_modules");
  const targets = projectionNames.filter((name) => Array.isArray(named) && named.includes(name));
  if (targets.length === 0)
    fields.refuse("target_modules", `names of ${projectionNames.join(", ")} are needed`);
  const [rank, alpha] = [fields.count("r"), fields.number("lora_alpha")];
  const scale = loraScale(alpha, rank, fields.flag("use_rslora", false));
  return { rank, alpha, scale, targets: orderedProjections(targets) };
}

/**
 * Returns, for each projection, the start of its block in the matrices of its module: the first row of A, which is also
 * the first column of B.
 */
export function blockStarts(config: ModelConfig, { rank }: UnfusedAdapter): ReadonlyMap<string, number> {
  return new Map(
    storedProjections(config).flatMap(({ parts }) =>
      parts.map(({ projection }, index) => [projection.path, index * rank] as const),
    ),
  );
}

/**
 * Extracts the columns of one projection from some rows of its module's B matrix.
 *
 * @returns null if the rows' other columns are not zero
 */
export function blockOf(
  rows: Float32Array,
  {
    stackedRank,
    start,
    rank,
  }: { readonly stackedRank: number; readonly start: number; readonly rank: number },
): Float32Array | null {
  const rowCount = rows.length / stackedRank;
  const block = new Float32Array(rowCount * rank);
  for (let row = 0; row < rowCount; row++) {
    const whole = rows.subarray(row * stackedRank, (row + 1) * stackedRank);
    const isOutside = (value: number, column: number): boolean =>
      value !== 0 && (column < start || column >= start + rank);
    if (whole.some(isOutside)) return null;
    block.set(whole.subarray(start, start + rank), row * rank);
  }
  return block;
}
