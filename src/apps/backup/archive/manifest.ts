// What an archive says of itself, in `manifest.json`: where it is from, which tables it has, and what was wrong when it was made.
// It comes last: a folder without one is none.
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
  /** A database alone, or with all that it names. */
  readonly content: "database" | "everything";
  /** The moment that is in it, as ISO 8601. */
  readonly createdAt: string;
  /** The version of the program that made it. */
  readonly program: string;
  readonly database: {
    readonly kind: string;
    readonly version: number;
    /** Parents before their children. */
    readonly tables: readonly ArchivedTable[];
  };
  /** How many files `SHA256SUMS` names, and how many bytes they have. */
  readonly files: number;
  readonly bytes: number;
  /** Hex SHA-256 of `SHA256SUMS`. */
  readonly sumsSha256: string;
  readonly faults: readonly Fault[];
}

/** What a manifest is made of. */
export type ManifestContent = Omit<Manifest, "format" | "formatVersion">;

const format = "hone-archive";
/** Of what this program writes; it reads no other. */
const formatVersion = 1;

/** A manifest as text, with its own hash at the end. */
export function manifestText(content: ManifestContent): string {
  const manifest = { format, formatVersion, ...content };
  return `${JSON.stringify({ ...manifest, sha256: hashOf(manifest) }, null, 2)}\n`;
}

/**
 * Reads one.
 *
 * @throws ServiceError `invalid` for what is none, or was changed; `unsupported` for one of a newer program
 */
export function readManifest(text: string, path: string): Manifest {
  const { sha256, ...manifest } = parsed(text, path);
  if (manifest["format"] !== format) throw invalid(path, "it is no manifest of an archive of Hone");
  if (manifest["formatVersion"] !== formatVersion)
    throw new ServiceError({
      code: "unsupported",
      message: `${path} has the format ${JSON.stringify(manifest["formatVersion"])}; this program reads ${formatVersion}. Use the version of Hone that made it, or a newer one.`,
    });
  if (sha256 !== hashOf(manifest)) throw invalid(path, "it is not as it was written");
  if (!isManifest(manifest)) throw invalid(path, "it has other fields than a manifest has");
  return manifest;
}

/** The hash does not protect a manifest: anyone who edits it can write a new hash. */
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
    // As of any other text that is no manifest.
  }
  throw invalid(path, "it is not as it was written");
}

/** JSON keeps the order of names. */
function hashOf(manifest: object): string {
  return createHash("sha256").update(JSON.stringify(manifest)).digest("hex");
}

function invalid(path: string, why: string): ServiceError {
  return new ServiceError({ code: "invalid", message: `${path} cannot be read: ${why}. Take another copy.` });
}
