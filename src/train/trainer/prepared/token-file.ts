// Stores a job's lines as token sequences in a file, with one record per line. Each record is written once, and read
// when a step needs it, so memory does not grow with the data; another attempt continues at the end of the file. Reads
// and writes block the thread, because its process has nothing else to do.
import { closeSync, fstatSync, ftruncateSync, mkdirSync, openSync, readSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { crc32 } from "node:zlib";
import { assert } from "../../../base/domain/assert.ts";
import type { TokenSequence } from "../../trajectories/sequences.ts";
import { bytesOfSequence, countsOfSequence, sequenceOfBytes } from "./sequence-bytes.ts";
import type { Clock } from "../../../base/domain/clock.ts";

/** File name in a job's folder. */
export const preparedFileName = "prepared.tokens";

/** Location of a sequence in the file. */
export interface StoredSequence {
  readonly tokenCount: number;
  /** Number of its trained tokens. */
  readonly trainedCount: number;
  /** Offset of its first byte. */
  readonly position: number;
  readonly byteCount: number;
}

/** A prepared line as stored. */
export interface StoredRecord {
  /** The note as appended, after a round trip through JSON. */
  readonly note: unknown;
  readonly sequences: readonly StoredSequence[];
}

/**
 * Size of a record's header: the length and the CRC-32 of the record's body, 32 bits each. If a process died while it
 * wrote a record, the body does not match its header.
 */
const headBytes = 8;

/** Number of buffered bytes that triggers a write. */
const writtenBytes = 1 << 20;

export class TokenFile {
  readonly #descriptor: number;
  /** Records not yet written to the file. */
  #waiting: Buffer[] = [];
  /** Size of the file. */
  #byteCount = 0;
  #waitingByteCount = 0;
  /** Offset after the first record, which contains the key of the file. */
  readonly #start: number;

  /**
   * Opens or creates the file.
   *
   * @param key everything on which the records depend; a file that was written with another key is emptied
   */
  constructor(path: string, key: unknown) {
    mkdirSync(dirname(path), { recursive: true });
    // Reads and writes; creates the file if it is missing.
    this.#descriptor = openSync(path, "a+");
    const record = recordOf(key, []);
    const first = this.#recordAt(0);
    if (first === null || !first.equals(record.subarray(headBytes))) {
      ftruncateSync(this.#descriptor, 0);
      this.#write(record);
      this.flush();
    }
    this.#start = record.length;
  }

  /**
   * Yields the stored records in order, and truncates the file after the last complete one. The caller must read all
   * records before it appends any.
   */
  *records(): Generator<StoredRecord, void> {
    this.#byteCount = this.#start;
    for (;;) {
      const body = this.#recordAt(this.#byteCount);
      if (body === null) break;
      yield readRecord(body, this.#byteCount + headBytes);
      this.#byteCount += headBytes + body.length;
    }
    ftruncateSync(this.#descriptor, this.#byteCount);
  }

  /** Adds a record to a buffer. The record is in the file once `flush` has returned. */
  append(note: unknown, sequences: readonly TokenSequence[]): StoredRecord {
    const record = recordOf(note, sequences);
    const position = this.#byteCount + this.#waitingByteCount;
    this.#write(record);
    return readRecord(record.subarray(headBytes), position + headBytes);
  }

  flush(): void {
    const bytes = Buffer.concat(this.#waiting);
    // A write may be partial.
    for (let done = 0; done < bytes.length;) done += writeSync(this.#descriptor, bytes, done);
    this.#byteCount += bytes.length;
    this.#waiting = [];
    this.#waitingByteCount = 0;
  }

  /** Reads a sequence that was flushed. */
  read({ position, byteCount }: StoredSequence): TokenSequence {
    const bytes = this.#bytesAt(position, byteCount);
    assert(bytes !== null, "a sequence that was written is in the file");
    return sequenceOfBytes(bytes);
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  #write(record: Buffer): void {
    this.#waiting.push(record);
    this.#waitingByteCount += record.length;
    if (this.#waitingByteCount >= writtenBytes) this.flush();
  }

  /** Returns a record without its header; null if there is no complete record at this position. */
  #recordAt(position: number): Buffer | null {
    const head = this.#bytesAt(position, headBytes);
    if (head === null) return null;
    const [byteCount, checksum] = [head.readUInt32LE(0), head.readUInt32LE(4)];
    if (byteCount === 0 || position + headBytes + byteCount > fstatSync(this.#descriptor).size) return null;
    const body = this.#bytesAt(position + headBytes, byteCount);
    return body !== null && crc32(body) === checksum ? body : null;
  }

  /** Returns null if the file ends before these bytes do. */
  #bytesAt(position: number, byteCount: number): Buffer | null {
    // A separate buffer: views of the numbers in it must begin at a multiple of their size.
    const bytes = Buffer.allocUnsafeSlow(byteCount);
    let done = 0;
    while (done < byteCount) {
      const count = readSync(this.#descriptor, bytes, done, byteCount - done, position + done);
      if (count === 0) return null;
      done += count;
    }
    return bytes;
  }
}

/** Encodes a record: header, lengths of the note and of each sequence, the note, the sequences. */
function recordOf(note: unknown, sequences: readonly TokenSequence[]): Buffer {
  const noteBytes = Buffer.from(JSON.stringify(note));
  const parts = sequences.map(bytesOfSequence);
  const lengths = Buffer.alloc(4 * (2 + parts.length));
  [noteBytes.length, parts.length, ...parts.map(({ length }) => length)].forEach((length, index) =>
    lengths.writeUInt32LE(length, 4 * index),
  );
  const body = [lengths, noteBytes, ...parts];
  const head = Buffer.alloc(headBytes);
  head.writeUInt32LE(
    body.reduce((sum, { length }) => sum + length, 0),
    0,
  );
  head.writeUInt32LE(
    body.reduce((sum, part) => crc32(part, sum), 0),
    4,
  );
  return Buffer.concat([head, ...body]);
}

function readRecord(body: Buffer, position: number): StoredRecord {
  const [noteLength, sequenceCount] = [body.readUInt32LE(0), body.readUInt32LE(4)];
  const noteStart = 4 * (2 + sequenceCount);
  let start = noteStart + noteLength;
  const sequences = Array.from({ length: sequenceCount }, (_, index) => {
    const byteCount = body.readUInt32LE(4 * (2 + index));
    const stored = { ...countsOfSequence(body, start), position: position + start, byteCount };
    start += byteCount;
    return stored;
  });
  return { note: JSON.parse(body.toString("utf8", noteStart, noteStart + noteLength)), sequences };
}

/** A job's training data in order: groups, conversations or preferences. */
export interface WorkLines<Item> {
  readonly count: number;
  /** Yields the items from this index, one in memory at a time. */
  from(index: number): AsyncIterable<Item>;
}

/** The prepared form of a line. */
export interface PreparedLine<Note> {
  /** Facts about the line besides its sequences. They must be the same after a conversion to JSON and back. */
  readonly note: Note;
  readonly sequences: readonly TokenSequence[];
}

/** Called with the number of prepared lines, their total, and the estimated time for the rest. */
export type PreparedReport = (count: number, total: number, secondsLeft: number) => Promise<void>;

export interface PreparedLinesOptions {
  readonly clock: Clock;
  readonly report: PreparedReport;
}

/**
 * Interval in milliseconds between progress reports. There is also a report at the end, and, with at least `tenthsMin`
 * lines, after each tenth of the lines.
 */
const reportMs = 1000;
const tenthsMin = 1000;

/**
 * Prepares lines in order and reports progress. Lines that an earlier attempt prepared are read from the file; the
 * others are prepared and written.
 */
export class PreparedLines<Item> {
  readonly #file: TokenFile;
  readonly #lines: WorkLines<Item>;
  readonly #options: PreparedLinesOptions;

  constructor(file: TokenFile, lines: WorkLines<Item>, options: PreparedLinesOptions) {
    this.#file = file;
    this.#lines = lines;
    this.#options = options;
  }

  /**
   * Yields each line in order. Once the last line is read, all sequences can be read from the file.
   *
   * @param prepare must be deterministic; an error that it throws fails the job
   */
  async *each<Note>(
    prepare: (item: Item, index: number) => PreparedLine<Note>,
  ): AsyncGenerator<{ readonly note: Note; readonly sequences: readonly StoredSequence[] }, void> {
    const { count: total } = this.#lines;
    let count = 0;
    for (const { note, sequences } of this.#file.records()) {
      // Safe cast: `prepare` made it in an earlier attempt.
      yield { note: note as Note, sequences };
      count += 1;
    }
    const report = this.#reporting(count, total);
    if (count < total)
      for await (const item of this.#lines.from(count)) {
        const { note, sequences } = prepare(item, count);
        yield { note, sequences: this.#file.append(note, sequences).sequences };
        count += 1;
        await report(count);
      }
    this.#file.flush();
    await this.#options.report(total, total, 0);
  }

  #reporting(firstCount: number, total: number): (count: number) => Promise<void> {
    const { clock, report } = this.#options;
    const startMs = clock.monotonicMs();
    const tenthOf = (count: number): number => (total < tenthsMin ? 0 : Math.floor((10 * count) / total));
    let [reportedMs, reportedTenth] = [startMs, tenthOf(firstCount)];
    return async (count) => {
      const nowMs = clock.monotonicMs();
      const tenth = tenthOf(count);
      if (count === total || (nowMs - reportedMs < reportMs && tenth === reportedTenth)) return;
      [reportedMs, reportedTenth] = [nowMs, tenth];
      const msPerLine = (nowMs - startMs) / (count - firstCount);
      await report(count, total, (msPerLine * (total - count)) / 1000);
    };
  }
}
