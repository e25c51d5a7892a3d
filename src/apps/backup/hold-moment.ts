// A moment of a server that runs: its database as it is then, with every artifact that it names, though versions come and go.
// Whoever removes an artifact first removes it from the database. So what a snapshot names and is not there was removed
// behind the snapshot, and the next one does not name it; what was gone before a snapshot that names it is lost.
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

export interface MomentSources {
  readonly tables: DatabaseTables;
  readonly artifacts: Pick<ArtifactStore, "copyTo">;
  /** An empty folder on the artifacts' own disk, which takes no copies then. */
  readonly staging: string;
  readonly clock: Pick<Clock, "now">;
}

/** A reference, and where its files are kept. */
export interface StagedArtifact {
  readonly reference: Reference;
  readonly path: string;
}

export interface Moment {
  readonly at: Date;
  /** To be closed. */
  readonly snapshot: TableSnapshot;
  readonly artifacts: readonly StagedArtifact[];
  /** What is lost. */
  readonly faults: readonly Fault[];
}

/** To link what was published since the try before takes a moment: a try that fails met a removal in just that one. */
const triesMax = 20;

/** @throws ServiceError `unavailable` where versions went at each try */
export async function holdMoment(sources: MomentSources, signal: AbortSignal): Promise<Moment> {
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
  const message = `Versions or files were removed at each of ${triesMax} tries to hold a moment. Try again when less is removed.`;
  throw new ServiceError({ code: "unavailable", message });
}

/** What the rows of a snapshot name, each key once. */
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

/** Whether all of its files are there. */
async function stage(
  artifacts: MomentSources["artifacts"],
  { key, files }: Reference,
  path: string,
): Promise<boolean> {
  const isThere = await artifacts.copyTo(key, path);
  if (isThere && files.every((name) => isEntry(join(path, name)))) return true;
  await rm(path, { recursive: true, force: true });
  return false;
}

/** Also true for a symbolic link that leads nowhere, which is named when it is about to be copied. */
function isEntry(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function stagedOf(
  named: readonly Reference[],
  staged: ReadonlyMap<string, string>,
): readonly StagedArtifact[] {
  return named
    .filter(({ key }) => staged.has(key))
    .map((reference) => ({ reference, path: present(staged.get(reference.key), "what is staged") }));
}

function lostFault({ key, owner }: Reference): Fault {
  return { what: key, message: `${key} is not there, or not all of it: ${owner} has no files.` };
}
