// Restores an archive: first the artifacts, whose hashes it verifies, then the database in one transaction. An
// interrupted restore therefore leaves the database empty, and can be repeated.
import { mkdir, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ArtifactStore } from "../../store/artifacts/artifact-store.ts";
import type { DatabaseTables } from "../../base/domain/backup/tables.ts";
import { invalid, ServiceError } from "../../base/domain/service-error.ts";
import type { ArchivePlace } from "./archive/archive-place.ts";
import type { ArchivedFile, ArchiveReader } from "./archive/archive-reader.ts";
import { artifactRoots, isOfDatabase, keyOf } from "./archive/layout.ts";
import { loadTables, type Reading } from "./load-tables.ts";

export interface RestoreTargets {
  readonly tables: Pick<DatabaseTables, "fill" | "requireEmpty" | "requireTables">;
  readonly artifacts: Pick<ArtifactStore, "names" | "put" | "putFile">;
}

/**
 * Restores a backup. Checks everything except the files' content before it writes anything.
 *
 * @throws ServiceError `conflict` if the target contains other data; `invalid` if the archive is damaged, lacks tables,
 * or is an export
 */
export async function restoreArchive(
  archive: ArchiveReader,
  { tables, artifacts }: RestoreTargets,
  reading: Reading,
): Promise<void> {
  const { content, database } = archive.manifest;
  if (content === "database") throw databaseAlone(archive.place);
  // Refuses an unsuitable archive or target before any artifact is written.
  await tables.requireTables(database.version, database.tables);
  await tables.requireEmpty(database.version);
  await refuseOthers(archive, artifacts);
  await putArtifacts(archive, artifacts, reading);
  await loadTables(archive, tables, reading);
}

/**
 * Refuses a target with artifacts that are not in the archive. The target's other artifacts may come from an earlier
 * attempt to restore the archive, so they are accepted and written again.
 */
async function refuseOthers(archive: ArchiveReader, artifacts: RestoreTargets["artifacts"]): Promise<void> {
  const own = new Set<string>();
  for await (const { path } of archive.files()) own.add(path.split("/").slice(0, 2).join("/"));
  for (const root of artifactRoots)
    for (const name of await artifacts.names(root))
      if (!own.has(`${root}/${name}`)) throw othersThere(`${root}/${name}`);
}

async function putArtifacts(
  archive: ArchiveReader,
  artifacts: RestoreTargets["artifacts"],
  { report, signal }: Reading,
): Promise<void> {
  const { files: filesInAll, bytes: bytesInAll } = archive.manifest;
  let [files, bytes] = [0, 0];
  const copy = async (file: ArchivedFile, target: string): Promise<void> => {
    signal.throwIfAborted();
    bytes += await copyVerified(archive.read(file), target);
    files += 1;
    report({ kind: "files", files, bytes, filesInAll, bytesInAll });
  };
  for await (const [key, ofKey] of byKey(archive.files())) {
    const [first] = ofKey;
    if (first.path === key) await artifacts.putFile(key, (target) => copy(first, target));
    else
      await artifacts.put(key, async (folder) => {
        for (const file of ofKey) await copy(file, join(folder, file.path.slice(key.length + 1)));
      });
  }
}

/** Groups files by artifact key. Files with the same key must be adjacent. */
async function* byKey(
  files: AsyncIterable<ArchivedFile>,
): AsyncGenerator<readonly [key: string, files: readonly ArchivedFile[]], void> {
  let ofKey: ArchivedFile[] = [];
  for await (const file of files) {
    if (isOfDatabase(file.path)) continue;
    if (ofKey.length > 0 && keyOf(ofKey[0].path) !== keyOf(file.path)) {
      yield [keyOf(ofKey[0].path), ofKey];
      ofKey = [];
    }
    ofKey.push(file);
  }
  if (ofKey.length > 0) yield [keyOf(ofKey[0].path), ofKey];
}

/**
 * Writes a file and flushes it.
 *
 * @returns the number of bytes
 */
async function copyVerified(pieces: AsyncIterable<Uint8Array>, target: string): Promise<number> {
  await mkdir(dirname(target), { recursive: true });
  const file = await open(target, "wx");
  let bytes = 0;
  try {
    for await (const piece of pieces) {
      bytes += piece.length;
      await file.writeFile(piece);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return bytes;
}

function databaseAlone({ name }: ArchivePlace): ServiceError {
  const message = `${name} holds only a database, written by \`hone export\`: use \`hone import\`, which leaves adapters and files as they are.`;
  return invalid(message);
}

function othersThere(key: string): ServiceError {
  const message = `The data folder has ${key}, which is not in the archive: it belongs to another server. Name an empty folder with --data; nothing was changed.`;
  return new ServiceError({ code: "conflict", message });
}
