// Reads the rows of one log or job after a position. A small group of trajectories is read whole. A large group is read
// twice: first to find its head (the members that each of its rows repeats), then piece by piece, with only one
// trajectory in memory.
import { unfolded } from "../../../base/domain/text/folded-lines.ts";
import { groupStart, isComplete, type Bytes } from "../../wire/trajectories/group-cut.ts";
import {
  emptySurvey,
  type GroupSurvey,
  type RowProgress,
  type RowTask,
  type WrittenRows,
} from "../../wire/trajectories/row-tasks.ts";
import type { GroupHead, RowPosition } from "../../wire/trajectories/rows.ts";
import { readerBytes, type ReadShare } from "../memory-budget/read-budget.ts";
import type { RowReader } from "./row-reader.ts";

/** Rows read together, possibly none, and the position up to which trajectories were read. */
export interface RowChunk extends Pick<WrittenRows, "bytes" | "ends" | "ids"> {
  /** Position of the last trajectory read, whether or not it matched the filter. */
  readonly last: RowPosition;
  /** Number of stored bytes read for this chunk. */
  readonly byteCount: number;
}

export interface StoredSource {
  /** Returns the folded lines in which the groups are stored, beginning with part number `part`. */
  readonly linesFrom: (part: number) => Promise<AsyncIterable<string>>;
  readonly reader: RowReader;
  readonly share: Pick<ReadShare, "hold">;
  readonly client: string;
}

type Asked = Pick<RowTask, "source" | "filter" | "bounds">;

/** Position of a stored group, and the index of its first trajectory to read. */
type GroupPlace = Pick<RowTask, "part" | "groupIndex" | "from">;

/** Maximum size in bytes of a group that is read whole. */
const wholeBytesMax = 1 << 22;

/**
 * Yields the rows of a log or job after a position, in chunks.
 *
 * @throws ServiceError `not_found` if the log or job is deleted meanwhile
 */
export async function* sourceRows(
  source: StoredSource,
  asked: Asked,
  after: RowPosition | null,
): AsyncGenerator<RowChunk, void> {
  let place: GroupPlace = { part: after?.part ?? 0, groupIndex: after?.group ?? 0, from: 0 };
  if (after !== null) place = { ...place, from: after.index + 1 };
  const pieces = new GroupPieces(await source.linesFrom(place.part));
  for (let whole = await pieces.takeGroup(); whole !== null; whole = await pieces.takeGroup()) {
    if (whole.isComplete) yield* smallGroup(source, asked, place, whole.pieces);
    else yield* largeGroup(source, asked, place, pieces, whole.pieces);
    place = { part: place.part + pieces.partCount, groupIndex: place.groupIndex + 1, from: 0 };
  }
}

/** Converts the stored parts of a log or job to pieces of its groups. */
export class GroupPieces {
  readonly #parts: AsyncIterator<string>;
  readonly #encoder = new TextEncoder();
  /** Number of parts of the current group that have been read. */
  partCount = 0;

  constructor(lines: AsyncIterable<string>) {
    this.#parts = lines[Symbol.asyncIterator]();
  }

  /**
   * Returns the pieces of the next group; null if there are no more groups. If the group is large, returns only its
   * first pieces.
   */
  async takeGroup(): Promise<{ readonly pieces: readonly Bytes[]; readonly isComplete: boolean } | null> {
    this.partCount = 0;
    const pieces: Bytes[] = [];
    for (let byteCount = 0; byteCount <= wholeBytesMax;) {
      const next = await this.takePiece();
      if (next === null) return null;
      pieces.push(next.piece);
      if (next.isLast) return { pieces, isComplete: true };
      byteCount += next.piece.length;
    }
    return { pieces, isComplete: false };
  }

  /**
   * Returns the next piece of the text; null if there are no more pieces. The piece may be the first of the next group.
   */
  async takePiece(): Promise<{ readonly piece: Bytes; readonly isLast: boolean } | null> {
    const { done, value } = await this.#parts.next();
    if (done === true) return null;
    this.partCount += 1;
    const text = unfolded(value);
    return { piece: this.#encoder.encode(text), isLast: text.endsWith("\n") };
  }
}

async function* smallGroup(
  source: StoredSource,
  asked: Asked,
  place: GroupPlace,
  pieces: readonly Bytes[],
): AsyncGenerator<RowChunk, void> {
  const byteCount = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const progress = { cut: groupStart, waiting: [], index: 0, head: null };
  let isFirst = true;
  for await (const { rows, last } of chunks(source, { ...asked, ...place, progress, pieces })) {
    yield { ...rows, last, byteCount: isFirst ? byteCount : 0 };
    isFirst = false;
  }
}

async function* largeGroup(
  source: StoredSource,
  asked: Asked,
  place: GroupPlace,
  following: GroupPieces,
  beginning: readonly Bytes[],
): AsyncGenerator<RowChunk, void> {
  const survey = await surveyGroup(source, following, beginning);
  // Holds enough bytes for the largest trajectory in its stored, parsed and written form.
  await source.share.hold(readerBytes + 3 * survey.largestByteCount);
  try {
    yield* rowsInPieces(source, asked, place, survey.head);
  } finally {
    await source.share.hold(readerBytes);
  }
}

/**
 * Reads the rows of a large group. Starts again with the group's first piece, because the survey has already read all
 * pieces.
 */
async function* rowsInPieces(
  source: StoredSource,
  asked: Asked,
  place: GroupPlace,
  head: GroupHead,
): AsyncGenerator<RowChunk, void> {
  const pieces = new GroupPieces(await source.linesFrom(place.part));
  let progress: RowProgress = { cut: groupStart, waiting: [], index: 0, head };
  while (!isComplete(progress.cut)) {
    const next = await pieces.takePiece();
    if (next === null) return;
    const task = { ...asked, ...place, progress, pieces: [next.piece] };
    for await (const { rows, last } of chunks(source, task)) {
      yield { ...rows, last, byteCount: rows.readByteCount };
      progress = rows.progress;
    }
  }
}

/** Reads the remaining pieces of a large group to find its head and the size of its largest trajectory. */
async function surveyGroup(
  { reader, client }: StoredSource,
  following: GroupPieces,
  beginning: readonly Bytes[],
): Promise<GroupSurvey> {
  let survey = emptySurvey;
  for (const piece of beginning) survey = await reader.run("survey", { survey, piece }, client);
  while (!isComplete(survey.cut)) {
    const next = await following.takePiece();
    if (next === null) break;
    survey = await reader.run("survey", { survey, piece: next.piece }, client);
  }
  return survey;
}

/** Yields all rows in the pieces of a task, in as many chunks as needed. */
async function* chunks(
  { reader, client }: StoredSource,
  task: RowTask,
): AsyncGenerator<{ readonly rows: WrittenRows; readonly last: RowPosition }, void> {
  let { progress, pieces } = task;
  do {
    const rows: WrittenRows = await reader.run("rows", { ...task, progress, pieces }, client);
    ({ progress } = rows);
    pieces = [];
    const index = Math.max(0, progress.index - 1);
    const last = { sourceId: task.source.id, part: task.part, group: task.groupIndex, index };
    yield { rows, last };
  } while (progress.waiting.length > 0);
}
