// Divides the tensors of an exported model into parts of several rows. Each part is read, merged with an adapter and
// encoded before the next.
import { isDeepStrictEqual } from "node:util";
import { present } from "../../../base/domain/assert.ts";
import type { AdaptedModule } from "../../architectures/config/adapted-modules.ts";
import { readModelConfig } from "../../architectures/config/read-config.ts";
import { loraNames, loraProjections } from "../../architectures/parameters.ts";
import { openLoraAdapter, type StoredLoraAdapter } from "../../architectures/peft-folder.ts";
import { parameterTensors } from "../../architectures/stored-projections.ts";
import { rowsOf, rowsReadTogether, type StoredTensor } from "../../../lib/model-files/stored-tensor.ts";
import type { MatricesToMerge, RowsToMerge, WrittenRows } from "./merge-rows.ts";

/** Consecutive bytes of an exported file: given in the plan, copied from a file, or computed as merged rows. */
export type FilePart =
  | { readonly kind: "made"; readonly bytes: Uint8Array }
  | { readonly kind: "copied"; readonly file: string; readonly start: number; readonly end: number }
  | { readonly kind: "merged"; readonly rows: RowsToMerge };

/** A file of an export, which is read and computed only when it is sent. */
export interface PlannedFile {
  readonly name: string;
  readonly byteCount: number;
  readonly parts: readonly FilePart[];
}

/** Maximum size in bytes of the rows that are merged at a time, in float32. A single row may be larger. */
const partBytesMax = 1 << 22;

/** A range of rows of a weight, and the adapter to merge into them. */
export interface Merge {
  readonly weight: StoredTensor;
  readonly adapter: MatricesToMerge;
}

/** Returns the weights that an adapter changes, in the order of its projections. */
export function mergesOf({
  baseFolder,
  adapterFolder,
  tensors,
}: {
  readonly baseFolder: string;
  readonly adapterFolder: string;
  readonly tensors: ReadonlyMap<string, StoredTensor>;
}): readonly Merge[] {
  const config = readModelConfig(baseFolder);
  const adapter = openLoraAdapter(adapterFolder, config);
  const weights = parameterTensors(tensors, config);
  return loraProjections(config, adapter.targets).flatMap(({ path }) => {
    const module = adapter.modules.get(path);
    if (module === undefined) return [];
    const name = `${path}.weight`;
    return [{ weight: present(weights.get(name), name), adapter: matricesOf(adapter, path, module) }];
  });
}

function matricesOf({ stored }: StoredLoraAdapter, path: string, { scale }: AdaptedModule): MatricesToMerge {
  const names = loraNames(path);
  return { a: present(stored.get(names.a), names.a), b: present(stored.get(names.b), names.b), scale };
}

/**
 * Plans the bytes of one tensor. An adapter may apply to only some of its rows, so merged and unchanged rows may
 * alternate. Bytes that stay the same are copied.
 */
export function tensorParts(
  tensor: StoredTensor,
  written: WrittenRows,
  merges: readonly Merge[],
): readonly FilePart[] {
  const within = inOrder(merges.filter(isWithin(tensor)));
  if (within.length === 0)
    return isStoredSo(tensor, written) ? [copyOf(tensor)] : inParts(tensor, null, written);
  const { offset, byteLength, shape } = tensor;
  const parts: FilePart[] = [];
  let row = 0;
  for (const { weight, adapter } of within) {
    const from = (weight.offset - offset) / (byteLength / shape[0]);
    if (from > row) parts.push(...inParts(rowsOf(tensor, row, from - row), null, written));
    parts.push(...inParts(weight, adapter, written));
    row = from + weight.shape[0];
  }
  if (row < shape[0]) parts.push(...inParts(rowsOf(tensor, row, shape[0] - row), null, written));
  return parts;
}

/** Returns a function that is true for merges that change rows of the tensor. */
export function isWithin({ file, offset, byteLength }: StoredTensor): (merge: Merge) => boolean {
  return ({ weight }) =>
    weight.file === file && weight.offset >= offset && weight.offset < offset + byteLength;
}

/** True if the tensor's file already has exactly the bytes to be written. */
function isStoredSo({ type, rearranged, pieces, blockScales }: StoredTensor, written: WrittenRows): boolean {
  if (pieces !== undefined || blockScales !== undefined) return false;
  return type === written.type && isDeepStrictEqual(rearranged, written.rearranged);
}

function copyOf({ file, offset, byteLength }: StoredTensor): FilePart {
  return { kind: "copied", file, start: offset, end: offset + byteLength };
}

export function inOrder(merges: readonly Merge[]): readonly Merge[] {
  return merges.toSorted((one, other) => one.weight.offset - other.weight.offset);
}

/** Divides a weight into parts of whole rows. Rows lie along the last axis; a vector is one row. */
export function inParts(
  weight: StoredTensor,
  adapter: MatricesToMerge | null,
  written: WrittenRows,
): readonly FilePart[] {
  const { shape } = weight;
  const width = shape.at(-1) ?? 1;
  const rowCount = shape.slice(0, -1).reduce((product, size) => product * size, 1);
  const matrix = shape.length < 2 ? weight : { ...weight, shape: [rowCount, width] };
  const { rearranged } = written;
  const together =
    shape.length < 2
      ? 1
      : Math.max(
          rowsReadTogether(matrix),
          rearranged === undefined ? 1 : rowsReadTogether({ ...matrix, rearranged }),
        );
  const rowsAtOnce = Math.max(1, Math.floor(partBytesMax / (4 * width * together))) * together;
  return Array.from({ length: Math.ceil(rowCount / rowsAtOnce) }, (_, index) => {
    const from = index * rowsAtOnce;
    const count = Math.min(rowsAtOnce, rowCount - from);
    return { kind: "merged", rows: { weight: matrix, adapter, written, from, count } };
  });
}
