// What a job's lines were made into, on disk: a record for each line, written as it is prepared and read as steps want it,
// so that memory does not grow with the data and another attempt goes on where the file ends. Knows neither what lines are
// nor what notes say. Reading and writing hold the thread: it belongs to a process that does nothing else.
import { closeSync, fstatSync, ftruncateSync, mkdirSync, openSync, readSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { crc32 } from "node:zlib";
import { assert } from "../../../base/domain/assert.ts";
import type { TokenSequence } from "../../trajectories/sequences.ts";
import { bytesOfSequence, countsOfSequence, sequenceOfBytes } from "./sequence-bytes.ts";

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
