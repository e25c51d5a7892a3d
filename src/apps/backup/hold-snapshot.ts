// Takes a consistent snapshot of a running server: its database, and all artifacts that rows refer to. A server deletes
// a version's row before the version's files. So if files are missing, this module takes another snapshot of the
// database; if that one still refers to them, the files are lost.
import { lstatSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { ArtifactStore } from "../../store/artifacts/artifact-store.ts";
import type { DatabaseTables, TableSnapshot } from "../../base/domain/backup/tables.ts";
import type { Clock } from "../../base/domain/clock.ts";
import { present } from "../../base/domain/assert.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { Fault } from "./fault.ts";
import { type Reference, referenceOf, referringTables } from "./references.ts";

export interface SnapshotSources {
  readonly tables: DatabaseTables;
  readonly artifacts: Pick<ArtifactStore, "copyTo">;
  /** Path of an empty folder on the same disk as the artifacts, so that files can be linked instead of copied. */
  readonly staging: string;
  readonly clock: Pick<Clock, "now">;
}

/** An artifact whose files were copied or linked to the staging folder. */
export interface StagedArtifact {
  readonly reference: Reference;
  readonly path: string;
}

export interface HeldSnapshot {
  readonly at: Date;
  /** Snapshot of the database. The caller must close it. */
  readonly snapshot: TableSnapshot;
  readonly artifacts: readonly StagedArtifact[];
  /** One fault for each artifact whose files are lost. */
  readonly faults: readonly Fault[];
}

/**
 * Maximum number of attempts. An attempt takes only a moment, because only new artifacts must be linked. It fails only
 * if the server removes a version meanwhile.
 */
const triesMax = 20;

/**
 * Takes a database snapshot and stages the artifacts that it refers to. Repeats this until every artifact is staged or
 * known to be lost.
 *
 * @throws ServiceError `unavailable` if versions were removed during each attempt
 */
export async function holdSnapshot(sources: SnapshotSources, signal: AbortSignal): Promise<HeldSnapshot> {
  const { tables, artifacts, staging, clock } = sources;
  const staged = new Map<string, string>();
  const goneBefore = new Set<string>();
  let count = 0;
  for (let tried = 1; tried <= triesMax; tried++) {
    const at = clock.now();
    const snapshot = await tables.snapshot();
    try {
      const named = await referencesIn(tables, snapshot);
      const missing: Reference[] = [];
      for (const reference of named) {
        signal.throwIfAborted();
        if (staged.has(reference.key)) continue;
        const path = join(staging, String(count++));
        if (await stage(artifacts, reference, path)) staged.set(reference.key, path);
        else missing.push(reference);
      }
      if (missing.every(({ key }) => goneBefore.has(key)))
        return { at, snapshot, artifacts: stagedOf(named, staged), faults: missing.map(lostFault) };
      for (const { key } of missing) goneBefore.add(key);
    } catch (error) {
      await snapshot.close();
      throw error;
    }
    await snapshot.close();
  }
  const message = `Versions or files were removed during each of ${triesMax} attempts to take a snapshot. Try again when fewer are being removed.`;
  throw new ServiceError({ code: "unavailable", message });
}

/** Returns the artifacts that a snapshot's rows refer to, each once. */
export async function referencesIn(
  database: Pick<DatabaseTables, "tables">,
  snapshot: TableSnapshot,
): Promise<readonly Reference[]> {
  const found = new Map<string, Reference>();
  const tables = await database.tables();
  for (const of of tables.filter(({ table }) => referringTables.includes(table)))
    for await (const page of snapshot.rows(of))
      for (const row of page) {
        const reference = referenceOf(of, row);
        if (reference !== null) found.set(reference.key, reference);
      }
  return [...found.values()];
}

/** Stages an artifact's files; returns false if any of them is missing. */
async function stage(
  artifacts: SnapshotSources["artifacts"],
  { key, files }: Reference,
  path: string,
): Promise<boolean> {
  const isThere = await artifacts.copyTo(key, path);
  if (isThere && files.every((name) => isEntry(join(path, name)))) return true;
  await rm(path, { recursive: true, force: true });
  return false;
}

/**
 * True if the path exists, even as a dangling symbolic link. Such a link is reported as a fault when files are copied.
 */
function isEntry(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function stagedOf(
  named: readonly Reference[],
  staged: ReadonlyMap<string, string>,
): readonly StagedArtifact[] {
  return named
    .filter(({ key }) => staged.has(key))
    .map((reference) => ({
      reference,
      path: present(staged.get(reference.key), "a staged artifact has a path"),
    }));
}

function lostFault({ key, owner }: Reference): Fault {
  return { what: key, message: `${key} is missing or incomplete: ${owner} has no files.` };
}
