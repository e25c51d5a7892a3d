// Splits the fused projections of queries, keys and values that llama.cpp's converter writes with `--fuse-qkv`. Their
// rows follow one another, so each part is a section of the fused tensor. Families whose Hugging Face layout is fused
// too are not split.
import type { StoredTensor } from "../stored-tensor.ts";
import type { GgufValue } from "./type-numbers.ts";

interface ReadFile {
  readonly metadata: ReadonlyMap<string, GgufValue>;
  readonly tensors: ReadonlyMap<string, StoredTensor>;
}

/** Architectures whose models have fused projections in the Hugging Face layout. */
const fusedEverywhere: ReadonlySet<unknown> = new Set(["phi3"]);

/** Returns the file with a tensor for each of the three projections. Tensors of unexpected sizes are unchanged. */
export function splitFusedProjections<File extends ReadFile>(file: File): File {
  if (fusedEverywhere.has(file.metadata.get("general.architecture"))) return file;
  const tensors = [...file.tensors.values()].flatMap((tensor) => partsOf(tensor, file));
  return { ...file, tensors: new Map(tensors.map((tensor) => [tensor.name, tensor])) };
}

function partsOf(tensor: StoredTensor, file: ReadFile): readonly StoredTensor[] {
  const found = /^(?<layer>blk\.(?<index>\d+))\.attn_qkv\.(?<kind>weight|bias)$/.exec(tensor.name)?.groups;
  // In layers with a convolution, the tensor has this name but belongs to a delta rule.
  if (found === undefined || file.tensors.has(`${found["layer"]}.ssm_conv1d.weight`)) return [tensor];
  const [rows] = tensor.shape;
  const kvRows = keyRows(file, Number(found["index"]));
  if (!(kvRows > 0 && Number.isInteger(kvRows) && 2 * kvRows < rows)) return [tensor];
  const queryRows = rows - 2 * kvRows;
  const rowBytes = tensor.byteLength / rows;
  const part = (letter: string, first: number, count: number): StoredTensor => ({
    ...tensor,
    name: `${found["layer"]}.attn_${letter}.${found["kind"]}`,
    shape: [count, ...tensor.shape.slice(1)],
    offset: tensor.offset + first * rowBytes,
    byteLength: count * rowBytes,
  });
  return [part("q", 0, queryRows), part("k", queryRows, kvRows), part("v", queryRows + kvRows, kvRows)];
}

/** Returns the number of rows of a layer's keys, NaN if the file does not say. */
function keyRows({ metadata, tensors }: ReadFile, layer: number): number {
  const value = (name: string): unknown =>
    metadata.get(`${String(metadata.get("general.architecture"))}.${name}`);
  const first = value("attention.head_count_kv") ?? value("attention.head_count");
  const heads: unknown = Array.isArray(first) ? first[layer] : first;
  // If sliding layers have heads of another size, the norm of the keys has a layer's size.
  const norm = tensors.get(`blk.${layer}.attn_k_norm.weight`)?.shape[0];
  const headSize =
    (value("attention.key_length_swa") !== undefined ? norm : undefined) ??
    value("attention.key_length") ??
    Number(value("embedding_length")) / Number(value("attention.head_count"));
  return Number(heads) * Number(headSize);
}
