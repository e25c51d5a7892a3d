// What an artifact in a bucket is made of: its files in pieces, each with its hash. An artifact is there once its manifest is,
// which is one object and so takes the place of another in one step; what no manifest names was never there.
import { createHash } from "node:crypto";
import { isUuid } from "../../../base/domain/random.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";

export interface Manifest {
  /** A UUID of this content: its pieces lie under it. */
  readonly content: string;
  /** Whether it is a folder of files, or one file, whose name is then empty. */
  readonly isFolder: boolean;
  readonly files: readonly FileManifest[];
}

export interface FileManifest {
  readonly name: string;
  readonly byteCount: number;
  /** The hex SHA-256 of each piece, in order; a file of no bytes has none. */
  readonly pieces: readonly string[];
}

/** Bytes of a piece: in memory a few times over, and sent within a try of a request also where the line is slow. */
export const pieceBytes = 1 << 24;

export function hashOfPiece(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

const format = "hone artifact";
const formatVersion = 1;

export function manifestText(manifest: Manifest): string {
  return JSON.stringify({ format, version: formatVersion, ...manifest });
}

/** @throws ServiceError `conflict` for what this program did not write */
export function readManifest(text: string, key: string): Manifest {
  const manifest = parsed(text);
  if (manifest !== null) return manifest;
  throw new ServiceError({
    code: "conflict",
    message: `${JSON.stringify(key)} in the bucket is no manifest of an artifact that this program knows. A newer program may have written it; put it back from a copy, or delete what it is of.`,
  });
}

/** Null for what is no manifest, whatever its form. */
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

/** Whether it can be a file: its name leads nowhere else, and its size is that of its pieces. */
function isWhole({ name, byteCount, pieces }: FileManifest): boolean {
  return (
    !/[/\\\0]|^\.\.?$/.test(name) &&
    Number.isSafeInteger(byteCount) &&
    byteCount >= 0 &&
    pieces.length === Math.ceil(byteCount / pieceBytes)
  );
}
