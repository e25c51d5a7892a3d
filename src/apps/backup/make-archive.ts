// A copy of a server that runs, as it was at one moment: the story of `hone backup` and `hone export`.
import type { DatabaseTables, TableSnapshot } from "../../base/domain/backup/tables.ts";
import type { Clock } from "../../base/domain/clock.ts";
import type { ArchivePlace } from "./archive/archive-place.ts";
import { ArchiveWriter } from "./archive/archive-writer.ts";
import type { Manifest } from "./archive/manifest.ts";
import { holdMoment, type MomentSources } from "./hold-moment.ts";
import type { Report } from "./progress.ts";
import { writeArtifacts } from "./write-artifacts.ts";
import { writeTables } from "./write-tables.ts";

export interface ArchiveMaking {
  /** Where it is written. */
  readonly place: ArchivePlace;
  /** The version of the program. */
  readonly program: string;
  readonly report: Report;
  /** Ends it; nothing is left then. */
  readonly signal: AbortSignal;
}

/**
 * Copies database and artifacts; what of these is lost or changed is in the manifest's faults.
 *
 * @throws ServiceError `conflict` for a place that is in use, as {@link holdMoment}, and as `DatabaseTables.snapshot`
 */
export async function makeBackup(sources: MomentSources, making: ArchiveMaking): Promise<Manifest> {
  return withWriter(making, async (writer) => {
    const moment = await holdMoment(sources, making.signal);
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

/** Copies the database alone. */
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
