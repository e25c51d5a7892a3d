// Makes a consistent copy of a server for `hone backup` and `hone export`. The server may be running.
import { createReadStream } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { DatabaseTables, TableSnapshot, TableColumns } from "../../base/domain/backup/tables.ts";
import type { Clock } from "../../base/domain/clock.ts";
import type { ArchivePlace } from "./archive/archive-place.ts";
import { ArchiveWriter } from "./archive/archive-writer.ts";
import type { Manifest, ArchivedTable } from "./archive/manifest.ts";
import { holdSnapshot, type SnapshotSources, type StagedArtifact } from "./hold-snapshot.ts";
import type { Report } from "./progress.ts";
import { listFiles, type FoundFile } from "./archive/files-below.ts";
import type { Fault } from "./fault.ts";
import { faultOfFiles, type Reference } from "./references.ts";
import { tablePath } from "./archive/layout.ts";
import { packedRows, type Rows } from "./archive/table-rows.ts";

export interface ArchiveMaking {
  /** Storage that the archive is written to. */
  readonly place: ArchivePlace;
  /** Version of this program, for the manifest. */
  readonly program: string;
  readonly report: Report;
  /** Aborts the copy, which then removes what it has written. */
  readonly signal: AbortSignal;
}

/**
 * Copies the database and artifacts. If artifacts are lost or changed, continues and lists them as faults in the
 * manifest.
 *
 * @throws ServiceError `conflict` if `place` is in use; errors of {@link holdSnapshot} and `DatabaseTables.snapshot`
 */
export async function makeBackup(sources: SnapshotSources, making: ArchiveMaking): Promise<Manifest> {
  return withWriter(making, async (writer) => {
    const moment = await holdSnapshot(sources, making.signal);
    const database = await copyTables(writer, sources.tables, moment.snapshot, making);
    const changed = await writeArtifacts(writer, moment.artifacts, making);
    return writer.finish({
      content: "everything",
      createdAt: moment.at.toISOString(),
      program: making.program,
      database,
      faults: [...moment.faults, ...changed],
    });
  });
}

/** Copies only the database. */
export async function makeExport(
  { tables, clock }: { readonly tables: DatabaseTables; readonly clock: Pick<Clock, "now"> },
  making: ArchiveMaking,
): Promise<Manifest> {
  return withWriter(making, async (writer) => {
    const at = clock.now();
    const database = await copyTables(writer, tables, await tables.snapshot(), making);
    return writer.finish({
      content: "database",
      createdAt: at.toISOString(),
      program: making.program,
      database,
      faults: [],
    });
  });
}

async function withWriter(
  { place }: ArchiveMaking,
  write: (writer: ArchiveWriter) => Promise<Manifest>,
): Promise<Manifest> {
  const writer = await ArchiveWriter.begin(place);
  try {
    return await write(writer);
  } catch (error) {
    await writer.abandon();
    throw error;
  }
}

async function copyTables(
  writer: ArchiveWriter,
  tables: DatabaseTables,
  snapshot: TableSnapshot,
  making: ArchiveMaking,
): Promise<Manifest["database"]> {
  try {
    const written = await writeTables(writer, tables, snapshot, making);
    return { kind: tables.kind, version: tables.newestVersion, tables: written };
  } finally {
    await snapshot.close();
  }
}

/**
 * Writes the staged artifacts to the archive, and removes each from the staging folder afterwards. Neither opens nor
 * copies a path that is not a plain file.
 *
 * @returns a fault for each artifact that has changed since it was stored, and for each path that is not a plain file
 */
async function writeArtifacts(
  writer: ArchiveWriter,
  artifacts: readonly StagedArtifact[],
  { report, signal }: { readonly report: Report; readonly signal: AbortSignal },
): Promise<readonly Fault[]> {
  const found = new Map<StagedArtifact, readonly FoundFile[]>();
  for (const artifact of artifacts) found.set(artifact, await listFiles(artifact.path));
  const all = [...found.values()].flat();
  const inAll = { filesInAll: all.length, bytesInAll: all.reduce((sum, { bytes }) => sum + bytes, 0) };
  let [files, bytes] = [0, 0];
  const faults: Fault[] = [];
  report({ kind: "files", files, bytes, ...inAll });
  for (const [{ reference, path }, names] of found) {
    const hashes = new Map<string, string>();
    let isComplete = true;
    for (const { name, bytes: ofFile, other } of names) {
      signal.throwIfAborted();
      const target = name === "" ? reference.key : `${reference.key}/${name}`;
      if (other !== null) {
        if (name === "" || reference.files.includes(name)) isComplete = false;
        faults.push(notCopied(reference, target, other));
        continue;
      }
      hashes.set(name, await writer.add(target, createReadStream(join(path, name))));
      [files, bytes] = [files + 1, bytes + ofFile];
      report({ kind: "files", files, bytes, ...inAll });
    }
    const fault = faultOfFiles(reference, { hashes, bytes: names[0]?.bytes ?? null });
    if (fault !== null && isComplete) faults.push(fault);
    await rm(path, { recursive: true, force: true });
  }
  return faults;
}

function notCopied({ key, owner }: Reference, path: string, kind: string): Fault {
  const message = `${path}, of ${owner}, is ${kind}, where a plain file should be. It was not opened, and is not in the copy. Put the file itself there, or remove it.`;
  return { what: key, message };
}

interface TableWriting {
  readonly report: Report;
  readonly signal: AbortSignal;
}

/**
 * Writes the rows of all tables to the archive.
 *
 * @throws the signal's reason; as {@link TableSnapshot.rows}
 */
async function writeTables(
  writer: ArchiveWriter,
  database: Pick<DatabaseTables, "tables">,
  snapshot: TableSnapshot,
  { report, signal }: TableWriting,
): Promise<readonly ArchivedTable[]> {
  const written: ArchivedTable[] = [];
  const tables = await database.tables();
  for (const [index, of] of tables.entries()) {
    report({ kind: "table", table: of.table, index, count: tables.length });
    let rows = 0;
    const count = (more: number): void => {
      rows += more;
      report({ kind: "rows", table: of.table, rows });
    };
    await writer.add(tablePath(of.table), packedRows(abortable(snapshot.rows(of), signal), count));
    written.push({ ...columnsOf(of), rows });
  }
  return written;
}

function columnsOf({ table, columns }: TableColumns): TableColumns {
  return { table, columns };
}

async function* abortable(pages: AsyncIterable<Rows>, signal: AbortSignal): AsyncGenerator<Rows, void> {
  for await (const page of pages) {
    signal.throwIfAborted();
    yield page;
  }
}
