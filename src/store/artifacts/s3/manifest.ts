// Manifest of an artifact in a bucket. It lists the artifact's files, and the hashes of the pieces that make up each
// file. The manifest is a single object, so writing it creates or replaces the artifact atomically; a piece to which
// no manifest refers is invisible to readers.
import { createHash } from "node:crypto";
import { isUuid } from "../../../base/domain/random.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";

export interface Manifest {
  /** UUID of this content, which is part of the keys of its pieces. */
  readonly content: string;
  /** True for a folder of files. False for a single file, whose name is then empty. */
  readonly isFolder: boolean;
  readonly files: readonly FileManifest[];
}

export interface FileManifest {
  readonly name: string;
  readonly byteCount: number;
  /** Hex SHA-256 of each piece, in order; empty for an empty file. */
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

/** Parses a manifest. @throws ServiceError `conflict` if this program did not write the text */
export function readManifest(text: string, key: string): Manifest {
  const manifest = parsed(text);
  if (manifest !== null) return manifest;
  throw new ServiceError({
    code: "conflict",
    message: `${JSON.stringify(key)} in the bucket is not an artifact manifest that this program can read. A newer program may have written it. Restore it from a copy, or delete the artifact.`,
  });
}

/** Returns null for any text that is not a manifest. */
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

/** True if the file is valid: its name does not leave the folder, and its size matches its pieces. */
function isWhole({ name, byteCount, pieces }: FileManifest): boolean {
  return (
    !/[/\\\0]|^\.\.?$/.test(name) &&
    Number.isSafeInteger(byteCount) &&
    byteCount >= 0 &&
    pieces.length === Math.ceil(byteCount / pieceBytes)
  );
}
