// Tasks that convert stored groups to rows, by kind: pure functions for a worker. They see a large group one piece at
// a time; the state for the next piece is part of the task and of its result.
import type { JsonObject } from "../../../base/domain/text/json.ts";
import type { Trajectory, TrajectoryGroup } from "../../../base/domain/trajectory.ts";
import { cutGroup, groupStart, type Bytes, type GroupCut } from "./group-cut.ts";
import { writeParquetEnd, writeRowGroup, type WrittenGroup } from "./parquet.ts";
import { isWanted, toRow, withoutContent, type GroupHead, type RowFilter, type RowSource } from "./rows.ts";

export interface RowTasks {
  /** Surveys the next piece of a group for the head that its rows need. */
  readonly survey: {
    readonly task: { readonly survey: GroupSurvey; readonly piece: Bytes };
    readonly result: GroupSurvey;
  };
  /** Converts the next pieces of a group to rows. */
  readonly rows: { readonly task: RowTask; readonly result: WrittenRows };
  /** Returns the text after the trajectories in the next piece of a group; null while there are more trajectories. */
  readonly members: {
    readonly task: { readonly progress: MembersProgress; readonly piece: Bytes };
    readonly result: { readonly progress: MembersProgress; readonly text: Bytes | null };
  };
  /** Converts rows to a part of a Parquet file. */
  readonly "row group": {
    readonly task: { readonly lines: readonly Bytes[]; readonly offset: number };
    readonly result: { readonly bytes: Bytes; readonly group: WrittenGroup };
  };
  readonly "parquet end": {
    readonly task: { readonly groups: readonly WrittenGroup[]; readonly offset: number };
    readonly result: { readonly bytes: Bytes };
  };
}

export type RowTaskKind = keyof RowTasks;

/** State of a survey. */
export interface GroupSurvey {
  readonly cut: GroupCut;
  readonly head: GroupHead;
  /** Bytes of the largest trajectory. */
  readonly largestByteCount: number;
}

export const emptySurvey: GroupSurvey = {
  cut: groupStart,
  head: { metadata: null, metrics: null },
  largestByteCount: 0,
};

/** Progress of skipping a group's trajectories. */
export interface MembersProgress {
  readonly cut: GroupCut;
  readonly trajectoryCount: number;
}

export const noMembers: MembersProgress = { cut: groupStart, trajectoryCount: 0 };

/** Progress of writing a group's rows. */
export interface RowProgress {
  readonly cut: GroupCut;
  /** Whole trajectories that were not yet examined. */
  readonly waiting: readonly (readonly Bytes[])[];
  /** Index of the next trajectory in the group. */
  readonly index: number;
  /** Null until the group was read to its end, if it arrives in one go. */
  readonly head: GroupHead | null;
}

export interface RowTask {
  readonly progress: RowProgress;
  readonly pieces: readonly Bytes[];
  readonly source: RowSource;
  readonly part: number;
  readonly groupIndex: number;
  /** Index of the first trajectory to read. */
  readonly from: number;
  readonly filter: RowFilter;
  readonly bounds: RowBounds;
}

/** Limits of the rows requested. */
export interface RowBounds {
  /** Maximum number of rows at a time. */
  readonly count: number;
  /** A row with more bytes is written without its content. */
  readonly bytes: number;
}

export const everyRow: RowBounds = { count: Infinity, bytes: Infinity };

export interface WrittenRows {
  /** One line of JSON per row, with its line feed. */
  readonly bytes: Bytes;
  /** End offset of each line. */
  readonly ends: readonly number[];
  readonly ids: readonly string[];
  /** Bytes of the trajectories that were examined. */
  readonly readByteCount: number;
  readonly progress: RowProgress;
}

/** Bytes of rows after which a task leaves the rest for the next. */
const rowsBytesMax = 1 << 20;
/** A larger member of a group is not repeated in its rows. */
const headBytesMax = 1 << 20;

export const rowTasks: {
  readonly [Kind in RowTaskKind]: (task: RowTasks[Kind]["task"]) => RowTasks[Kind]["result"];
} = {
  survey({ survey, piece }) {
    let { head, largestByteCount } = survey;
    const cut = cutGroup(survey.cut, piece, {
      keptBytes: { trajectories: 0, members: headBytesMax },
      onItem: ({ section, pieces, byteCount }) => {
        if (section === "members") head = withMember(head, pieces);
        else largestByteCount = Math.max(largestByteCount, byteCount);
      },
    });
    return { cut, head, largestByteCount };
  },
  rows(task) {
    const { progress, pieces } = task;
    const waiting = [...progress.waiting];
    let { cut } = progress;
    let head = progress.head ?? emptySurvey.head;
    for (const piece of pieces)
      cut = cutGroup(cut, piece, {
        keptBytes: { trajectories: Infinity, members: progress.head === null ? headBytesMax : 0 },
        onItem: ({ section, pieces: found }) => {
          if (section === "members") head = withMember(head, progress.head === null ? found : null);
          else if (found !== null) waiting.push(found);
        },
      });
    return writeRows(task, { cut, waiting, index: progress.index, head });
  },
  members({ progress, piece }) {
    let { trajectoryCount } = progress;
    let end: number | null = null;
    const cut = cutGroup(progress.cut, piece, {
      keptBytes: { trajectories: 0, members: 0 },
      onItem: ({ section }) => {
        if (section === "trajectories") trajectoryCount += 1;
      },
      onMembers: (at) => {
        end = at;
      },
    });
    return { progress: { cut, trajectoryCount }, text: end === null ? null : piece.subarray(end) };
  },
  "row group": ({ lines, offset }) => writeRowGroup(rowsIn(lines), offset),
  "parquet end": ({ groups, offset }) => ({ bytes: writeParquetEnd(groups, offset) }),
};

/** For a pool of workers, which loads this module. */
export const rowTaskModule = new URL("./row-tasks.js", import.meta.url);
export const openTasks = (): typeof rowTasks => rowTasks;

/** Returns the head with a member's value, if it belongs there. */
function withMember(head: GroupHead, pieces: readonly Bytes[] | null): GroupHead {
  const text = pieces === null ? "" : Buffer.concat(pieces).toString();
  if (!/^"(?:metadata|metrics)":/.test(text)) return head;
  // Safe cast: `readGroupBody` wrote the member.
  return { ...head, ...(JSON.parse(`{${text}}`) as Partial<TrajectoryGroup>) };
}

/** Writes rows of the waiting trajectories until there are enough. */
function writeRows(
  { source, part, groupIndex, from, filter, bounds }: RowTask,
  { cut, waiting, index: first, head }: RowProgress & { readonly head: GroupHead },
): WrittenRows {
  const lines: Bytes[] = [];
  const [ends, ids]: [number[], string[]] = [[], []];
  let [index, byteCount, readByteCount] = [first, 0, 0];
  for (; index - first < waiting.length; index++) {
    if (byteCount >= rowsBytesMax || lines.length >= bounds.count) break;
    if (index < from) continue;
    const stored = Buffer.concat(waiting[index - first]);
    readByteCount += stored.length;
    // Safe cast: `readGroupBody` wrote the trajectory.
    const trajectory = JSON.parse(stored.toString()) as Trajectory;
    if (!isWanted(trajectory, head, filter)) continue;
    const row = toRow(trajectory, {
      source,
      place: { sourceId: source.id, part, group: groupIndex, index },
      head,
    });
    const whole = lineOf(row);
    const line = whole.length > bounds.bytes ? lineOf(withoutContent(row, whole.length)) : whole;
    lines.push(line);
    ids.push(row.id);
    ends.push((byteCount += line.length));
  }
  const progress = { cut, waiting: waiting.slice(index - first), index, head };
  return { bytes: joinPieces(lines, byteCount), ends, ids, readByteCount, progress };
}

function lineOf(row: JsonObject): Bytes {
  return new TextEncoder().encode(`${JSON.stringify(row)}\n`);
}

function joinPieces(lines: readonly Bytes[], byteCount: number): Bytes {
  if (lines.length === 1) return lines[0];
  const bytes = new Uint8Array(byteCount);
  let end = 0;
  for (const line of lines) {
    bytes.set(line, end);
    end += line.length;
  }
  return bytes;
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
