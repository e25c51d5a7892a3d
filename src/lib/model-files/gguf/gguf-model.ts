// A GGUF file as a model folder: configuration, tokenizer and template written as the files of the Hugging Face layout, and
// beside them the name of the file that holds the weights, which stay where they are, and the places of its tensors.
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, isAbsolute, join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { present } from "../../../base/domain/assert.ts";
import { requirePlainFile } from "../../../base/domain/transient-errors/plain-file.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { corrupt, type StoredTensor } from "../stored-tensor.ts";
import { architectureOf, ggufConfig, ggufKeyOf, ggufTensorName, ggufTensors } from "./gguf-architecture.ts";
import { ggufParts, readGguf } from "./gguf-file.ts";
import { ggufTokenizer } from "./gguf-tokenizer.ts";
import { GgufMetadata } from "./metadata.ts";

/** Beside the derived files: see {@link Pointer}. */
const pointerName = "model.gguf.json";

interface Pointer {
  /** From the folder, or absolute. */
  readonly file: string;
  /** `general.architecture`; older programs did not write it. */
  readonly architecture?: string;
  /** Of each part, as it was when the folder was written. */
  readonly stamps: readonly Stamp[];
  /** Under the names of the Hugging Face layout, so that no process that takes weights reads the metadata again. */
  readonly tensors: readonly (Omit<StoredTensor, "file"> & { readonly part: number })[];
}

interface Stamp {
  readonly size: number;
  readonly changedAt: number;
}

/**
 * Writes the folder of the model in `file`, whole or not at all; one that is there is replaced.
 *
 * @param file any part of a model that was split
 * @param folder made with all above it
 * @throws ServiceError as `readGguf`; `unsupported` naming what of the model is not known
 */
export function writeGgufFolder(file: string, folder: string): void {
  const whole = readGguf(file);
  const metadata = new GgufMetadata(basename(file), whole.metadata);
  // The architecture is checked first: other ones have tokenizers of their own, which nobody asked about.
  const config = ggufConfig(whole, metadata);
  const { tokenizer, config: tokenizerConfig } = ggufTokenizer(metadata);
  const files = {
    "config.json": config,
    "generation_config.json": { eos_token_id: endOfTextIds(metadata) },
    "tokenizer.json": tokenizer,
    "tokenizer_config.json": tokenizerConfig,
    [pointerName]: {
      ...pointerTo(resolve(file), ggufTensors(whole, metadata)),
      architecture: architectureOf(metadata).prefix,
    },
  };
  const partial = `${folder}.${process.pid}.partial`;
  mkdirSync(partial, { recursive: true });
  try {
    for (const [name, value] of Object.entries(files))
      writeFileSync(join(partial, name), JSON.stringify(value));
    rmSync(folder, { recursive: true, force: true });
    renameSync(partial, folder);
  } catch (error) {
    rmSync(partial, { recursive: true, force: true });
    throw error;
  }
}

function pointerTo(file: string, tensors: ReadonlyMap<string, StoredTensor>): Pointer {
  const parts = ggufParts(file);
  return {
    file,
    stamps: parts.map((part) => stampOf(part)),
    tensors: [...tensors.values()].map(({ file: own, ...tensor }) => ({
      ...tensor,
      part: parts.indexOf(resolve(own)),
    })),
  };
}

/** Changes whenever another folder would be made of the same file. */
const folderFormat = "hone-gguf-5";

/**
 * The folder of the model in a file, made in `cacheFolder` unless it is there already; of an earlier content of the file
 * none is kept.
 *
 * @throws ServiceError as {@link writeGgufFolder}
 */
export function ensureGgufFolder(file: string, cacheFolder: string): string {
  const kept = keptGgufFolder(file, cacheFolder);
  if (kept !== null) return kept;
  const { first, place, name } = namesOf(file);
  const folder = join(cacheFolder, name);
  writeGgufFolder(first, folder);
  for (const other of readdirSync(cacheFolder)) {
    const isEarlier = other.startsWith(`${place}-`) && other.endsWith(".gguf-model") && other !== name;
    if (isEarlier) rmSync(join(cacheFolder, other), { recursive: true, force: true });
  }
  return folder;
}

/** The folder that {@link ensureGgufFolder} made of a file that has not changed since; null where there is none. */
export function keptGgufFolder(file: string, cacheFolder: string): string | null {
  const folder = join(cacheFolder, namesOf(file).name);
  return isDerivedFromGguf(folder) ? folder : null;
}

/** The first part of a model's file, and what its folder is called: a name that begins with the place of the file. */
function namesOf(file: string): { readonly first: string; readonly place: string; readonly name: string } {
  const parts = ggufParts(file).map((part) => statPart(part));
  const first = parts[0].path;
  const place = hashOf(first);
  return { first, place, name: `${place}-${hashOf([folderFormat, parts])}.gguf-model` };
}

function statPart(file: string): Stamp & { readonly path: string } {
  if (!existsSync(file)) {
    throw new ServiceError({
      code: "not_found",
      message: `There is no file ${file}; name the file of a model.`,
    });
  }
  requirePlainFile(file, statSync(file));
  return { path: resolve(file), ...stampOf(file) };
}

function stampOf(file: string): Stamp {
  const { size, mtimeMs } = statSync(file);
  return { size, changedAt: mtimeMs };
}

function hashOf(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 16);
}

/** Whether {@link writeGgufFolder} wrote the folder. */
export function isDerivedFromGguf(folder: string): boolean {
  return existsSync(join(folder, pointerName));
}

/** The files of the weights of a folder that {@link writeGgufFolder} wrote, in their order; null for any other folder. */
export function ggufFilesOf(folder: string): readonly string[] | null {
  return isDerivedFromGguf(folder) ? partsOf(folder, readPointer(folder)) : null;
}

/** How the file of a model names what its folder names otherwise, for messages. */
export interface GgufNames {
  /** The file's own name. */
  readonly file: string;
  readonly tensor: (name: string) => string;
  /** The key behind a field of config.json; null if there is none of its own. */
  readonly key: (field: string) => string | null;
}

/** The names in the file of a folder that {@link writeGgufFolder} wrote; null for any other folder. */
export function ggufNamesOf(folder: string): GgufNames | null {
  const [file] = ggufFilesOf(folder) ?? [];
  if (file === undefined) return null;
  const { architecture = "" } = readPointer(folder);
  return {
    file: basename(file),
    tensor: (name) => ggufTensorName(name, architecture),
    key: (field) => ggufKeyOf(field, architecture),
  };
}

/** Older programs wrote the file alone. */
function readPointer(folder: string): Partial<Pointer> {
  return JSON.parse(readFileSync(join(folder, pointerName), "utf8")) as Partial<Pointer>;
}

function partsOf(folder: string, { file }: Partial<Pointer>): readonly string[] {
  if (typeof file !== "string")
    throw corrupt(join(folder, pointerName), "it names no file; add the model again");
  return ggufParts(isAbsolute(file) ? file : join(folder, file));
}

/**
 * The tensors of the model of a folder that {@link writeGgufFolder} wrote, under the names of the Hugging Face layout. The
 * files are read where they are others than when it was written.
 */
export function readGgufTensors(folder: string): ReadonlyMap<string, StoredTensor> {
  const pointer = readPointer(folder);
  const files = partsOf(folder, pointer);
  const { stamps, tensors } = pointer;
  if (tensors !== undefined && isDeepStrictEqual(stamps, files.map(stampIfThere))) {
    return new Map(
      tensors.map(({ part, ...tensor }) => [
        tensor.name,
        { ...tensor, file: present(files[part], tensor.name) },
      ]),
    );
  }
  const file = present(files[0], "a model has a file");
  const whole = readGguf(file);
  return ggufTensors(whole, new GgufMetadata(basename(file), whole.metadata));
}

/** What is missing is told by whoever reads it. */
function stampIfThere(file: string): Stamp | null {
  return existsSync(file) ? stampOf(file) : null;
}

/** Texts of tokens that end an answer in some family, whether or not the metadata says so; as llama.cpp has them. */
const endTexts: ReadonlySet<string> = new Set([
  "<|eot_id|>",
  "<|eom_id|>",
  "<|im_end|>",
  "<|end|>",
  "<|end_of_text|>",
  "<|endoftext|>",
  "<end_of_turn>",
]);

function endOfTextIds(metadata: GgufMetadata): readonly number[] {
  const named = ["eos", "eot", "eom"].flatMap((role) => metadata.tokenId(role) ?? []);
  const tokens = metadata.texts("tokenizer.ggml.tokens") ?? [];
  const byText = tokens.flatMap((token, id) => (endTexts.has(token) ? [id] : []));
  return [...new Set([...named, ...byText])];
}
