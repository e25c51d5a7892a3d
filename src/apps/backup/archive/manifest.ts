// The manifest of an archive, `manifest.json`. It describes what was copied, lists the tables, and lists faults found
// while copying. It is written last, so a folder without a manifest is not an archive.
import { createHash } from "node:crypto";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { TableColumns } from "../../../base/domain/backup/tables.ts";
import type { Fault } from "../fault.ts";

export interface ArchivedTable extends TableColumns {
  readonly rows: number;
}

export interface Manifest {
  readonly format: typeof format;
  readonly formatVersion: number;
  /** `database` for an export, which has no artifacts; `everything` for a backup. */
  readonly content: "database" | "everything";
  /** Time of the database snapshot, ISO 8601. */
  readonly createdAt: string;
  /** Version of the program that made the archive. */
  readonly program: string;
  readonly database: {
    readonly kind: string;
    readonly version: number;
    /** Tables in an order in which each comes after the tables that its rows refer to. */
    readonly tables: readonly ArchivedTable[];
  };
  /** Number of files that `SHA256SUMS` lists, and their total size in bytes. */
  readonly files: number;
  readonly bytes: number;
  /** Hex SHA-256 of `SHA256SUMS`. */
  readonly sumsSha256: string;
  readonly faults: readonly Fault[];
}

/** A manifest without the fields that identify the format. */
export type ManifestContent = Omit<Manifest, "format" | "formatVersion">;

const format = "hone-archive";
/** Format version that this program writes, and the only one that it reads. */
const formatVersion = 1;

/** Returns a manifest as JSON text, with its hash as the last field. */
export function manifestText(content: ManifestContent): string {
  const manifest = { format, formatVersion, ...content };
  return `${JSON.stringify({ ...manifest, sha256: hashOf(manifest) }, null, 2)}\n`;
}

/**
 * Parses a manifest and verifies its hash.
 *
 * @throws ServiceError `invalid` for a malformed or changed manifest; `unsupported` if a newer program wrote it
 */
export function readManifest(text: string, path: string): Manifest {
  const { sha256, ...manifest } = parsed(text, path);
  if (manifest["format"] !== format) throw invalid(path, "it is not the manifest of a Hone archive");
  if (manifest["formatVersion"] !== formatVersion)
    throw new ServiceError({
      code: "unsupported",
      message: `${path} has the format ${JSON.stringify(manifest["formatVersion"])}; this program reads ${formatVersion}. Use the version of Hone that made it, or a newer one.`,
    });
  if (sha256 !== hashOf(manifest)) throw invalid(path, "it was changed");
  if (!isManifest(manifest)) throw invalid(path, "its fields are not those of a manifest");
  return manifest;
}

/** Checks the types of all fields. The hash does not suffice, because anyone who edits a manifest can recompute it. */
function isManifest(found: Readonly<Record<string, unknown>>): found is typeof found & Manifest {
  const { content, createdAt, program, database, files, bytes, sumsSha256, faults } = found;
  return (
    (content === "database" || content === "everything") &&
    [createdAt, program, sumsSha256].every((text) => typeof text === "string") &&
    isCount(files) &&
    isCount(bytes) &&
    isObject(database) &&
    typeof database["kind"] === "string" &&
    isCount(database["version"]) &&
    isListOf(database["tables"], isTable) &&
    isListOf(faults, (fault) => typeof fault["what"] === "string" && typeof fault["message"] === "string")
  );
}

function isTable({ table, columns, rows }: Readonly<Record<string, unknown>>): boolean {
  const areNames = Array.isArray(columns) && columns.every((column) => typeof column === "string");
  return typeof table === "string" && areNames && isCount(rows);
}

function isListOf(value: unknown, isOne: (one: Readonly<Record<string, unknown>>) => boolean): boolean {
  return Array.isArray(value) && value.every((one) => isObject(one) && isOne(one));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function parsed(text: string, path: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return { ...value };
  } catch {
    // Text that is not JSON is reported below.
  }
  throw invalid(path, "it was changed");
}

/**
 * Returns the hash of a manifest. It is computed from the parsed manifest, so formatting does not matter; JSON keeps
 * the order of the fields.
 */
function hashOf(manifest: object): string {
  return createHash("sha256").update(JSON.stringify(manifest)).digest("hex");
}

function invalid(path: string, why: string): ServiceError {
  return new ServiceError({ code: "invalid", message: `${path} cannot be read: ${why}. Take another copy.` });
}
