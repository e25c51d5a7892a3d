// What is done with stored groups to make rows of them, by kind: pure functions for a worker, since a group can have
// hundreds of megabytes.
import type { JsonObject, TrajectoryGroup } from "../../domain/trajectory.ts";
import { writeParquetEnd, writeRowGroup, type WrittenGroup } from "./parquet.ts";
import { rowsOfGroup, withoutContent, type RowFilter, type RowSource, type TrajectoryRow } from "./rows.ts";

type Bytes = Uint8Array<ArrayBuffer>;

export interface RowTasks {
  /** From the pieces of a stored group to its rows. */
  readonly rows: {
    readonly task: {
      readonly pieces: readonly Bytes[];
      readonly source: RowSource;
      readonly part: number;
      readonly groupIndex: number;
      readonly from: number;
      readonly filter: RowFilter;
      readonly bounds: RowBounds;
    };
    readonly result: WrittenRows;
  };
  /** From rows to a part of a Parquet file. */
  readonly "row group": {
    readonly task: { readonly lines: readonly Bytes[]; readonly offset: number };
    readonly result: { readonly bytes: Bytes; readonly group: WrittenGroup };
  };
  readonly "parquet end": {
    readonly task: { readonly groups: readonly WrittenGroup[]; readonly offset: number };
    readonly result: { readonly bytes: Bytes };
  };
}

/** What is made of a group at most. */
export interface RowBounds {
  /** No more rows than this. */
  readonly count: number;
  /** No more rows once they have more bytes than this; a row that alone has more comes without its content. */
  readonly bytes: number;
}

export const everyRow: RowBounds = { count: Infinity, bytes: Infinity };

export interface WrittenRows {
  /** A line of JSON for each, with its line feed. */
  readonly bytes: Bytes;
  /** Where each line ends. */
  readonly ends: readonly number[];
  readonly ids: readonly string[];
  /** How many trajectories the group has, wanted or not. */
  readonly trajectoryCount: number;
}

export type RowTaskKind = keyof RowTasks;

export const rowTasks: {
  readonly [Kind in RowTaskKind]: (task: RowTasks[Kind]["task"]) => RowTasks[Kind]["result"];
} = {
  rows: ({ pieces, source, part, groupIndex, from, filter, bounds }) => {
    // The line is what `readGroupBody` made of a group.
    const group = JSON.parse(Buffer.concat(pieces).toString()) as TrajectoryGroup;
    const rows = rowsOfGroup(group, { source, part, groupIndex }, { from, filter });
    return { ...linesOf(rows, bounds), trajectoryCount: group.trajectories.length };
  },
  "row group": ({ lines, offset }) => writeRowGroup(rowsIn(lines), offset),
  "parquet end": ({ groups, offset }) => ({ bytes: writeParquetEnd(groups, offset) }),
};

function linesOf(rows: Iterable<TrajectoryRow>, bounds: RowBounds): Omit<WrittenRows, "trajectoryCount"> {
  const encoder = new TextEncoder();
  const lineOf = (row: JsonObject): Bytes => encoder.encode(`${JSON.stringify(row)}\n`);
  const lines: Bytes[] = [];
  const [ends, ids]: [number[], string[]] = [[], []];
  let byteCount = 0;
  for (const row of rows) {
    const whole = lineOf(row);
    const line = whole.length > bounds.bytes ? lineOf(withoutContent(row, whole.length)) : whole;
    lines.push(line);
    ids.push(row.id);
    ends.push((byteCount += line.length));
    if (lines.length >= bounds.count || byteCount > bounds.bytes) break;
  }
  const bytes = new Uint8Array(byteCount);
  lines.forEach((line, index) => bytes.set(line, ends[index] - line.length));
  return { bytes, ends, ids };
}

function rowsIn(lines: readonly Bytes[]): readonly JsonObject[] {
  return lines.flatMap((bytes) =>
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
      .toString()
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as JsonObject),
  );
}
