// Seals of artifacts. A seal is a hash over some of an artifact's files; a reader can detect any changed byte with it.
// Reads files synchronously, because only processes and threads that read the files anyway check seals.
import { createHash } from "node:crypto";
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { requirePlainFile } from "../../base/domain/transient-errors/plain-file.ts";
import { ServiceError } from "../../base/domain/service-error.ts";

export interface Seal {
  /** Kind of the artifact for error messages, such as "adapter". */
  readonly what: string;
  /** Names of the hashed files, in order. The artifact's folder may contain other files, too. */
  readonly files: readonly string[];
  /** Hex SHA-256 over the files, as {@link hashOfFiles} returns it. */
  readonly hash: string;
}

/** Returns the hex SHA-256 over the names and contents of the given files. */
export function hashOfFiles(folder: string, names: readonly string[]): string {
  return hashOfHashes(names.map((name) => [name, hashFile(join(folder, name))]));
}

/** Returns the same hash as {@link hashOfFiles}, for files whose hex SHA-256 is known. */
export function hashOfHashes(files: readonly (readonly [name: string, hash: string])[]): string {
  const hash = createHash("sha256");
  for (const [name, ofFile] of files) hash.update(`${JSON.stringify(name)} ${ofFile}\n`);
  return hash.digest("hex");
}

/**
 * Checks that the files in a folder match a seal.
 *
 * @throws ServiceError `conflict` if a file is missing or changed
 */
export function requireSealed(folder: string, { what, files, hash }: Seal): void {
  let now: string;
  try {
    now = hashOfFiles(folder, files);
  } catch (cause) {
    throw sealMismatchError(what, "its files cannot be read", cause);
  }
  if (now !== hash)
    throw sealMismatchError(
      what,
      `its files hash to ${now.slice(0, 12)}, and hashed to ${hash.slice(0, 12)} when they were stored`,
    );
}

/**
 * Returns the error for a missing or damaged artifact. The error does not blame the request, because the artifact is at
 * fault; an operator can repair it.
 */
export function sealMismatchError(what: string, reason: string, cause?: unknown): ServiceError {
  const message = `The ${what} on disk is not the one that was stored: ${reason}. Put its files back from a copy, or delete the version.`;
  return new ServiceError({ code: "conflict", message, cause });
}

const pieceBytes = 1 << 20;

function hashFile(file: string): string {
  const hash = createHash("sha256");
  const piece = new Uint8Array(pieceBytes);
  requirePlainFile(file, statSync(file));
  const descriptor = openSync(file, "r");
  try {
    for (let count = -1; count !== 0;) {
      count = readSync(descriptor, piece);
      hash.update(piece.subarray(0, count));
    }
  } finally {
    closeSync(descriptor);
  }
  return hash.digest("hex");
}
