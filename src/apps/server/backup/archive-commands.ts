// Implements `hone backup`, `restore`, `verify`, `export` and `import`. They use the data folder and the database that
// `hone serve` would use with the same configuration.
import { relative, resolve, sep } from "node:path";
import type { ArtifactStore } from "../../../store/artifacts/artifact-store.ts";
import { openArtifacts } from "../../../store/artifacts/open-artifacts.ts";
import { storeEnvironment } from "../../../store/artifacts/s3/bucket-client.ts";
import { isBucketUrl, readBucketUrl } from "../../../store/artifacts/s3/bucket-place.ts";
import type { ArchivePlace } from "../../backup/archive/archive-place.ts";
import { openArchive } from "../../backup/archive/archive-reader.ts";
import { bucketArchivePlace } from "../../backup/archive/bucket-archive-place.ts";
import { folderPlace } from "../../backup/archive/folder-place.ts";
import type { Manifest } from "../../backup/archive/manifest.ts";
import type { Fault } from "../../backup/fault.ts";
import { loadTables } from "../../backup/load-tables.ts";
import { makeBackup, makeExport } from "../../backup/make-archive.ts";
import type { Progress, Report } from "../../backup/progress.ts";
import { restoreArchive } from "../../backup/restore-archive.ts";
import { verifyArchive } from "../../backup/verify-archive.ts";
import { verifyServer } from "../../backup/verify-server.ts";
import type { DatabaseTables } from "../../../base/domain/backup/tables.ts";
import { systemClock } from "../../../base/domain/clock.ts";
import { newUuid } from "../../../base/domain/random.ts";
import { invalid, ServiceError } from "../../../base/domain/service-error.ts";
import { requireTablesOf } from "../../../store/database/dump/tables-of-version.ts";
import { artifactPlaceOf, bucketPlaceOf } from "../artifact-place.ts";
import { addToChildEnvironment, readConfig, type HoneConfig } from "../config.ts";
import { databasePlace, type DatabasePlace } from "../database-place.ts";
import { makeFolder } from "../make-folder.ts";
import { packageVersion } from "../package.ts";
import { keepNewFilesPrivate } from "../private-files.ts";
import { withStaging } from "./staging.ts";

export type { Fault, Manifest, Progress };

/** Flags that select the data folder, the database and the artifact storage. */
export interface PlaceFlags {
  readonly data?: string;
  readonly "database-url"?: string;
  readonly blobs?: string;
}

export interface Watching {
  readonly report: Report;
  /** Aborts the operation. */
  readonly signal: AbortSignal;
}

/**
 * Backs up the database and artifacts of a server, which may be running.
 *
 * @param target a folder, or a bucket as `s3://…`
 * @throws ServiceError as `makeBackup`
 */
export async function backup(target: string, flags: PlaceFlags, watching: Watching): Promise<Manifest> {
  const { config, place } = existingPlace(flags);
  const { data } = config.server;
  refuseOwn(target, config);
  const archive = await newArchivePlace(target);
  return withTables(place, { isShared: true }, (tables) =>
    withStaging(data, (staging) =>
      makeBackup(
        { tables, artifacts: artifactsOf(config), staging, clock: systemClock },
        { place: archive, program: packageVersion(), ...watching },
      ),
    ),
  );
}

/**
 * Exports only the database.
 *
 * @throws ServiceError as `makeExport`
 */
export async function exportDatabase(
  target: string,
  flags: PlaceFlags,
  watching: Watching,
): Promise<Manifest> {
  const { place } = existingPlace(flags);
  const archive = await newArchivePlace(target);
  return withTables(place, { isShared: true }, (tables) =>
    makeExport({ tables, clock: systemClock }, { place: archive, program: packageVersion(), ...watching }),
  );
}

/**
 * Restores a backup.
 *
 * @throws ServiceError as `restoreArchive`; `conflict` while a server runs
 */
export async function restore(source: string, flags: PlaceFlags, watching: Watching): Promise<Manifest> {
  const archive = await openArchive(archivePlaceOf(source));
  const { config, place } = await newPlace(flags);
  const server = newUuid();
  const artifacts = artifactsOf(config, server);
  return withTables(place, { isShared: false }, async (tables) => {
    try {
      await restoreArchive(archive, { tables, artifacts }, watching);
      return archive.manifest;
    } finally {
      const isLive = async (other: string): Promise<boolean> => other !== server;
      await artifacts.sweepAbandoned({ isLive, isKnown: async () => true });
    }
  });
}

/**
 * Imports an exported database into an empty one; does not touch the data folder.
 *
 * @throws ServiceError as `loadTables`; `conflict` while a server runs
 */
export async function importDatabase(
  source: string,
  flags: PlaceFlags,
  watching: Watching,
): Promise<Manifest> {
  const archive = await openArchive(archivePlaceOf(source));
  const { place } = await newPlace(flags);
  return withTables(place, { isShared: false }, async (tables) => {
    const { version, tables: named } = archive.manifest.database;
    await tables.requireTables(version, named);
    await tables.requireEmpty(version);
    await loadTables(archive, tables, watching);
    return archive.manifest;
  });
}

/**
 * Yields the faults of an archive, or those of the configured server's data if `source` is null.
 *
 * @throws ServiceError as `verifyArchive` and `verifyServer`
 */
export async function* verify(
  source: string | null,
  flags: PlaceFlags,
  watching: Watching,
): AsyncGenerator<Fault, void> {
  if (source !== null) {
    yield* verifyArchive(archivePlaceOf(source), requireTablesOf, watching);
    return;
  }
  const { config, place } = existingPlace(flags);
  const tables = await place.openTables({ isShared: true });
  try {
    yield* verifyServer({ tables, artifacts: artifactsOf(config) }, watching);
  } finally {
    await tables.close();
  }
}

/** Database versions before and after a migration. */
export interface Migration {
  readonly from: number;
  readonly to: number;
}

/**
 * Migrates a database to the newest version without starting a server.
 *
 * @param isChecked true to report the versions without migrating
 * @throws ServiceError `conflict` while a server runs, `unsupported` if this program cannot migrate the database's
 * version
 */
export async function migrateDatabase(flags: PlaceFlags, isChecked: boolean): Promise<Migration> {
  const { place } = existingPlace(flags);
  const { version, newest, isServable } = await place.readVersions();
  if (version === null) throw nothingThere(place);
  if (version > newest && isServable) return { from: version, to: version };
  if (!isServable || (!isChecked && version !== newest)) {
    keepNewFilesPrivate();
    const stores = await place.open({ isShared: false });
    await stores.close();
  }
  return { from: version, to: newest };
}

interface ConfiguredPlace {
  readonly config: HoneConfig;
  readonly place: DatabasePlace;
}

function existingPlace(flags: PlaceFlags): ConfiguredPlace {
  const config = readConfig({ ...flags });
  const place = databasePlace(config);
  if (!place.exists()) throw nothingThere(place);
  keepNewFilesPrivate();
  return { config, place };
}

async function newPlace(flags: PlaceFlags): Promise<ConfiguredPlace> {
  const config = readConfig({ ...flags });
  keepNewFilesPrivate();
  await makeFolder(config.server.data, "--data");
  for (const folder of blobsFolders(config)) await makeFolder(folder, "--blobs");
  const place = databasePlace(config);
  await makeFolder(place.folder, "--database-url");
  return { config, place };
}

async function withTables<Result>(
  place: DatabasePlace,
  options: { readonly isShared: boolean },
  use: (tables: DatabaseTables) => Promise<Result>,
): Promise<Result> {
  const tables = await place.openTables(options);
  try {
    return await use(tables);
  } finally {
    await tables.close();
  }
}

/** Returns the folder of adapters and files, which several servers may share; an empty list if they are in a bucket. */
function blobsFolders(config: HoneConfig): readonly string[] {
  const place = artifactPlaceOf(config);
  return place.kind === "folder" ? [place.root] : [];
}

function artifactsOf(config: HoneConfig, server = "reader"): ArtifactStore {
  const place = artifactPlaceOf(config);
  if (place.kind === "bucket") addToChildEnvironment(storeEnvironment);
  return openArtifacts(place, { server: () => server });
}

/** Returns the location of an archive: a folder, or a bucket for `s3://…`. */
function archivePlaceOf(text: string): ArchivePlace {
  if (!isBucketUrl(text)) return folderPlace(resolve(text));
  addToChildEnvironment(storeEnvironment);
  return bucketArchivePlace(bucketPlaceOf(text, "The bucket"));
}

/**
 * Returns the location of a new archive, whose folder it creates.
 *
 * @throws ServiceError `invalid` if the folder cannot be created
 */
async function newArchivePlace(text: string): Promise<ArchivePlace> {
  if (!isBucketUrl(text)) await makeFolder(resolve(text), "<place>");
  return archivePlaceOf(text);
}

/**
 * @throws ServiceError `invalid` if the target is inside the folders to be copied, or overlaps the artifacts' bucket
 * prefix
 */
function refuseOwn(target: string, config: HoneConfig): void {
  const own = artifactPlaceOf(config);
  if (!isBucketUrl(target)) {
    for (const folder of [config.server.data, ...blobsFolders(config)]) refuseWithin(resolve(target), folder);
    return;
  }
  const { bucket, prefix } = readBucketUrl(target, "The bucket");
  if (own.kind !== "bucket" || own.bucket.bucket !== bucket) return;
  if (!prefix.startsWith(own.bucket.prefix) && !own.bucket.prefix.startsWith(prefix)) return;
  const message = `${target} and HONE_BLOBS overlap, but a copy must be separate. Name another prefix, preferably in another bucket.`;
  throw invalid(message);
}

/**
 * Refuses to write a backup into the data folder: the backup would be lost together with the folder, and could be
 * mistaken for the server's own data.
 */
function refuseWithin(target: string, dataFolder: string): void {
  const below = relative(dataFolder, target);
  const isWithin =
    below === "" || (below !== ".." && !below.startsWith(`..${sep}`) && resolve(below) !== below);
  if (!isWithin) return;
  const message = `The folder ${target} is inside the data folder that it would copy. Name one outside, preferably on another disk.`;
  throw invalid(message);
}

function nothingThere({ name }: DatabasePlace): ServiceError {
  const message = `There is no database ${name}. Name the data folder of a server with --data, and its database with --database-url if it is elsewhere.`;
  return new ServiceError({ code: "not_found", message });
}
