// The manifest of an archive, `manifest.json`: its source, its tables, and faults found when it was made. It is
// written last: a folder without one is not an archive.
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
  /** Only the database, or the database with its artifacts. */
  readonly content: "database" | "everything";
  /** Time of the snapshot, ISO 8601. */
  readonly createdAt: string;
  /** Version of the program that made it. */
  readonly program: string;
  readonly database: {
    readonly kind: string;
    readonly version: number;
    /** Parents before their children. */
    readonly tables: readonly ArchivedTable[];
  };
  /** Number of files in `SHA256SUMS`, and their total size in bytes. */
  readonly files: number;
  readonly bytes: number;
  /** Hex SHA-256 of `SHA256SUMS`. */
  readonly sumsSha256: string;
  readonly faults: readonly Fault[];
}

/** A manifest without its format. */
export type ManifestContent = Omit<Manifest, "format" | "formatVersion">;

const format = "hone-archive";
/** The only version that this program reads and writes. */
const formatVersion = 1;

/** Returns a manifest as text, with its hash at the end. */
export function manifestText(content: ManifestContent): string {
  const manifest = { format, formatVersion, ...content };
  return `${JSON.stringify({ ...manifest, sha256: hashOf(manifest) }, null, 2)}\n`;
}

/**
 * Parses a manifest.
 *
 * @throws ServiceError `invalid` for an invalid or changed manifest; `unsupported` for one of a newer program
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

/** Checks the types: the hash is no protection, since anyone who edits a manifest can update it. */
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
    // Reported below like any other invalid text.
  }
  throw invalid(path, "it was changed");
}

/** JSON keeps the order of names. */
function hashOf(manifest: object): string {
  return createHash("sha256").update(JSON.stringify(manifest)).digest("hex");
}

function invalid(path: string, why: string): ServiceError {
  return new ServiceError({ code: "invalid", message: `${path} cannot be read: ${why}. Take another copy.` });
}
