// Finds the artifacts that database rows refer to, and checks an artifact's files. Has no side effects.
import type { Cell, TableColumns } from "../../base/domain/backup/tables.ts";
import { assert } from "../../base/domain/assert.ts";
import { adapterFiles, adapterSeal } from "../../inference/architectures/hashes/adapter-hash.ts";
import { hashOfHashes, type Seal } from "../../store/artifacts/seal.ts";
import type { Fault } from "./fault.ts";

/** An artifact that a database row refers to. */
export interface Reference {
  /** Key of the artifact. */
  readonly key: string;
  /** Description of the artifact's owner for messages, such as "version 3 of the model 2f1c…". */
  readonly owner: string;
  /** Names of the artifact's files; empty for an artifact that is a single file. */
  readonly files: readonly string[];
  /** Hash of the files when they were stored; null if none was recorded. */
  readonly seal: Seal | null;
  /**
   * Size in bytes of an artifact that is a single file, when it was stored; null for an artifact with several files.
   */
  readonly byteCount: number | null;
}

type Row = (column: string) => Cell;

/** For each table, a function that returns a row's reference to an artifact. */
const referencesOfTable: Readonly<Record<string, (row: Row) => Reference | null>> = {
  model_versions: (row) => {
    const key = row("adapter_folder");
    if (key === null || row("is_deleted") !== 0) return null;
    const hash = row("adapter_hash");
    return {
      key: String(key),
      owner: `version ${row("step")} of the model ${row("model_id")}`,
      files: Object.values(adapterFiles),
      seal: adapterSeal(hash === null ? null : String(hash)),
      byteCount: null,
    };
  },
  files: (row) => fileReference(`files/${row("id")}`, `the file ${row("id")}`, row("byte_count")),
  traced_files: (row) =>
    fileReference(
      `traces/${row("file_id")}`,
      `a file of the traces of ${row("project_id")}`,
      row("byte_count"),
    ),
};

/** Tables whose rows refer to artifacts. */
export const referringTables: readonly string[] = Object.keys(referencesOfTable);

function fileReference(key: string, owner: string, byteCount: Cell): Reference {
  return { key, owner, files: [], seal: null, byteCount: Number(byteCount) };
}

/** Returns the artifact that a row refers to; null if there is none. */
export function referenceOf({ table, columns }: TableColumns, row: readonly Cell[]): Reference | null {
  return (
    referencesOfTable[table]?.((column) => {
      const index = columns.indexOf(column);
      assert(index >= 0, `the table ${table} has a column ${column}`);
      return row[index] ?? null;
    }) ?? null
  );
}

/**
 * Compares an artifact's files with the reference. Returns the fault, or null if they are intact.
 *
 * @param found.hashes hex SHA-256 of each file by name; the name is empty for an artifact that is a single file
 * @param found.bytes size of that single file; null if unknown
 */
export function faultOfFiles(
  { key, owner, files, seal, byteCount }: Reference,
  { hashes, bytes }: { readonly hashes: ReadonlyMap<string, string>; readonly bytes: number | null },
): Fault | null {
  const missing = (files.length === 0 ? [""] : files).filter((name) => !hashes.has(name));
  if (missing.length > 0) {
    const names = missing.map((name) => (name === "" ? key : `${key}/${name}`)).join(" and ");
    return {
      what: key,
      message: `${names} of ${owner} ${missing.length === 1 ? "is" : "are"} missing.`,
    };
  }
  if (byteCount !== null && bytes !== null && bytes !== byteCount)
    return {
      what: key,
      message: `${key} has ${bytes} bytes, but had ${byteCount} when ${owner} was stored.`,
    };
  if (seal === null) return null;
  const now = hashOfHashes(seal.files.map((name) => [name, hashes.get(name) ?? ""]));
  if (now === seal.hash) return null;
  return {
    what: key,
    message: `The files of ${key} hash to ${now.slice(0, 12)}, but hashed to ${seal.hash.slice(0, 12)} when ${owner} was stored.`,
  };
}
