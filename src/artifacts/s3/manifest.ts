// What an artifact in a bucket is made of: its files in pieces, each with its hash. An artifact is there once its manifest is,
// which is one object and so takes the place of another in one step; what no manifest names was never there.
import { createHash } from "node:crypto";
import { ServiceError } from "../../domain/service-error.ts";

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
  if (manifest?.format === format && manifest.version === formatVersion && manifest.files.every(isWhole))
    return manifest;
  throw new ServiceError({
    code: "conflict",
    message: `${JSON.stringify(key)} in the bucket is no manifest of an artifact that this program knows. A newer program may have written it; put it back from a copy, or delete what it is of.`,
  });
}

function parsed(text: string): (Manifest & { readonly format?: unknown; readonly version?: unknown }) | null {
  try {
    // What is not this fails on the way, or at its format.
    return JSON.parse(text) as Manifest;
  } catch {
    return null;
  }
}

/** Whether it can be a file: its name leads nowhere else, and its size is that of its pieces. */
function isWhole({ name, byteCount, pieces }: FileManifest): boolean {
  return !/[/\\]|^\.\.?$/.test(name) && pieces.length === Math.ceil(byteCount / pieceBytes);
}
