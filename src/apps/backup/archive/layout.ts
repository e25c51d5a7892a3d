// Where what lies in an archive, and which paths there can be: an archive comes from anywhere, and none leads out of it.
import { invalid } from "../../../base/domain/service-error.ts";

export const manifestName = "manifest.json";
export const sumsName = "SHA256SUMS";
/** It lies there until the archive is whole, so that what was ended is known from what is somebody else's. */
export const unfinishedName = ".unfinished-archive";

const databaseFolder = "database";
/** By the first part of an artifact's key: of how many parts it is. */
const partsOfKey: Readonly<Record<string, number>> = { adapters: 3, files: 2, traces: 2 };

/** The keys that artifacts of every kind begin with. */
export const artifactRoots: readonly string[] = Object.keys(partsOfKey);

/** The folders that an archive has. */
export const archiveFolders: readonly string[] = [databaseFolder, ...artifactRoots];

/** The path of a table's rows. */
export function tablePath(table: string): string {
  return `${databaseFolder}/${table}.jsonl.gz`;
}

/** Whether a path is one of the database's. */
export function isOfDatabase(path: string): boolean {
  return path.startsWith(`${databaseFolder}/`);
}

/** The key of the artifact that a file of the archive belongs to. */
export function keyOf(path: string): string {
  const parts = path.split("/");
  return parts.slice(0, partsOfKey[parts[0]] ?? parts.length).join("/");
}

/** @throws ServiceError `invalid` for a path that is none of an archive's */
export function requirePath(path: string): void {
  const parts = path.split("/");
  const isPlain = parts.every((part) => !["", ".", ".."].includes(part) && !/[\\\0\r\n]/.test(part));
  const isKnown = archiveFolders.includes(parts[0]) && parts.length >= (partsOfKey[parts[0]] ?? 2);
  if (isPlain && isKnown) return;
  const message = `The archive names a file ${JSON.stringify(path.slice(0, 200))}, which none has. It was not written by Hone, or changed since.`;
  throw invalid(message);
}
