// What is done with stored groups to make rows of them, by kind: pure functions for a worker, since a group can have
// hundreds of megabytes.
import type { JsonObject, TrajectoryGroup } from "../../domain/trajectory.ts";
import { writeParquetEnd, writeRowGroup, type WrittenGroup } from "./parquet.ts";
import { rowsOfGroup, type RowFilter, type RowSource } from "./rows.ts";

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
  rows: ({ pieces, source, part, groupIndex, from, filter }) => {
    // The line is what `readGroupBody` made of a group.
    const group = JSON.parse(Buffer.concat(pieces).toString()) as TrajectoryGroup;
    const rows = rowsOfGroup(group, { source, part, groupIndex }, { from, filter });
    return { ...linesOf(rows), trajectoryCount: group.trajectories.length };
  },
  "row group": ({ lines, offset }) => writeRowGroup(rowsIn(lines), offset),
  "parquet end": ({ groups, offset }) => ({ bytes: writeParquetEnd(groups, offset) }),
};

function linesOf(rows: readonly JsonObject[]): Omit<WrittenRows, "trajectoryCount"> {
  const encoder = new TextEncoder();
  const lines = rows.map((row) => encoder.encode(`${JSON.stringify(row)}\n`));
  const ends: number[] = [];
  const bytes = new Uint8Array(lines.reduce((sum, line) => sum + line.length, 0));
  let end = 0;
  for (const line of lines) {
    bytes.set(line, end);
    ends.push((end += line.length));
  }
  // A text, as `rowsOfGroup` wrote it.
  return { bytes, ends, ids: rows.map(({ id }) => id as string) };
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
