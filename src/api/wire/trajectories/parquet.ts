// Writes rows of trajectories as an Apache Parquet file, one row group at a time. A finished row group can be sent
// immediately, because the file's footer needs only its metadata. Nested values become JSON texts, so that every file
// has the same columns.
import { ByteWriter, ParquetWriter, schemaFromColumnData } from "hyparquet-writer";
import type { JsonObject } from "../../../base/domain/text/json.ts";

type ColumnType = "STRING" | "INT64" | "DOUBLE" | "TIMESTAMP";

interface Column {
  readonly name: string;
  readonly type: ColumnType;
  readonly nullable: boolean;
  readonly valueOf: (row: JsonObject) => unknown;
}

const text = (name: string): Column => ({
  name,
  type: "STRING",
  nullable: false,
  valueOf: (row) => row[name],
});
const json = (name: string): Column => ({
  name,
  type: "STRING",
  nullable: false,
  valueOf: (row) => JSON.stringify(row[name]),
});
const integer = (name: string, nullable = false): Column => ({
  name,
  type: "INT64",
  nullable,
  valueOf: (row) => (row[name] === null ? null : BigInt(Math.trunc(Number(row[name])))),
});

const columns: readonly Column[] = [
  text("id"),
  text("source"),
  text("source_id"),
  text("split"),
  integer("step", true),
  {
    name: "recorded_at",
    type: "TIMESTAMP",
    nullable: false,
    // Safe cast: `toRow` has written a text.
    valueOf: (row) => new Date(row["recorded_at"] as string),
  },
  integer("group_index"),
  integer("index"),
  { name: "reward", type: "DOUBLE", nullable: false, valueOf: (row) => row["reward"] },
  json("metrics"),
  json("metadata"),
  json("group_metrics"),
  json("group_metadata"),
  json("messages_and_choices"),
  json("tools"),
  json("additional_histories"),
  integer("initial_policy_version", true),
  integer("final_policy_version", true),
  json("logs"),
  { name: "start_time", type: "STRING", nullable: true, valueOf: (row) => row["start_time"] },
  { name: "extra", type: "STRING", nullable: false, valueOf: extraOf },
];

const named = new Set(columns.map(({ name }) => name));

/** Returns those fields of the row that have no column of their own, as JSON. */
function extraOf(row: JsonObject): string {
  return JSON.stringify(Object.fromEntries(Object.entries(row).filter(([name]) => !named.has(name))));
}

/** Metadata of a row group, which the file's footer needs. Plain data, so that a worker can return it. */
export type WrittenGroup = ParquetWriter["row_groups"][number];

/**
 * Writes a row group.
 *
 * @param rows rows of the group; at least one
 * @param offset offset in the file at which the row group begins
 */
export function writeRowGroup(
  rows: readonly JsonObject[],
  offset: number,
): { readonly bytes: Uint8Array<ArrayBuffer>; readonly group: WrittenGroup } {
  const writer = new ByteWriter();
  const parquet = parquetAt(writer, offset);
  const columnData = columns.map(({ name, valueOf }) => ({
    name,
    data: rows.map(valueOf),
    offsetIndex: false,
  }));
  void parquet.write({ columnData, rowGroupSize: rows.length });
  return { bytes: new Uint8Array(writer.getBuffer()), group: parquet.row_groups[0] };
}

/** Writes the footer of a file that has these row groups. */
export function writeParquetEnd(groups: readonly WrittenGroup[], offset: number): Uint8Array<ArrayBuffer> {
  const writer = new ByteWriter();
  const parquet = parquetAt(writer, offset);
  parquet.row_groups = [...groups];
  parquet.num_rows = groups.reduce((sum, { num_rows: count }) => sum + count, 0n);
  void parquet.finish();
  return new Uint8Array(writer.getBuffer());
}

/**
 * Returns a Parquet writer that continues at an offset of a file. Discards the header that the library has already
 * written.
 */
function parquetAt(writer: ByteWriter, offset: number): ParquetWriter {
  const schema = schemaFromColumnData({
    columnData: columns.map(({ name, type, nullable }) => ({ name, type, nullable, data: [] })),
  });
  const parquet = new ParquetWriter({ writer, schema, createdBy: "hone" });
  writer.index = 0;
  writer.offset = offset;
  return parquet;
}
