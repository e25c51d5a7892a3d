// What a version is made of as files: its PEFT folder as it lies, or its base model's folder with the adapter in the weights.
// A plan names places in files; the bytes are read as they are sent.
import { readdirSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { present } from "../domain/assert.ts";
import { requireAdapter } from "../model/hashes/adapter-hash.ts";
import type { AdaptedModule } from "../model/config/adapted-modules.ts";
import { readModelConfig } from "../model/config/read-config.ts";
import { loraNames, loraProjections } from "../model/parameters.ts";
import { openLoraAdapter, type StoredLoraAdapter } from "../model/peft-folder.ts";
import { readSafetensorsFolder } from "../model-files/safetensors.ts";
import type { PlainType, StoredTensor } from "../model-files/stored-tensor.ts";
import type { RowsToMerge } from "./merge-rows.ts";

/** `peft` for libraries that load adapters, `merged` for those that load models. */
export type ExportFormat = "peft" | "merged";

/** Bytes of a file in order: some as they lie in a file, or rows that are merged. */
export type FilePart =
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
  /** Null for the base itself, which has no PEFT folder. */
  readonly adapterFolder: string | null;
  /** Hex SHA-256 of its files; null where that was not recorded. */
  readonly adapterHash: string | null;
}

/**
 * Plans the files of a version.
 *
 * @throws ServiceError as `requireAdapter`, `openLoraAdapter` and `readSafetensorsFolder`
 */
export function planExport(request: ExportPlanRequest): readonly PlannedFile[] {
  const { format, baseFolder, adapterFolder } = request;
  if (adapterFolder !== null) requireAdapter(adapterFolder, request.adapterHash);
  if (format === "merged") return planMerged(baseFolder, adapterFolder);
  const folder = present(adapterFolder, "a PEFT folder");
  return ["adapter_config.json", "adapter_model.safetensors"].map((name) => copied(join(folder, name)));
}

/** Of rows that are merged at once, unless a single one has more. */
const partBytesMax = 1 << 22;

function planMerged(baseFolder: string, adapterFolder: string | null): readonly PlannedFile[] {
  const tensors = [...readSafetensorsFolder(baseFolder).values()];
  const merges =
    adapterFolder === null ? new Map<string, RowsToMerge>() : mergesOf(baseFolder, adapterFolder);
  const weightFiles = [...new Set(tensors.map(({ file }) => file))];
  const others = filesBeside(
    baseFolder,
    weightFiles.map((file) => basename(file)),
  );
  return [
    ...others.map(copied),
    ...weightFiles.map((file) =>
      mergedFile(
        file,
        tensors.filter((tensor) => tensor.file === file),
        merges,
      ),
    ),
  ];
}

/** By the name of the weight that changes, what is merged into it, with all of its rows. */
function mergesOf(baseFolder: string, adapterFolder: string): ReadonlyMap<string, RowsToMerge> {
  const config = readModelConfig(baseFolder);
  const adapter = openLoraAdapter(adapterFolder, config);
  const weights = readSafetensorsFolder(baseFolder);
  return new Map(
    loraProjections(config, adapter.targets).flatMap(({ path, outputSize }) => {
      const module = adapter.modules.get(path);
      if (module === undefined) return [];
      const name = `${path}.weight`;
      const weight = present(weights.get(name), name);
      return [[name, { weight, ...matricesOf(adapter, path, module), from: 0, count: outputSize }]];
    }),
  );
}

function matricesOf(
  { stored }: StoredLoraAdapter,
  path: string,
  { scale }: AdaptedModule,
): Pick<RowsToMerge, "a" | "b" | "scale"> {
  const names = loraNames(path);
  return { a: present(stored.get(names.a), names.a), b: present(stored.get(names.b), names.b), scale };
}

/** A file of weights: as it lies, header included, but for the tensors that change. */
function mergedFile(
  file: string,
  tensors: readonly StoredTensor<PlainType>[],
  merges: ReadonlyMap<string, RowsToMerge>,
): PlannedFile {
  const { name, byteCount } = copied(file);
  const parts: FilePart[] = [];
  let end = 0;
  const copyUntil = (offset: number): void => {
    if (offset > end) parts.push({ kind: "copied", file, start: end, end: offset });
  };
  for (const tensor of tensors.toSorted((one, other) => one.offset - other.offset)) {
    const rows = merges.get(tensor.name);
    if (rows === undefined) continue;
    copyUntil(tensor.offset);
    parts.push(...inParts(rows));
    end = tensor.offset + tensor.byteLength;
  }
  copyUntil(byteCount);
  return { name, byteCount, parts };
}

function inParts(rows: RowsToMerge): readonly FilePart[] {
  const { weight, count } = rows;
  const rowsAtOnce = Math.max(1, Math.floor(partBytesMax / (weight.byteLength / count)));
  return Array.from({ length: Math.ceil(count / rowsAtOnce) }, (_, index) => {
    const from = index * rowsAtOnce;
    return { kind: "merged", rows: { ...rows, from, count: Math.min(rowsAtOnce, count - from) } };
  });
}

/** Configuration, tokenizer, templates and licences: what belongs to the model, whatever its weights are. */
const belongs = /^(?!\.|adapter_config\.json$).*\.(json|jinja|txt|model|tiktoken)$|^(LICENSE|NOTICE)/;

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
