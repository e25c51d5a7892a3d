// Maps the decoder's projections to the matrices in files of models and adapters. Most model classes store one matrix
// per projection. Some fuse queries, keys and values into one matrix, or gate and up, by putting their rows one after
// another.
import { present } from "../../base/domain/assert.ts";
import type { ProjectionName } from "../../base/domain/model.ts";
import { rowsOf, type StoredTensor } from "../../lib/model-files/stored-tensor.ts";
import type { ModelConfig } from "./config.ts";
import { hasFusedMatrices, moduleNames } from "./module-names.ts";
import {
  modelParameters,
  projection,
  projectionsOf,
  type ParameterSpec,
  type Projection,
} from "./parameters.ts";

/** A matrix in a file, and the projections that it holds, in the order of their rows. */
export interface StoredProjection {
  /** Path of the module, such as `model.layers.0.self_attn.qkv_proj`. */
  readonly path: string;
  readonly inputSize: number;
  /** Total output size of all projections in the matrix. */
  readonly outputSize: number;
  readonly parts: readonly StoredPart[];
}

export interface StoredPart {
  readonly name: ProjectionName;
  readonly projection: Projection;
  /** Index of the projection's first row in the matrix. */
  readonly from: number;
}

/** Returns the matrices that files store for the projections of all layers, in a fixed order. */
export function storedProjections(config: ModelConfig): readonly StoredProjection[] {
  const matrices = Object.entries(moduleNames(config.architecture).matrices);
  return config.layers.flatMap((layerConfig, layer) => {
    const own = projectionsOf(layerConfig);
    return matrices
      .filter(([, members]) => members.every((member) => own.includes(member)))
      .map(([path, members]) =>
        storedProjection(`model.layers.${layer}.${path}`, members, { config, layer }),
      );
  });
}

function storedProjection(
  path: string,
  members: readonly ProjectionName[],
  { config, layer }: { readonly config: ModelConfig; readonly layer: number },
): StoredProjection {
  let outputSize = 0;
  const parts = members.map((member): StoredPart => {
    const part = projection(config, layer, member);
    const from = outputSize;
    outputSize += part.outputSize;
    return { name: member, projection: part, from };
  });
  const { inputSize } = present(parts[0], "a matrix has parts").projection;
  return { path, inputSize, outputSize, parts };
}

/**
 * Returns the tensors of a model's files, in the order of {@link modelParameters}.
 *
 * @param found names of tensors in the files. GGUF files store some matrices in parts that other files fuse
 */
export function storedParameters(
  config: ModelConfig,
  found: Pick<ReadonlySet<string>, "has">,
): readonly ParameterSpec[] {
  const parameters = modelParameters(config);
  if (!hasFusedMatrices(config.architecture)) return parameters;
  const whole = new Map<string, ParameterSpec | null>();
  for (const { path, inputSize, outputSize, parts } of storedProjections(config)) {
    if (parts.length === 1 || found.has(`${parts[0].projection.path}.weight`)) continue;
    for (const part of parts) whole.set(`${part.projection.path}.weight`, null);
    whole.set(`${parts[0].projection.path}.weight`, {
      name: `${path}.weight`,
      shape: [outputSize, inputSize],
    });
  }
  return parameters.flatMap((parameter) => {
    const stored = whole.get(parameter.name);
    return stored === undefined ? [parameter] : stored === null ? [] : [stored];
  });
}

/**
 * Renames the tensors of {@link storedParameters} to the names of {@link modelParameters}. Each projection of a fused
 * matrix becomes a view of the matrix's rows; all other tensors are unchanged.
 */
export function parameterTensors(
  stored: ReadonlyMap<string, StoredTensor>,
  config: ModelConfig,
): ReadonlyMap<string, StoredTensor> {
  if (!hasFusedMatrices(config.architecture)) return stored;
  const tensors = new Map(stored);
  for (const { path, parts } of storedProjections(config)) {
    if (parts.length === 1) continue;
    const name = `${path}.weight`;
    if (stored.has(`${parts[0].projection.path}.weight`)) continue;
    const whole = present(stored.get(name), name);
    tensors.delete(name);
    for (const { projection: part, from } of parts) {
      const own = `${part.path}.weight`;
      tensors.set(own, { ...rowsOf(whole, from, part.outputSize), name: own });
    }
  }
  return tensors;
}
