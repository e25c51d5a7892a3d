// What of the artifacts a database names, by the rows of its tables, and what each has to be. Pure.
import type { Cell, TableColumns } from "../../base/domain/backup/tables.ts";
import { assert } from "../../base/domain/assert.ts";
import { adapterFiles, adapterSeal } from "../../inference/architectures/hashes/adapter-hash.ts";
import { hashOfHashes, type Seal } from "../../store/artifacts/seal.ts";
import type { Fault } from "./fault.ts";

/** An artifact that a row names. */
export interface Reference {
  /** Its key. */
  readonly key: string;
  /** Whose it is, for people: "version 3 of the model 2f1c…". */
  readonly owner: string;
  /** Files that it has; none where it is a file itself. */
  readonly files: readonly string[];
  /** Null where it was not recorded. */
  readonly seal: Seal | null;
  /** Of a file. */
  readonly byteCount: number | null;
}

type Row = (column: string) => Cell;

/** By table: what a row names. */
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

/** The tables whose rows name artifacts. */
export const referringTables: readonly string[] = Object.keys(referencesOfTable);

function fileReference(key: string, owner: string, byteCount: Cell): Reference {
  return { key, owner, files: [], seal: null, byteCount: Number(byteCount) };
}

/** What a row names; null where it names nothing. */
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
 * What is wrong with an artifact of these files; null where nothing is.
 *
 * @param found.hashes the hex SHA-256 of each file by its name, which is empty of an artifact that is a file
 * @param found.bytes of such a file; null where it is not known
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
      message: `${names} should be there for ${owner}, and ${missing.length === 1 ? "is" : "are"} not.`,
    };
  }
  if (byteCount !== null && bytes !== null && bytes !== byteCount)
    return {
      what: key,
      message: `${key} has ${bytes} bytes, and had ${byteCount} when ${owner} was stored.`,
    };
  if (seal === null) return null;
  const now = hashOfHashes(seal.files.map((name) => [name, hashes.get(name) ?? ""]));
  if (now === seal.hash) return null;
  return {
    what: key,
    message: `The files of ${key} hash to ${now.slice(0, 12)}, and hashed to ${seal.hash.slice(0, 12)} when ${owner} was stored.`,
  };
}
