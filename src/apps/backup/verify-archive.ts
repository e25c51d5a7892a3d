// Reads a whole archive and reports its faults: changed, missing or surplus files, invalid rows, and artifacts that
// rows refer to but that are missing or changed.
import type { RequireTables } from "../../base/domain/backup/tables.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { ArchivePlace } from "./archive/archive-place.ts";
import { type ArchiveReader, openArchive } from "./archive/archive-reader.ts";
import { isOfDatabase, keyOf, manifestName, sumsName, tablePath } from "./archive/layout.ts";
import type { Fault } from "./fault.ts";
import { type Reading, rowsOf, tableFiles } from "./load-tables.ts";
import { faultOfFiles, type Reference, referenceOf } from "./references.ts";

/**
 * Yields each fault as soon as it is found; yields nothing for an intact archive.
 *
 * @param requireTables checks that the archived tables have the columns of their database version
 * @throws ServiceError `not_found` if there is no archive, `unsupported` if a newer program wrote it; the signal's
 * reason
 */
export async function* verifyArchive(
  place: ArchivePlace,
  requireTables: RequireTables,
  reading: Reading,
): AsyncGenerator<Fault, void> {
  let archive: ArchiveReader;
  try {
    archive = await openArchive(place);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== "invalid") throw error;
    yield faultOf(manifestName, error);
    return;
  }
  for (const { what, message } of archive.manifest.faults)
    yield { what, message: `Found when the archive was made: ${message}` };
  const sums = new Map<string, string>();
  const sizes = new Map<string, number>();
  yield* verifyFiles(archive, { sums, sizes }, reading);
  yield* unknownFiles(place, sums);
  const { version, tables } = archive.manifest.database;
  try {
    await requireTables(version, tables);
  } catch (error) {
    // If tables or columns differ, only the rows are checked; the artifacts that they refer to cannot be determined.
    yield faultOf(manifestName, error);
    yield* verifyTables(archive, null, reading);
    return;
  }
  const references: Reference[] = [];
  yield* verifyTables(archive, references, reading);
  if (archive.manifest.content === "everything")
    yield* verifyReferences(archive, { references, sums, sizes });
}

/** Known data about files, by path: the hashes in `SHA256SUMS`, and the sizes of the files that were read. */
interface Known {
  readonly sums: Map<string, string>;
  readonly sizes: Map<string, number>;
}

async function* verifyFiles(
  archive: ArchiveReader,
  { sums, sizes }: Known,
  { report, signal }: Reading,
): AsyncGenerator<Fault, void> {
  const { files: filesInAll, bytes: bytesInAll } = archive.manifest;
  let [files, bytes] = [0, 0];
  for await (const file of archive.files()) {
    sums.set(file.path, file.sha256);
    // Skips the files of tables, because `verifyTables` reads and verifies them row by row.
    if (isOfDatabase(file.path)) continue;
    try {
      let size = 0;
      for await (const piece of archive.read(file)) {
        signal.throwIfAborted();
        size += piece.length;
      }
      sizes.set(file.path, size);
      bytes += size;
    } catch (error) {
      yield faultOf(file.path, error);
    }
    files += 1;
    report({ kind: "files", files, bytes, filesInAll, bytesInAll });
  }
}

async function* unknownFiles(
  place: ArchivePlace,
  sums: ReadonlyMap<string, string>,
): AsyncGenerator<Fault, void> {
  for (const what of await place.files())
    if (!sums.has(what) && what !== manifestName && what !== sumsName)
      yield { what, message: `${place.name}/${what} is not part of the archive.` };
}

async function* verifyTables(
  archive: ArchiveReader,
  references: Reference[] | null,
  reading: Reading,
): AsyncGenerator<Fault, void> {
  const { tables } = archive.manifest.database;
  const files = await tableFiles(archive);
  for (const [index, table] of tables.entries()) {
    reading.report({ kind: "table", table: table.table, index, count: tables.length });
    try {
      for await (const page of rowsOf(archive, table, files, reading))
        if (references !== null)
          for (const row of page) {
            const reference = referenceOf(table, row);
            if (reference !== null) references.push(reference);
          }
    } catch (error) {
      yield faultOf(tablePath(table.table), error);
    }
  }
}

/** Yields the faults of artifacts that rows refer to. Omits faults that the manifest already lists. */
function* verifyReferences(
  { manifest }: ArchiveReader,
  { references, sums, sizes }: Known & { readonly references: readonly Reference[] },
): Generator<Fault, void> {
  const said = new Set(manifest.faults.map(({ what }) => what));
  const hashesOf = new Map<string, Map<string, string>>();
  for (const [path, sha256] of sums) {
    if (isOfDatabase(path)) continue;
    const key = keyOf(path);
    const hashes = hashesOf.get(key) ?? new Map<string, string>();
    hashesOf.set(key, hashes.set(path.slice(key.length + 1), sha256));
  }
  for (const reference of references) {
    const { key } = reference;
    if (said.has(key)) continue;
    const fault = faultOfFiles(reference, {
      hashes: hashesOf.get(key) ?? new Map(),
      bytes: sizes.get(key) ?? null,
    });
    if (fault !== null) yield fault;
  }
}

/**
 * Returns the fault that an error describes.
 *
 * @throws the error itself if it is not about the archive
 */
function faultOf(what: string, error: unknown): Fault {
  if (error instanceof ServiceError) return { what, message: error.message };
  throw error;
}
