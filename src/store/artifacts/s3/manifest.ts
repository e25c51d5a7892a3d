// Manifest of an artifact in a bucket: lists the artifact's files, and the hashes of each file's pieces. A manifest is
// a single object, so writing it creates or replaces the artifact atomically. Readers do not see pieces to which no
// manifest refers.
import { createHash } from "node:crypto";
import { isUuid } from "../../../base/domain/random.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";

export interface Manifest {
  /** UUID of the artifact's content. It is part of the keys of the content's pieces. */
  readonly content: string;
  /** True if the artifact is a folder of files. False if it is a single file, whose name is then empty. */
  readonly isFolder: boolean;
  readonly files: readonly FileManifest[];
}

export interface FileManifest {
  readonly name: string;
  readonly byteCount: number;
  /** Hex SHA-256 of each piece of the file, in order; empty for an empty file. */
  readonly pieces: readonly string[];
}

/**
 * Size of a piece in bytes. It is small enough to keep several pieces in memory, and to send a piece over a slow
 * connection within the time limit of one attempt.
 */
export const pieceBytes = 1 << 24;

export function hashOfPiece(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

const format = "hone artifact";
const formatVersion = 1;

export function manifestText(manifest: Manifest): string {
  return JSON.stringify({ format, version: formatVersion, ...manifest });
}

/**
 * Parses the manifest of an artifact.
 *
 * @throws ServiceError `conflict` if Hone did not write the text
 */
export function readManifest(text: string, key: string): Manifest {
  const manifest = parsed(text);
  if (manifest !== null) return manifest;
  throw new ServiceError({
    code: "conflict",
    message: `${JSON.stringify(key)} in the bucket is not an artifact manifest that this program can read. A newer program may have written it. Restore it from a copy, or delete the artifact.`,
  });
}

/** Parses a text as a manifest; returns null if it is none. */
function parsed(text: string): Manifest | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isRecord(value) || value["format"] !== format || value["version"] !== formatVersion) return null;
  const { content, isFolder, files } = value;
  if (typeof content !== "string" || !isUuid(content) || typeof isFolder !== "boolean") return null;
  if (!Array.isArray(files) || !files.every(isFile)) return null;
  return { content, isFolder, files };
}

function isFile(value: unknown): value is FileManifest {
  if (!isRecord(value)) return false;
  const { name, byteCount, pieces } = value;
  return (
    typeof name === "string" &&
    typeof byteCount === "number" &&
    Array.isArray(pieces) &&
    pieces.every((piece) => typeof piece === "string") &&
    isWhole({ name, byteCount, pieces })
  );
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

/** True if a file's entry is valid: its name is within the folder, and its size fits the number of pieces. */
function isWhole({ name, byteCount, pieces }: FileManifest): boolean {
  return (
    !/[/\\\0]|^\.\.?$/.test(name) &&
    Number.isSafeInteger(byteCount) &&
    byteCount >= 0 &&
    pieces.length === Math.ceil(byteCount / pieceBytes)
  );
}
