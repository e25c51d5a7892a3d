// Tasks that convert stored groups to rows, by kind. They are pure functions and run in a worker. A large group is
// processed one piece at a time: each task gets the state that the previous task returned.
import type { JsonObject } from "../../../base/domain/text/json.ts";
import type { Trajectory, TrajectoryGroup } from "../../../base/domain/trajectory.ts";
import { cutGroup, groupStart, type Bytes, type GroupCut } from "./group-cut.ts";
import { writeParquetEnd, writeRowGroup, type WrittenGroup } from "./parquet.ts";
import { isWanted, toRow, withoutContent, type GroupHead, type RowFilter, type RowSource } from "./rows.ts";

export interface RowTasks {
  /**
   * Processes the next piece of a group. Finds the metadata and metrics that each of the group's rows repeats, and the
   * size of its largest trajectory.
   */
  readonly survey: {
    readonly task: { readonly survey: GroupSurvey; readonly piece: Bytes };
    readonly result: GroupSurvey;
  };
  /** Converts the next pieces of a group to rows. */
  readonly rows: { readonly task: RowTask; readonly result: WrittenRows };
  /**
   * Skips the trajectories in the next piece of a group. Returns the text after the last trajectory; null if more
   * trajectories follow.
   */
  readonly members: {
    readonly task: { readonly progress: MembersProgress; readonly piece: Bytes };
    readonly result: { readonly progress: MembersProgress; readonly text: Bytes | null };
  };
  /** Converts rows, as lines of JSON, to a row group of a Parquet file. */
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

/** State of a survey after the pieces processed so far. */
export interface GroupSurvey {
  readonly cut: GroupCut;
  readonly head: GroupHead;
  /** Size of the group's largest trajectory in bytes. */
  readonly largestByteCount: number;
}

export const emptySurvey: GroupSurvey = {
  cut: groupStart,
  head: { metadata: null, metrics: null },
  largestByteCount: 0,
};

/** State between two pieces while a group's trajectories are skipped. */
export interface MembersProgress {
  readonly cut: GroupCut;
  readonly trajectoryCount: number;
}

export const noMembers: MembersProgress = { cut: groupStart, trajectoryCount: 0 };

/** State between two tasks while a group's rows are written. */
export interface RowProgress {
  readonly cut: GroupCut;
  /** Complete trajectories that no task has examined yet. */
  readonly waiting: readonly (readonly Bytes[])[];
  /** Index within the group of the first trajectory in `waiting`. */
  readonly index: number;
  /**
   * Values that all rows of the group repeat. Null if the task receives the whole group at once and finds them itself.
   */
  readonly head: GroupHead | null;
}

export interface RowTask {
  readonly progress: RowProgress;
  readonly pieces: readonly Bytes[];
  readonly source: RowSource;
  readonly part: number;
  readonly groupIndex: number;
  /** Index within the group of the first trajectory to examine. */
  readonly from: number;
  readonly filter: RowFilter;
  readonly bounds: RowBounds;
}

/** Limits on the rows that a request gets. */
export interface RowBounds {
  /** Maximum number of rows that one task writes. */
  readonly count: number;
  /** Maximum size of a row in bytes. A larger row is written without its content. */
  readonly bytes: number;
}

export const everyRow: RowBounds = { count: Infinity, bytes: Infinity };

export interface WrittenRows {
  /** Rows as lines of JSON, each with a line feed at its end. */
  readonly bytes: Bytes;
  /** For each line, the offset in `bytes` at which it ends. */
  readonly ends: readonly number[];
  readonly ids: readonly string[];
  /** Total size in bytes of the trajectories that the task examined. */
  readonly readByteCount: number;
  readonly progress: RowProgress;
}

/** Number of bytes of rows after which a task stops. The next task writes the remaining rows. */
const rowsBytesMax = 1 << 20;
/** Maximum size in bytes of a group's metadata or metrics. Larger ones are not repeated in the group's rows. */
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

/** URL of this module, which worker pools load. */
export const rowTaskModule = new URL("./row-tasks.js", import.meta.url);
export const openTasks = (): typeof rowTasks => rowTasks;

/** Returns the head of a group, to which the member is added if it is the group's metadata or metrics. */
function withMember(head: GroupHead, pieces: readonly Bytes[] | null): GroupHead {
  const text = pieces === null ? "" : Buffer.concat(pieces).toString();
  if (!/^"(?:metadata|metrics)":/.test(text)) return head;
  // Safe cast: `readGroupBody` has written the member.
  return { ...head, ...(JSON.parse(`{${text}}`) as Partial<TrajectoryGroup>) };
}

/** Writes rows of the waiting trajectories until a limit is reached or no trajectory is left. */
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
    // Safe cast: `readGroupBody` has written the trajectory.
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
