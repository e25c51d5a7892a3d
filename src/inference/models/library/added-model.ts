// Record of an added base model and its origin, stored in the model's folder. The record is written before the folder
// gets its final name, so a folder with a final name and a record is complete.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isObject } from "../../../base/validation/findings.ts";
import { invalid } from "../../../base/domain/service-error.ts";

/** Origin of a model's files. */
export type ModelSource = HubSource | FileSource;

interface Taken {
  /** Present if only the model's descriptive files were fetched, because other servers compute the model. */
  readonly withoutWeights?: true;
}

export interface HubSource extends Taken {
  readonly kind: "hub";
  /** Address of the hub, or of a mirror. */
  readonly endpoint: string;
  /** Name of the repository, as `owner/name`. */
  readonly repository: string;
  /** Revision that the operator requested: a branch, a tag or a commit. */
  readonly revision: string;
  /** Commit that the revision referred to when the model was added. */
  readonly commit: string;
  /**
   * Quantization that selects a GGUF model of the repository, such as `Q4_1`; null if the repository's safetensors
   * were added.
   */
  readonly quantization: string | null;
}

export interface FileSource extends Taken {
  readonly kind: "file";
  /** Path of the file or folder when the model was added. */
  readonly path: string;
}

export interface AddedFile {
  readonly name: string;
  readonly bytes: number;
  /** Checksum from the hub: hex SHA-256, or the SHA-1 of a git blob; null if unknown. */
  readonly checksum: string | null;
}

export interface AddedModel {
  readonly name: string;
  readonly source: ModelSource;
  /** Licence that the model's card or its GGUF file names; null if neither does. */
  readonly license: string | null;
  readonly files: readonly AddedFile[];
  readonly addedAt: Date;
}

/**
 * Name of the record's file. The file is hidden and its name does not end in `.json`, so that it is not mistaken for
 * one of the model's own files.
 */
const recordName = ".hone-model";
/** Version of the record's format. It must be increased when older programs would misread a record. */
const recordFormat = 1;

/** Returns the path of the record in a model's folder. */
export function recordFile(folder: string): string {
  return join(folder, recordName);
}

export function recordText({ name, source, license, files, addedAt }: AddedModel): string {
  const record = { format: recordFormat, name, source, license, files, added_at: addedAt.toISOString() };
  return `${JSON.stringify(record, null, 2)}\n`;
}

/**
 * Reads the record in a model's folder.
 *
 * @returns null if the folder has no record
 * @throws ServiceError `invalid` for a malformed record
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
    // The record is not valid JSON. The caller reports that with the file's name.
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

/** True if a text is a plain file name, without folders and without a leading dot. */
export function isPlainName(value: unknown): value is string {
  return typeof value === "string" && /^[A-Za-z0-9_][\w.+-]{0,250}$/.test(value);
}

/** Returns the total size of the model's files in bytes. */
export function sizeOf({ files }: Pick<AddedModel, "files">): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Returns the model's origin as a readable text, which the option `--model` accepts too. */
export function describeSource(source: ModelSource): string {
  if (source.kind === "file") return source.path;
  return source.quantization === null ? source.repository : `${source.repository}:${source.quantization}`;
}

/**
 * Returns the name of the file to pass to `--model` if the weights are in GGUF files; null if they are in safetensors.
 */
export function findGgufFile(files: readonly Pick<AddedFile, "name">[]): string | null {
  const names = files.map(({ name }) => name).filter((name) => /\.gguf$/i.test(name));
  return names.toSorted()[0] ?? null;
}
