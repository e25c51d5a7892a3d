// Reads all data of a server, which may be running. Reports faults that the database itself finds, and artifacts that
// rows refer to but that are missing or changed.
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { ArtifactStore } from "../../store/artifacts/artifact-store.ts";
import { isMissing } from "../../store/artifacts/folder-names.ts";
import type { DatabaseTables, TableSnapshot } from "../../base/domain/backup/tables.ts";
import { otherThanFile } from "../../base/domain/transient-errors/plain-file.ts";
import type { Fault } from "./fault.ts";
import { referencesIn } from "./hold-snapshot.ts";
import type { Reading } from "./load-tables.ts";
import { faultOfFiles, type Reference } from "./references.ts";

export interface VerifiedServer {
  readonly tables: DatabaseTables;
  readonly artifacts: Pick<ArtifactStore, "path">;
}

/**
 * Yields each fault.
 *
 * @throws as `DatabaseTables.snapshot`
 */
export async function* verifyServer(server: VerifiedServer, reading: Reading): AsyncGenerator<Fault, void> {
  const { tables } = server;
  const snapshot = await tables.snapshot();
  let references: readonly Reference[];
  try {
    for (const message of await snapshot.faults()) yield { what: "database", message };
    await readRows(tables, snapshot, reading);
    references = await referencesIn(tables, snapshot);
  } finally {
    await snapshot.close();
  }
  const found: Fault[] = [];
  for await (const fault of faultsOfArtifacts(server, references, reading)) found.push(fault);
  yield* stillNamed(server, found);
}

/** Reads each row once, to find rows that cannot be read. */
async function readRows(
  database: DatabaseTables,
  snapshot: TableSnapshot,
  { report, signal }: Reading,
): Promise<void> {
  const tables = await database.tables();
  for (const [index, of] of tables.entries()) {
    report({ kind: "table", table: of.table, index, count: tables.length });
    let rows = 0;
    for await (const page of snapshot.rows(of)) {
      signal.throwIfAborted();
      rows += page.length;
      report({ kind: "rows", table: of.table, rows });
    }
  }
}

async function* faultsOfArtifacts(
  { artifacts }: VerifiedServer,
  references: readonly Reference[],
  { report, signal }: Reading,
): AsyncGenerator<Fault, void> {
  let bytes = 0;
  for (const [index, reference] of references.entries()) {
    signal.throwIfAborted();
    const path = await artifacts.path(reference.key, null);
    const hashes = new Map<string, string>();
    let size: number | null = null;
    let isPlain = true;
    for (const name of reference.files.length === 0 ? [""] : reference.files) {
      const found = await hashOf(join(path, name));
      if (found === null) continue;
      if (typeof found === "string") {
        isPlain = false;
        const what = name === "" ? reference.key : `${reference.key}/${name}`;
        const message = `${what} is ${found}, but ${reference.owner} needs a plain file. It was not opened.`;
        yield { what: reference.key, message };
        continue;
      }
      hashes.set(name, found.sha256);
      size = found.bytes;
      bytes += found.bytes;
    }
    const fault = faultOfFiles(reference, { hashes, bytes: size });
    if (fault !== null && isPlain) yield fault;
    report({ kind: "files", files: index + 1, filesInAll: references.length, bytes, bytesInAll: 0 });
  }
}

/**
 * Returns a file's hash and size, null if it is missing, or a description such as "a named pipe" if it is not a plain
 * file. Follows symbolic links, because an operator may have linked files.
 */
async function hashOf(
  path: string,
): Promise<{ readonly sha256: string; readonly bytes: number } | string | null> {
  const hash = createHash("sha256");
  try {
    const found = await stat(path);
    const other = otherThanFile(found);
    if (other !== null) return other;
    for await (const piece of createReadStream(path)) hash.update(piece as Uint8Array);
    return { sha256: hash.digest("hex"), bytes: found.size };
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

/**
 * Yields the faults of artifacts that the database still refers to. A missing file is no fault if the server has
 * meanwhile removed the artifact's row, since it then removes the files too.
 */
async function* stillNamed(
  { tables }: VerifiedServer,
  faults: readonly Fault[],
): AsyncGenerator<Fault, void> {
  if (faults.length === 0) return;
  const snapshot = await tables.snapshot();
  try {
    const keys = new Set((await referencesIn(tables, snapshot)).map(({ key }) => key));
    yield* faults.filter(({ what }) => keys.has(what));
  } finally {
    await snapshot.close();
  }
}
