// Plans the export of a version: either its PEFT folder unchanged, or its base model's folder with the adapter merged
// into the weights. A plan refers to ranges of files, which are read only when they are sent. Weights in a GGUF file
// are exported as safetensors.
import { readdirSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { present } from "../../../base/domain/assert.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { Architecture } from "../../architectures/config.ts";
import { requireAdapter } from "../../architectures/hashes/adapter-hash.ts";
import type { AdaptedModule } from "../../architectures/config/adapted-modules.ts";
import { readModelConfig } from "../../architectures/config/read-config.ts";
import { loraNames, loraProjections } from "../../architectures/parameters.ts";
import { openLoraAdapter, type StoredLoraAdapter } from "../../architectures/peft-folder.ts";
import { parameterTensors } from "../../architectures/stored-projections.ts";
import { isDerivedFromGguf } from "../../../lib/model-files/gguf/gguf-model.ts";
import { rowsOf, rowsReadTogether, type StoredTensor } from "../../../lib/model-files/stored-tensor.ts";
import { readStoredTensors, weightFilesOf } from "../../../lib/model-files/weight-files.ts";
import { safetensorsHeader, writtenBytes } from "../../../lib/model-files/write-safetensors.ts";
import { exportedType, type MatricesToMerge, type RowsToMerge } from "./merge-rows.ts";

/** Format of exported files: `peft` for libraries that load adapters, `merged` for libraries that load models. */
export type ExportFormat = "peft" | "merged";

/** Consecutive bytes of an exported file: given in the plan, copied from a file, or computed as merged rows. */
export type FilePart =
  | { readonly kind: "made"; readonly bytes: Uint8Array }
  | { readonly kind: "copied"; readonly file: string; readonly start: number; readonly end: number }
  | { readonly kind: "merged"; readonly rows: RowsToMerge };

export interface PlannedFile {
  readonly name: string;
  readonly byteCount: number;
  readonly parts: readonly FilePart[];
}

export interface ExportPlanRequest {
  readonly format: ExportFormat;
  readonly baseFolder: string;
  /** Folder of the adapter; null for the base itself, which has no adapter. */
  readonly adapterFolder: string | null;
  /** Hex SHA-256 of the adapter's files; null if no hash was recorded. */
  readonly adapterHash: string | null;
}

/**
 * Plans the files of a version.
 *
 * @throws ServiceError as `requireAdapter`, `openLoraAdapter` and `readStoredTensors`
 */
export function planExport(request: ExportPlanRequest): readonly PlannedFile[] {
  const { format, baseFolder, adapterFolder } = request;
  if (adapterFolder !== null) requireAdapter(adapterFolder, request.adapterHash);
  if (format === "merged") return planMerged(baseFolder, adapterFolder);
  const folder = present(adapterFolder, "a PEFT folder");
  return ["adapter_config.json", "adapter_model.safetensors"].map((name) => copied(join(folder, name)));
}

/** Maximum size in bytes of the rows that are merged at a time. A single row may be larger. */
const partBytesMax = 1 << 22;

/** Classes whose folders fuse or name tensors in other ways than GGUF files. */
const ggufOnlyNames: readonly Architecture[] = ["GraniteMoeHybridForCausalLM", "NemotronHForCausalLM"];

/** @throws ServiceError `unsupported` for a GGUF file whose tensors do not fit the class's layout */
function requireFolderNames(baseFolder: string): void {
  const { architecture } = readModelConfig(baseFolder);
  if (!ggufOnlyNames.includes(architecture)) return;
  throw new ServiceError({
    code: "unsupported",
    message: `The base model is a GGUF file of ${architecture}, which has other tensors than a folder of this class. Export the version in the format peft, or train on the model's folder.`,
  });
}

function planMerged(baseFolder: string, adapterFolder: string | null): readonly PlannedFile[] {
  if (isDerivedFromGguf(baseFolder)) requireFolderNames(baseFolder);
  const tensors = readStoredTensors(baseFolder);
  const merges = adapterFolder === null ? [] : mergesOf({ baseFolder, adapterFolder, tensors });
  const weightFiles = isDerivedFromGguf(baseFolder)
    ? [convertedFile([...tensors.values()], merges)]
    : weightFilesOf(baseFolder).map((file) => mergedFile(file, merges));
  const others = filesBeside(
    baseFolder,
    weightFiles.map(({ name }) => name),
  );
  return [...others.map(copied), ...weightFiles];
}

/** A range of rows of a weight, and the adapter to merge into them. */
interface Merge {
  readonly weight: StoredTensor;
  readonly adapter: MatricesToMerge;
}

function mergesOf({
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
 * Plans a file of weights. The file is copied with its header, except for the weights into which the adapter is merged.
 */
function mergedFile(file: string, merges: readonly Merge[]): PlannedFile {
  const { name, byteCount } = copied(file);
  const parts: FilePart[] = [];
  let end = 0;
  const copyUntil = (offset: number): void => {
    if (offset > end) parts.push({ kind: "copied", file, start: end, end: offset });
  };
  for (const { weight, adapter } of inOrder(merges.filter(({ weight }) => weight.file === file))) {
    copyUntil(weight.offset);
    parts.push(...inParts(weight, adapter));
    end = weight.offset + weight.byteLength;
  }
  copyUntil(byteCount);
  return { name, byteCount, parts };
}

/** Plans one file for all weights. Each weight has the type that represents its values exactly. */
function convertedFile(tensors: readonly StoredTensor[], merges: readonly Merge[]): PlannedFile {
  const written = tensors.map((tensor) => ({
    name: tensor.name,
    shape: tensor.shape,
    type: exportedType(tensor),
  }));
  const header = safetensorsHeader(written);
  return {
    name: "model.safetensors",
    byteCount: written.reduce((bytes, tensor) => bytes + writtenBytes(tensor), header.length),
    parts: [{ kind: "made", bytes: header }, ...tensors.flatMap((tensor) => convertedParts(tensor, merges))],
  };
}

/**
 * Plans the bytes of one tensor. An adapter may apply to only some of its rows, so merged and unchanged rows may
 * alternate.
 */
function convertedParts(tensor: StoredTensor, merges: readonly Merge[]): readonly FilePart[] {
  const { file, offset, byteLength, shape } = tensor;
  const isWithin = ({ weight }: Merge): boolean =>
    weight.file === file && weight.offset >= offset && weight.offset < offset + byteLength;
  const within = inOrder(merges.filter(isWithin));
  if (within.length === 0) return inParts(tensor, null);
  const parts: FilePart[] = [];
  let row = 0;
  for (const { weight, adapter } of within) {
    const from = (weight.offset - offset) / (byteLength / shape[0]);
    if (from > row) parts.push(...inParts(rowsOf(tensor, row, from - row), null));
    parts.push(...inParts(weight, adapter));
    row = from + weight.shape[0];
  }
  if (row < shape[0]) parts.push(...inParts(rowsOf(tensor, row, shape[0] - row), null));
  return parts;
}

function inOrder(merges: readonly Merge[]): readonly Merge[] {
  return merges.toSorted((one, other) => one.weight.offset - other.weight.offset);
}

function inParts(weight: StoredTensor, adapter: MatricesToMerge | null): readonly FilePart[] {
  const { shape } = weight;
  const rowCount = shape.length === 1 ? 1 : shape[0];
  const together = shape.length === 1 ? 1 : rowsReadTogether(weight);
  const bytes = writtenBytes({ shape, type: exportedType(weight) });
  const rowsAtOnce = Math.max(1, Math.floor(partBytesMax / ((bytes / rowCount) * together))) * together;
  return Array.from({ length: Math.ceil(rowCount / rowsAtOnce) }, (_, index) => {
    const from = index * rowsAtOnce;
    return {
      kind: "merged",
      rows: { weight, adapter, from, count: Math.min(rowsAtOnce, rowCount - from) },
    };
  });
}

/**
 * Matches names of files that belong to a model but do not depend on its weights: configuration, tokenizer, templates
 * and licences.
 */
const belongs =
  /^(?!\.|adapter_config\.json$|.*\.gguf\.json$).*\.(json|jinja|txt|model|tiktoken)$|^(LICENSE|NOTICE)/;

function filesBeside(folder: string, weightFiles: readonly string[]): readonly string[] {
  const isSharded = !weightFiles.includes("model.safetensors");
  return readdirSync(folder)
    .filter((name) => belongs.test(name))
    .filter((name) => !name.endsWith(".index.json") || (isSharded && name === "model.safetensors.index.json"))
    .map((name) => join(folder, name))
    .filter((file) => statSync(file).isFile());
}

function copied(file: string): PlannedFile {
  const byteCount = statSync(file).size;
  return { name: basename(file), byteCount, parts: [{ kind: "copied", file, start: 0, end: byteCount }] };
}
