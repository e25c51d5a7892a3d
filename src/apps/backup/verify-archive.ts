// Reads all of an archive and names what is wrong with it: files that are not as they were written, missing or too many, rows
// that are none, and artifacts that its database names and it does not have.
import type { RequireTables } from "../../base/domain/backup/tables.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { ArchivePlace } from "./archive/archive-place.ts";
import { type ArchiveReader, openArchive } from "./archive/archive-reader.ts";
import { isOfDatabase, keyOf, manifestName, sumsName, tablePath } from "./archive/layout.ts";
import type { Fault } from "./fault.ts";
import { type Reading, rowsOf, tableFiles } from "./load-tables.ts";
import { faultOfFiles, type Reference, referenceOf } from "./references.ts";

/**
 * Each fault as it is found; none where the archive can be relied on.
 *
 * @param requireTables of the database that the archive would be restored into
 * @throws ServiceError `not_found` where there is no archive, `unsupported` for a newer one; what `reading.signal` was aborted
 *   with
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
    yield { what, message: `It was so when the archive was made: ${message}` };
  const sums = new Map<string, string>();
  const sizes = new Map<string, number>();
  yield* verifyFiles(archive, { sums, sizes }, reading);
  yield* unknownFiles(place, sums);
  const { version, tables } = archive.manifest.database;
  try {
    await requireTables(version, tables);
  } catch (error) {
    // Where tables or columns are others, what their rows name is not known.
    yield faultOf(manifestName, error);
    yield* verifyTables(archive, null, reading);
    return;
  }
  const references: Reference[] = [];
  yield* verifyTables(archive, references, reading);
  if (archive.manifest.content === "everything")
    yield* verifyReferences(archive, { references, sums, sizes });
}

/** What the archive has by its own word, by path. */
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
    // These are read by their rows.
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
      yield { what, message: `${place.name}/${what} is none of the archive's files.` };
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

/** Those that the manifest names are known already. */
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

/** @throws the error itself where it says nothing of the archive */
function faultOf(what: string, error: unknown): Fault {
  if (error instanceof ServiceError) return { what, message: error.message };
  throw error;
}
