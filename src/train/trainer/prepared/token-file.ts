// Stores a job's lines as token sequences in a file, one record per line. Each record is written once and read when a
// step needs it, so memory does not grow with the data. Reads and writes block the thread, because the training process
// has nothing else to do.
import { closeSync, fstatSync, ftruncateSync, mkdirSync, openSync, readSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { crc32 } from "node:zlib";
import { assert } from "../../../base/domain/assert.ts";
import type { TokenSequence } from "../../trajectories/sequences.ts";
import { bytesOfSequence, countsOfSequence, sequenceOfBytes } from "./sequence-bytes.ts";
import type { Clock } from "../../../base/domain/clock.ts";

/** Name of the token file in a job's folder. */
export const preparedFileName = "prepared.tokens";

/** Location and length of a sequence in the file. */
export interface StoredSequence {
  readonly tokenCount: number;
  /** Number of the sequence's trained tokens. */
  readonly trainedCount: number;
  /** Offset in the file of the sequence's first byte. */
  readonly position: number;
  readonly byteCount: number;
}

/** A prepared line, as it is stored in the file. */
export interface StoredRecord {
  /** The note that was appended with the record, after a round trip through JSON. */
  readonly note: unknown;
  readonly sequences: readonly StoredSequence[];
}

/**
 * Size in bytes of a record's header: the length and the CRC-32 of the record's body, 32 bits each. If a process died
 * while writing a record, the body does not match its header.
 */
const headBytes = 8;

/** Number of buffered bytes at which the buffer is written to the file. */
const writtenBytes = 1 << 20;

export class TokenFile {
  readonly #descriptor: number;
  /** Records that are still in the buffer, not in the file. */
  #waiting: Buffer[] = [];
  /** Size of the file in bytes. */
  #byteCount = 0;
  #waitingByteCount = 0;
  /** Offset of the second record. The first record contains the key of the file. */
  readonly #start: number;

  /**
   * Opens the file, or creates it.
   *
   * @param key everything on which the records depend; a file that was written with another key is emptied
   */
  constructor(path: string, key: unknown) {
    mkdirSync(dirname(path), { recursive: true });
    // The flag allows reading and appending, and creates the file if it is missing.
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
   * Yields the stored records in order, then truncates the file after the last complete record. The caller must read
   * all records before it appends any.
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

  /** Adds a record to the buffer. After the next `flush`, the record is in the file. */
  append(note: unknown, sequences: readonly TokenSequence[]): StoredRecord {
    const record = recordOf(note, sequences);
    const position = this.#byteCount + this.#waitingByteCount;
    this.#write(record);
    return readRecord(record.subarray(headBytes), position + headBytes);
  }

  flush(): void {
    const bytes = Buffer.concat(this.#waiting);
    // Writes in a loop, because `writeSync` may write only a part of the bytes.
    for (let done = 0; done < bytes.length;) done += writeSync(this.#descriptor, bytes, done);
    this.#byteCount += bytes.length;
    this.#waiting = [];
    this.#waitingByteCount = 0;
  }

  /** Reads a sequence from the file; its record must have been flushed. */
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

  /** Returns the body of the record at this offset; null if there is no complete record. */
  #recordAt(position: number): Buffer | null {
    const head = this.#bytesAt(position, headBytes);
    if (head === null) return null;
    const [byteCount, checksum] = [head.readUInt32LE(0), head.readUInt32LE(4)];
    if (byteCount === 0 || position + headBytes + byteCount > fstatSync(this.#descriptor).size) return null;
    const body = this.#bytesAt(position + headBytes, byteCount);
    return body !== null && crc32(body) === checksum ? body : null;
  }

  /** Reads `byteCount` bytes from an offset; returns null if the file has fewer bytes left. */
  #bytesAt(position: number, byteCount: number): Buffer | null {
    // Allocates a separate buffer, because typed arrays on a buffer must begin at a multiple of their element size.
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

/** Encodes a record: the header, the lengths of the note and of each sequence, the note, and the sequences. */
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
  /** Yields the items from this index on; only one is in memory at a time. */
  from(index: number): AsyncIterable<Item>;
}

/** A line of a job's data after preparation. */
export interface PreparedLine<Note> {
  /** Facts about the line, in addition to its sequences. They must survive a conversion to JSON and back. */
  readonly note: Note;
  readonly sequences: readonly TokenSequence[];
}

/**
 * Called with the number of lines prepared so far, the total number of lines, and the estimated seconds until the end.
 */
export type PreparedReport = (count: number, total: number, secondsLeft: number) => Promise<void>;

export interface PreparedLinesOptions {
  readonly clock: Clock;
  readonly report: PreparedReport;
}

/**
 * Interval in milliseconds between progress reports. There are further reports: one at the end and, with at least
 * `tenthsMin` lines, one after each tenth of the lines.
 */
const reportMs = 1000;
const tenthsMin = 1000;

/**
 * Prepares the lines of a job in order, and reports progress. If an earlier attempt prepared a line, reads it from the
 * file; otherwise, prepares the line and writes it.
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
   * Yields each prepared line in order. After the last one, all sequences are in the file and can be read.
   *
   * @param prepare must be deterministic; an error that it throws fails the job
   */
  async *each<Note>(
    prepare: (item: Item, index: number) => PreparedLine<Note>,
  ): AsyncGenerator<{ readonly note: Note; readonly sequences: readonly StoredSequence[] }, void> {
    const { count: total } = this.#lines;
    let count = 0;
    for (const { note, sequences } of this.#file.records()) {
      // Safe cast: `prepare` made this note in an earlier attempt.
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
