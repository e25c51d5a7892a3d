// Paths in an archive. Since an archive may come from an untrusted source, each path is checked: it must not lead
// outside the archive.
import { invalid } from "../../../base/domain/service-error.ts";

export const manifestName = "manifest.json";
export const sumsName = "SHA256SUMS";
/**
 * Name of a file that marks an unfinished archive. Without it, nothing would distinguish the files of an interrupted
 * backup from the user's own files.
 */
export const unfinishedName = ".unfinished-archive";

const databaseFolder = "database";
/** Number of path segments in an artifact's key, by the first segment. */
const partsOfKey: Readonly<Record<string, number>> = { adapters: 3, files: 2, traces: 2 };

/** First path segments of artifact keys. */
export const artifactRoots: readonly string[] = Object.keys(partsOfKey);

/** Top-level folders of an archive. */
export const archiveFolders: readonly string[] = [databaseFolder, ...artifactRoots];

/** Returns the path of the file with a table's rows. */
export function tablePath(table: string): string {
  return `${databaseFolder}/${table}.jsonl.gz`;
}

/** True if the file at this path contains rows of a table. */
export function isOfDatabase(path: string): boolean {
  return path.startsWith(`${databaseFolder}/`);
}

/** Returns the key of the artifact to which the file at this path belongs. */
export function keyOf(path: string): string {
  const parts = path.split("/");
  return parts.slice(0, partsOfKey[parts[0]] ?? parts.length).join("/");
}

/** @throws ServiceError `invalid` for a path that an archive cannot contain */
export function requirePath(path: string): void {
  const parts = path.split("/");
  const isPlain = parts.every((part) => !["", ".", ".."].includes(part) && !/[\\\0\r\n]/.test(part));
  const isKnown = archiveFolders.includes(parts[0]) && parts.length >= (partsOfKey[parts[0]] ?? 2);
  if (isPlain && isKnown) return;
  const message = `The archive names a file ${JSON.stringify(path.slice(0, 200))}, which is not part of an archive. Hone did not write it, or it was changed.`;
  throw invalid(message);
}
