// Checks the data folder: write access, disk space, the database, and the admin key. Changes nothing: an older
// database is not migrated, and a missing folder is not created.
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { systemClock } from "../../../base/domain/clock.ts";
import { damageCure } from "../../../base/domain/transient-errors/damaged-database.ts";
import { sizeText } from "../../../base/domain/text/size-text.ts";
import { type BucketPlace, bucketUrl } from "../../../store/artifacts/s3/bucket-place.ts";
import { storeEnvironment } from "../../../store/artifacts/s3/bucket-client.ts";
import { checkBucket } from "../../../store/artifacts/s3/check-bucket.ts";
import { baselineVersion } from "../../../store/database/migrations/baseline.ts";
import { artifactPlaceOf } from "../artifact-place.ts";
import { createDiskCheck } from "../checks/disk-check.ts";
import { addToChildEnvironment, type HoneConfig } from "../config.ts";
import { databasePlace, type DatabasePlace } from "../database-place.ts";
import { fault, ok, reasonOf, warning, type Finding } from "./finding.ts";

/** Returns the findings about a data folder. Each may depend on the findings before it. */
export async function dataFindings(config: HoneConfig): Promise<readonly Finding[]> {
  const { data } = config.server;
  const artifacts = artifactPlaceOf(config);
  return [
    await folderFinding({ check: "data folder", folder: data, flag: "--data" }),
    await diskFinding(data),
    ...(artifacts.kind === "bucket" ? [await bucketFinding(artifacts.bucket)] : []),
    ...(artifacts.kind === "folder" && artifacts.root !== data
      ? [await folderFinding({ check: "blobs", folder: artifacts.root, flag: "--blobs" })]
      : []),
    await databaseFinding(databasePlace(config)),
    keyFinding(config),
  ];
}

async function folderFinding({
  check,
  folder,
  flag,
}: {
  readonly check: string;
  readonly folder: string;
  /** Flag that sets the folder. */
  readonly flag: string;
}): Promise<Finding> {
  const cure = `Name another with ${flag}, or give this user the right to write there.`;
  if (!existsSync(folder)) {
    const parent = existingParent(folder);
    const isFolder = statSync(parent).isDirectory();
    if (isFolder && canWrite(parent))
      return ok(check, `${folder} does not exist; the first start creates it`);
    const reason = isFolder ? "cannot be written" : "is a file, not a folder";
    return fault(check, `${folder} cannot be created: ${parent} ${reason}`, cure);
  }
  try {
    if (!statSync(folder).isDirectory()) return fault(check, `${folder} is not a folder`, cure);
    await createDiskCheck([folder], systemClock)();
    return ok(check, folder);
  } catch (error) {
    return fault(check, `${folder} cannot be written: ${reasonOf(error)}`, cure);
  }
}

/** Checks the bucket by writing, reading and removing an object. */
async function bucketFinding(bucket: BucketPlace): Promise<Finding> {
  addToChildEnvironment(storeEnvironment);
  try {
    await checkBucket(bucket);
    return ok("blobs", `${bucketUrl(bucket)} can be written and read`);
  } catch (error) {
    return fault(
      "blobs",
      reasonOf(error),
      "Name the bucket with --blobs, the store with AWS_ENDPOINT_URL, and credentials with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
    );
  }
}

function existingParent(folder: string): string {
  let path = folder;
  while (!existsSync(path)) path = dirname(path);
  return path;
}

function canWrite(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return statSync(folder).isDirectory();
  } catch {
    return false;
  }
}

/**
 * Bounds of the free disk space in bytes: less than the first is a fault, less than the second a warning. A small job
 * needs a few megabytes; the converted base of a model with 135 M parameters needs half a gigabyte.
 */
const [freeBytesMin, freeBytesEnough] = [100e6, 2e9];

async function diskFinding(folder: string): Promise<Finding> {
  const { bavail, bsize } = await statfs(existingParent(folder));
  const free = bavail * bsize;
  const message = `${sizeText(free)} free`;
  const cure = "Free space on the disk, or put the data folder on another one with --data.";
  if (free < freeBytesMin) return fault("disk", message, cure);
  return free < freeBytesEnough
    ? warning("disk", `${message}: adapters, logs and converted weights may soon fill it`, cure)
    : ok("disk", message);
}

async function databaseFinding(place: DatabasePlace): Promise<Finding> {
  if (!place.exists()) return ok("database", `${place.name} does not exist; the first start creates it`);
  try {
    const { version, newest, isServable, servesFrom } = await place.readVersions();
    const damage = version === null ? [] : await place.findDamage();
    if (damage.length > 0) return fault("database", damageText(place.name, damage), damageCure);
    if (version === null) return ok("database", `${place.name} is empty; the next start fills it`);
    if (version > newest && isServable)
      return ok(
        "database",
        `${place.name} has version ${version}; this program knows up to ${newest}, and works next to the newer one`,
      );
    if (version > newest)
      return fault(
        "database",
        `${place.name} has version ${version}, and this program knows up to ${newest}`,
        "A newer program wrote it: upgrade this one, or use another data folder.",
      );
    if (!isServable)
      return fault(
        "database",
        `${place.name} has version ${version}, and this program needs version ${baselineVersion} or newer`,
        "An unreleased build wrote it: export what you need with that build, and use an empty data folder or database.",
      );
    if (version < newest)
      return warning(
        "database",
        `${place.name} has version ${version}; the next start migrates it to ${newest}, which programs can open that know ${servesFrom}`,
        "Stop the server and copy the data folder first if you may go back.",
      );
    return ok("database", `${place.name}, version ${version}`);
  } catch (error) {
    return fault("database", reasonOf(error), place.cure);
  }
}

/** Maximum number of faults that are listed, because a damaged file can have many. */
const damageShown = 3;

function damageText(name: string, damage: readonly string[]): string {
  const more = damage.length > damageShown ? `; and ${damage.length - damageShown} more` : "";
  return `${name} is damaged: ${damage.slice(0, damageShown).join("; ")}${more}`;
}

/** Checks whether commands on this machine can find a key. */
function keyFinding(config: HoneConfig): Finding {
  const { data, apiKey, auth } = config.server;
  const file = join(data, "admin-key");
  if (auth === "off") return ok("key", "none is needed (auth is off)");
  if (apiKey !== null) return ok("key", "HONE_API_KEY, or its flag");
  if (existsSync(file)) return keyFileFinding(file);
  if (!databasePlace(config).exists()) return ok("key", `the first start creates one in ${file}`);
  return warning(
    "key",
    `${file} is not there: commands need --key or HONE_API_KEY`,
    "`hone keys create --role admin` creates another key.",
  );
}

function keyFileFinding(file: string): Finding {
  try {
    accessSync(file, constants.R_OK);
  } catch {
    return warning(
      "key",
      `${file} cannot be read by this user: commands need --key or HONE_API_KEY`,
      "Run commands as the user who runs the server, or create a key with `hone keys create`.",
    );
  }
  const isOthers = process.platform !== "win32" && (statSync(file).mode & 0o077) !== 0;
  return isOthers
    ? warning("key", `${file} can be read by other users of this machine`, `Run chmod go= ${file}.`)
    : ok("key", file);
}
