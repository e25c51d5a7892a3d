// A base model that was added: what stands in its folder beside its files, and says where it came from. A folder that has it
// is whole, since it is written before the folder gets its name.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isObject } from "../../../base/validation/findings.ts";
import { invalid } from "../../../base/domain/service-error.ts";

/** Where a model's files came from. */
export type ModelSource = HubSource | FileSource;

interface Taken {
  /** Only what describes the model was taken: others compute it. */
  readonly withoutWeights?: true;
}

export interface HubSource extends Taken {
  readonly kind: "hub";
  /** The address of the hub, or of a mirror. */
  readonly endpoint: string;
  /** `owner/name`. */
  readonly repository: string;
  /** As it was asked for: a branch, a tag or a commit. */
  readonly revision: string;
  /** What that was then. */
  readonly commit: string;
  /** Which of the repository's GGUF models, such as `Q4_1`; null for its safetensors. */
  readonly quantization: string | null;
}

export interface FileSource extends Taken {
  readonly kind: "file";
  /** The file or the folder, as it was called then. */
  readonly path: string;
}

export interface AddedFile {
  readonly name: string;
  readonly bytes: number;
  /** As the hub knows its content: hex SHA-256, or the SHA-1 of a git blob; null where nobody said. */
  readonly checksum: string | null;
}

export interface AddedModel {
  readonly name: string;
  readonly source: ModelSource;
  /** As its card or its file names it; null where they do not. */
  readonly license: string | null;
  readonly files: readonly AddedFile[];
  readonly addedAt: Date;
}

/** Hidden, and no `.json`: what else lies in a model's folder is not part of what it computes. */
const recordName = ".hone-model";
/** Greater where earlier programs would misread it. */
const recordFormat = 1;

/** The file that a model's record is in. */
export function recordFile(folder: string): string {
  return join(folder, recordName);
}

export function recordText({ name, source, license, files, addedAt }: AddedModel): string {
  const record = { format: recordFormat, name, source, license, files, added_at: addedAt.toISOString() };
  return `${JSON.stringify(record, null, 2)}\n`;
}

/**
 * Reads the record of the model in a folder.
 *
 * @returns null where the folder has none
 * @throws ServiceError `invalid` for one that does not say what it should
 */
export function readRecord(folder: string): AddedModel | null {
  const file = recordFile(folder);
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR"))
      return null;
    throw error;
  }
  const record = parsedRecord(text);
  if (record !== null) return record;
  throw invalid(
    `${file} is not what \`hone models add\` writes; remove its folder, and add the model again.`,
  );
}

function parsedRecord(text: string): AddedModel | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Whoever reads it says which file it is.
    return null;
  }
  if (!isObject(value) || value["format"] !== recordFormat) return null;
  const { name, source, license, files, added_at: addedAt } = value;
  if (typeof name !== "string" || typeof addedAt !== "string" || Number.isNaN(Date.parse(addedAt)))
    return null;
  if (license !== null && typeof license !== "string") return null;
  if (!isSource(source) || !Array.isArray(files) || files.length === 0 || !files.every(isFile)) return null;
  return { name, source, license, files, addedAt: new Date(addedAt) };
}

function isSource(value: unknown): value is ModelSource {
  if (!isObject(value) || (value["withoutWeights"] ?? true) !== true) return false;
  if (value["kind"] === "file") return typeof value["path"] === "string";
  const { quantization } = value;
  return (
    value["kind"] === "hub" &&
    ["endpoint", "repository", "revision", "commit"].every((field) => typeof value[field] === "string") &&
    (quantization === null || typeof quantization === "string")
  );
}

function isFile(value: unknown): value is AddedFile {
  if (!isObject(value)) return false;
  const { name, bytes, checksum } = value;
  return (
    isPlainName(name) && Number.isSafeInteger(bytes) && (checksum === null || typeof checksum === "string")
  );
}

/** Whether a text is the name of a file that lies in a folder itself, and is not hidden. */
export function isPlainName(value: unknown): value is string {
  return typeof value === "string" && /^[A-Za-z0-9_][\w.+-]{0,250}$/.test(value);
}

/** The bytes of all its files. */
export function sizeOf({ files }: Pick<AddedModel, "files">): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Where it came from, for people and as `--model` takes it. */
export function sourceName(source: ModelSource): string {
  if (source.kind === "file") return source.path;
  return source.quantization === null ? source.repository : `${source.repository}:${source.quantization}`;
}

/** The file that `--model` would name, where the weights are a GGUF file; null for safetensors. */
export function ggufFileOf(files: readonly Pick<AddedFile, "name">[]): string | null {
  const names = files.map(({ name }) => name).filter((name) => /\.gguf$/i.test(name));
  return names.toSorted()[0] ?? null;
}
