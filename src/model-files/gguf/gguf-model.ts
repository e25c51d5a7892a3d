// A GGUF file as a model folder: configuration, tokenizer and template written as the files of the Hugging Face layout, and
// beside them the name of the file that holds the weights, which stay where they are.
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
import { present } from "../../domain/assert.ts";
import { ServiceError } from "../../domain/service-error.ts";
import { corrupt, type StoredTensor } from "../stored-tensor.ts";
import { ggufConfig, ggufTensors } from "./gguf-architecture.ts";
import { ggufParts, readGguf } from "./gguf-file.ts";
import { ggufTokenizer } from "./gguf-tokenizer.ts";
import { GgufMetadata } from "./metadata.ts";

/** Beside the derived files: where the weights are, from the folder or absolute. */
const pointerName = "model.gguf.json";

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
  const { tokenizer, config: tokenizerConfig } = ggufTokenizer(metadata);
  const files = {
    "config.json": ggufConfig(whole, metadata),
    "generation_config.json": { eos_token_id: endOfTextIds(metadata) },
    "tokenizer.json": tokenizer,
    "tokenizer_config.json": tokenizerConfig,
    [pointerName]: { file: resolve(file) },
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

/** Changes whenever another folder would be made of the same file. */
const folderFormat = "hone-gguf-3";

/**
 * The folder of the model in a file, made in `cacheFolder` unless it is there already; of an earlier content of the file
 * none is kept.
 *
 * @throws ServiceError as {@link writeGgufFolder}
 */
export function ensureGgufFolder(file: string, cacheFolder: string): string {
  const parts = ggufParts(file).map((part) => statPart(part));
  const place = hashOf(parts[0].path);
  const name = `${place}-${hashOf([folderFormat, parts])}.gguf-model`;
  const folder = join(cacheFolder, name);
  if (existsSync(join(folder, pointerName))) return folder;
  writeGgufFolder(parts[0].path, folder);
  for (const other of readdirSync(cacheFolder)) {
    const isEarlier = other.startsWith(`${place}-`) && other.endsWith(".gguf-model") && other !== name;
    if (isEarlier) rmSync(join(cacheFolder, other), { recursive: true, force: true });
  }
  return folder;
}

interface Part {
  readonly path: string;
  readonly size: number;
  readonly changedAt: number;
}

function statPart(file: string): Part {
  if (!existsSync(file)) {
    throw new ServiceError({
      code: "not_found",
      message: `There is no file ${file}; name the file of a model.`,
    });
  }
  const { size, mtimeMs } = statSync(file);
  return { path: resolve(file), size, changedAt: mtimeMs };
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
  if (!isDerivedFromGguf(folder)) return null;
  const pointer = join(folder, pointerName);
  const { file } = JSON.parse(readFileSync(pointer, "utf8")) as { readonly file?: unknown };
  if (typeof file !== "string") throw corrupt(pointer, "it names no file; add the model again");
  return ggufParts(isAbsolute(file) ? file : join(folder, file));
}

/** The tensors of the model in the files, under the names of the Hugging Face layout. */
export function readGgufTensors(files: readonly string[]): ReadonlyMap<string, StoredTensor> {
  const file = present(files[0], "a model has a file");
  const whole = readGguf(file);
  return ggufTensors(whole, new GgufMetadata(basename(file), whole.metadata));
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
  const named = ["eos", "eot", "eom"].flatMap(
    (role) => metadata.number(`tokenizer.ggml.${role}_token_id`) ?? [],
  );
  const tokens = metadata.texts("tokenizer.ggml.tokens") ?? [];
  const byText = tokens.flatMap((token, id) => (endTexts.has(token) ? [id] : []));
  return [...new Set([...named, ...byText])];
}
