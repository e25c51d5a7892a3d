// Plans the export of a version: either its PEFT folder unchanged, or its base model's folder with the adapter merged
// into the weights. A plan refers to ranges of files, which are read only when they are sent. Weights in a GGUF file
// are exported as safetensors.
import { readdirSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { present, unreachable } from "../../../base/domain/assert.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { Architecture } from "../../architectures/config.ts";
import { requireAdapter } from "../../architectures/hashes/adapter-hash.ts";
import { readModelConfig } from "../../architectures/config/read-config.ts";
import { isDerivedFromGguf } from "../../../lib/model-files/gguf/gguf-model.ts";
import type { StoredTensor } from "../../../lib/model-files/stored-tensor.ts";
import { readStoredTensors, weightFilesOf } from "../../../lib/model-files/weight-files.ts";
import { safetensorsHeader, writtenBytes } from "../../../lib/model-files/write-safetensors.ts";
import type { ChosenType } from "../../../lib/model-files/gguf/writing/written-types.ts";
import { exportedType } from "./merge-rows.ts";
import { modelfileOf } from "./modelfile.ts";
import { modelFileName, planGguf } from "./plan-gguf.ts";
import { planGgufAdapter } from "./plan-gguf-adapter.ts";
import {
  type FilePart,
  inOrder,
  inParts,
  type Merge,
  mergesOf,
  type PlannedFile,
  tensorParts,
} from "./row-parts.ts";

/**
 * Format of exported files: `peft` for libraries that load adapters, `merged` for libraries that load models, and
 * `gguf` and `gguf-adapter` for llama.cpp and Ollama.
 */
export type ExportFormat = "peft" | "merged" | "gguf" | "gguf-adapter";

export interface ExportPlanRequest {
  readonly format: ExportFormat;
  readonly baseFolder: string;
  /** Folder of the adapter; null for the base itself, which has no adapter. */
  readonly adapterFolder: string | null;
  /** Hex SHA-256 of the adapter's files; null if no hash was recorded. */
  readonly adapterHash: string | null;
  /** Name of the model in the metadata of a GGUF file. */
  readonly name: string;
  /** Type of the matrices of a GGUF file; null to keep the base model's types. */
  readonly chosenType: ChosenType | null;
}

/**
 * Plans the files of a version.
 *
 * @throws ServiceError as `requireAdapter`, `openLoraAdapter` and `readStoredTensors`
 */
export async function planExport(request: ExportPlanRequest): Promise<readonly PlannedFile[]> {
  const { format, baseFolder, adapterFolder, name, chosenType } = request;
  if (adapterFolder !== null) requireAdapter(adapterFolder, request.adapterHash);
  switch (format) {
    case "merged":
      return planMerged(baseFolder, adapterFolder);
    case "gguf": {
      const model = planGguf({ baseFolder, adapterFolder, name, chosen: chosenType });
      return [model, await modelfileOf(baseFolder, { model: model.name })];
    }
    case "gguf-adapter": {
      const adapter = planGgufAdapter(baseFolder, present(adapterFolder, "an adapter"), name);
      return [adapter, await modelfileOf(baseFolder, { model: modelFileName, adapter: adapter.name })];
    }
    case "peft": {
      const folder = present(adapterFolder, "a PEFT folder");
      return ["adapter_config.json", "adapter_model.safetensors"].map((file) => copied(join(folder, file)));
    }
    default:
      return unreachable(format);
  }
}

/** Model classes whose Hugging Face folders fuse or name tensors in another way than their GGUF files. */
const ggufOnlyNames: readonly Architecture[] = ["GraniteMoeHybridForCausalLM", "NemotronHForCausalLM"];

/** @throws ServiceError `unsupported` for a GGUF file whose tensors do not fit the class's layout */
function requireFolderNames(baseFolder: string): void {
  const { architecture } = readModelConfig(baseFolder);
  if (!ggufOnlyNames.includes(architecture)) return;
  throw new ServiceError({
    code: "unsupported",
    message: `The base model is a GGUF file of ${architecture}, which has other tensors than a folder of this class. Export the version in the format gguf, or train on the model's folder.`,
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
    parts.push(...inParts(weight, adapter, { type: exportedType(weight) }));
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
    parts: [
      { kind: "made", bytes: header },
      ...tensors.flatMap((tensor) => tensorParts(tensor, { type: exportedType(tensor) }, merges)),
    ],
  };
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
