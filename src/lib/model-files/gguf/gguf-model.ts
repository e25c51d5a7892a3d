// Derives a model folder from a GGUF file. The folder has the configuration, tokenizer and template in the Hugging Face
// layout, and a pointer to the file with the offsets of its tensors. The weights stay in the GGUF file.
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
import { endOfTextIds, ggufTokenizer } from "./gguf-tokenizer.ts";
import { GgufMetadata } from "./metadata.ts";

/** Name of the file that contains the {@link Pointer}, in the folder that is derived from a GGUF file. */
const pointerName = "model.gguf.json";

interface Pointer {
  /** Path of the GGUF file, absolute or relative to the folder. */
  readonly file: string;
  /** `general.architecture`; absent if an older program wrote the pointer. */
  readonly architecture?: string;
  /** Size and modification time of each part when the folder was written. */
  readonly stamps: readonly Stamp[];
  /** Tensors under their Hugging Face names, so that processes that load weights need not read the metadata again. */
  readonly tensors: readonly (Omit<StoredTensor, "file"> & { readonly part: number })[];
}

interface Stamp {
  readonly size: number;
  readonly changedAt: number;
}

/**
 * Writes the folder of the model in `file`, atomically, replacing an existing one.
 *
 * @param file any part of a split model
 * @param folder created with its parents
 * @throws ServiceError as `readGguf`; `unsupported` naming unknown parts of the model
 */
export function writeGgufFolder(file: string, folder: string): void {
  const whole = readGguf(file);
  const metadata = new GgufMetadata(basename(file), whole.metadata);
  // Checks the architecture first, because an error about the tokenizer of an unsupported architecture would mislead.
  const config = ggufConfig(whole, metadata);
  const { tokenizer, config: tokenizerConfig } = ggufTokenizer(metadata);
  const files = {
    "config.json": config,
    "generation_config.json": { eos_token_id: endOfTextIds(metadata) },
    "tokenizer.json": tokenizer,
    "tokenizer_config.json": tokenizerConfig,
    [pointerName]: {
      ...createPointer(resolve(file), ggufTensors(whole, metadata)),
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

function createPointer(file: string, tensors: ReadonlyMap<string, StoredTensor>): Pointer {
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

/** Format version; must change whenever the folder derived from the same file would differ. */
const folderFormat = "hone-gguf-7";

/**
 * Returns the folder of the model in a file. Creates the folder in `cacheFolder` unless it exists, and deletes folders
 * of earlier contents of the file.
 *
 * @throws ServiceError as {@link writeGgufFolder}
 */
export function ensureGgufFolder(file: string, cacheFolder: string): string {
  const kept = findGgufFolder(file, cacheFolder);
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

/** Returns the folder that {@link ensureGgufFolder} created from the unchanged file; null if there is none. */
export function findGgufFolder(file: string, cacheFolder: string): string | null {
  const folder = join(cacheFolder, namesOf(file).name);
  return isDerivedFromGguf(folder) ? folder : null;
}

/**
 * Returns the first part of a model's file, and the name of the model's folder. The name begins with `place`, a hash of
 * the first part's path.
 */
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

/** True if {@link writeGgufFolder} wrote the folder. */
export function isDerivedFromGguf(folder: string): boolean {
  return existsSync(join(folder, pointerName));
}

/**
 * Returns the weight files of a folder that {@link writeGgufFolder} wrote, in their order; null for any other folder.
 */
export function ggufFilesOf(folder: string): readonly string[] | null {
  return isDerivedFromGguf(folder) ? partsOf(folder, readPointer(folder)) : null;
}

/** Converts names in a derived folder to the names in its GGUF file, which messages should use. */
export interface GgufNames {
  /** Name of the file. */
  readonly file: string;
  readonly tensor: (name: string) => string;
  /** Returns the key from which a field of config.json is derived; null if there is none. */
  readonly key: (field: string) => string | null;
}

/** Returns the names in the file of a folder that {@link writeGgufFolder} wrote; null for any other folder. */
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

/**
 * Safe cast: Hone wrote the file. All fields but `file` may be absent, because older versions of Hone wrote only that
 * field.
 */
function readPointer(folder: string): Partial<Pointer> {
  return JSON.parse(readFileSync(join(folder, pointerName), "utf8")) as Partial<Pointer>;
}

function partsOf(folder: string, { file }: Partial<Pointer>): readonly string[] {
  if (typeof file !== "string")
    throw corrupt(join(folder, pointerName), "it names no file; add the model again");
  return ggufParts(isAbsolute(file) ? file : join(folder, file));
}

/**
 * Returns the tensors of a folder that {@link writeGgufFolder} wrote, under their Hugging Face names. Reads the files
 * again if they have changed since then.
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

/** Returns the file's stamp, or null; the reader reports a missing file. */
function stampIfThere(file: string): Stamp | null {
  return existsSync(file) ? stampOf(file) : null;
}
