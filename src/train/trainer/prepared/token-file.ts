// Prepares a job's lines as token sequences in a file: one record for each line, written once and read when steps need it.
// Memory does not grow with the data, and another attempt continues at the end of the file. Reading and writing block the
// thread: its process does nothing else.
import { closeSync, fstatSync, ftruncateSync, mkdirSync, openSync, readSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { crc32 } from "node:zlib";
import { assert } from "../../../base/domain/assert.ts";
import type { TokenSequence } from "../../trajectories/sequences.ts";
import { bytesOfSequence, countsOfSequence, sequenceOfBytes } from "./sequence-bytes.ts";
import type { Clock } from "../../../base/domain/clock.ts";

/** In a job's folder. */
export const preparedFileName = "prepared.tokens";

/** A sequence as it lies in the file. */
export interface StoredSequence {
  readonly tokenCount: number;
  /** How many of its tokens train. */
  readonly trainedCount: number;
  /** Its first byte. */
  readonly position: number;
  readonly byteCount: number;
}

/** What became of a line. */
export interface StoredRecord {
  /** As it was appended, through JSON. */
  readonly note: unknown;
  readonly sequences: readonly StoredSequence[];
}

/** Length and CRC-32 of what follows, 32 bits each: what a process that died was writing does not match them. */
const headBytes = 8;

/** Written at once. */
const writtenBytes = 1 << 20;

export class TokenFile {
  readonly #descriptor: number;
  /** What is not in the file yet. */
  #waiting: Buffer[] = [];
  /** Of what is in the file. */
  #byteCount = 0;
  #waitingByteCount = 0;
  /** Behind the first record, which is the key. */
  readonly #start: number;

  /**
   * Opens the file, or makes it.
   *
   * @param key what the records are made of: a file of another key is begun anew
   */
  constructor(path: string, key: unknown) {
    mkdirSync(dirname(path), { recursive: true });
    // Read and write; made where there is none.
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
   * The records that are there, in their order; what follows the last whole one is cut off. To be read to the end before
   * anything is appended.
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

  /** Adds a record; it is in the file at the latest when `flush` returns. */
  append(note: unknown, sequences: readonly TokenSequence[]): StoredRecord {
    const record = recordOf(note, sequences);
    const position = this.#byteCount + this.#waitingByteCount;
    this.#write(record);
    return readRecord(record.subarray(headBytes), position + headBytes);
  }

  flush(): void {
    const bytes = Buffer.concat(this.#waiting);
    // A write may be cut short.
    for (let done = 0; done < bytes.length;) done += writeSync(this.#descriptor, bytes, done);
    this.#byteCount += bytes.length;
    this.#waiting = [];
    this.#waitingByteCount = 0;
  }

  /** A sequence that was flushed. */
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

  /** Without its head; null where there is no whole record. */
  #recordAt(position: number): Buffer | null {
    const head = this.#bytesAt(position, headBytes);
    if (head === null) return null;
    const [byteCount, checksum] = [head.readUInt32LE(0), head.readUInt32LE(4)];
    if (byteCount === 0 || position + headBytes + byteCount > fstatSync(this.#descriptor).size) return null;
    const body = this.#bytesAt(position + headBytes, byteCount);
    return body !== null && crc32(body) === checksum ? body : null;
  }

  /** Null where the file ends before. */
  #bytesAt(position: number, byteCount: number): Buffer | null {
    // Of its own: views of the numbers in it have to begin at a multiple of their size.
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

/** Head, lengths of the note and of each sequence, the note, the sequences. */
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

/** What a job trains on: groups, conversations or preferences, in their order. */
export interface WorkLines<Item> {
  readonly count: number;
  /** Those from this index on, one in memory at a time. */
  from(index: number): AsyncIterable<Item>;
}

/** What a line is made into. */
export interface PreparedLine<Note> {
  /** What is to be known of it beside its sequences; survives JSON. */
  readonly note: Note;
  readonly sequences: readonly TokenSequence[];
}

/** Is called with how many lines are prepared, and in how many seconds all will be, by the speed so far. */
export type PreparedReport = (count: number, total: number, secondsLeft: number) => Promise<void>;

export interface PreparedLinesOptions {
  readonly clock: Clock;
  readonly report: PreparedReport;
}

/** A report comes as often, at the end, and at every tenth of so many lines. */
const reportMs = 1000;
const tenthsMin = 1000;

/** Prepares lines in order: lines of an earlier attempt come from the file, others are made and written. Reports progress. */
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
   * Every line in its order. When it ends all sequences can be read from the file.
   *
   * @param prepare makes of a line the same in every attempt; what it throws ends the job
   */
  async *each<Note>(
    prepare: (item: Item, index: number) => PreparedLine<Note>,
  ): AsyncGenerator<{ readonly note: Note; readonly sequences: readonly StoredSequence[] }, void> {
    const { count: total } = this.#lines;
    let count = 0;
    for (const { note, sequences } of this.#file.records()) {
      // What `prepare` made in an earlier attempt.
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
