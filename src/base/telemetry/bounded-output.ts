// Bounded buffer of lines for a reader that may stop reading. Lines beyond the limit are dropped, and a notice with
// their number takes their place. It never blocks, never throws, and does not depend on file descriptors.

/** Destination to which lines are written. */
export interface OutputChannel {
  /**
   * Writes the whole text. Calls `done` once, with an error if any of the text was lost. May call it before this
   * function returns.
   */
  write(text: string, done: (error: Error | null) => void): void;
}

export interface BoundedOutputOptions {
  /** Maximum number of bytes that wait to be written. */
  readonly bytesMax: number;
  /** Returns the line that takes the place of dropped lines, including its line break. */
  readonly noticeOf: (missingCount: number) => string;
}

interface Piece {
  readonly text: string;
  readonly bytes: number;
  /**
   * Number of lines that are lost if this text is lost. For a notice, this is the number of dropped lines that it
   * announces.
   */
  readonly lineCount: number;
  /** Number of the lines in `lineCount` that do not count as dropped yet. */
  readonly uncountedCount: number;
}

/** Number of bytes in one write. */
const chunkBytes = 16 * 1024;

export class BoundedOutput {
  readonly #channel: OutputChannel;
  readonly #options: BoundedOutputOptions;
  #waiting: Piece[] = [];
  /** Number of bytes that wait to be written or are being written. */
  #bytes = 0;
  #missingCount = 0;
  #droppedCount = 0;
  /** True after a line was dropped, until half of the buffer is free. Notices are thus rare. */
  #isFull = false;
  #isWriting = false;
  #onEmpty: (() => void)[] = [];

  constructor(channel: OutputChannel, options: BoundedOutputOptions) {
    this.#channel = channel;
    this.#options = options;
  }

  /** Number of lines that were dropped. */
  get droppedCount(): number {
    return this.#droppedCount;
  }

  /** Appends a text of complete lines. */
  write(text: string): void {
    const lineCount = linesIn(text);
    const piece = { text, bytes: Buffer.byteLength(text), lineCount, uncountedCount: lineCount };
    this.#isFull ||= this.#bytes + piece.bytes > this.#options.bytesMax;
    if (this.#isFull) {
      this.#drop(piece);
      this.#makeRoom();
      return;
    }
    this.#announceMissing();
    this.#add(piece);
    this.#writeNext();
  }

  /** Resolves once all text is written, but no later than the deadline. */
  async flush(deadlineMs: number): Promise<void> {
    if (this.#bytes === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, deadlineMs);
      this.#onEmpty.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** Removes and returns the waiting text, for the last attempt to write when the process exits. */
  takeWaiting(): string {
    const text = this.#waiting.map((piece) => piece.text).join("");
    this.#waiting = [];
    return text;
  }

  #add(piece: Piece): void {
    this.#waiting.push(piece);
    this.#bytes += piece.bytes;
  }

  #drop({ lineCount, uncountedCount }: Piece): void {
    this.#droppedCount += uncountedCount;
    this.#missingCount += lineCount;
  }

  #announceMissing(): void {
    if (this.#missingCount === 0) return;
    const text = this.#options.noticeOf(this.#missingCount);
    const bytes = Buffer.byteLength(text);
    this.#add({ text, bytes, lineCount: this.#missingCount, uncountedCount: 0 });
    this.#missingCount = 0;
  }

  /** Accepts lines again once half of the buffer is free. */
  #makeRoom(): void {
    if (!this.#isFull || this.#bytes > this.#options.bytesMax / 2) return;
    this.#isFull = false;
    this.#announceMissing();
    this.#writeNext();
  }

  /**
   * Writes the waiting text in chunks, one after the other. This is a loop, because a channel may call back before it
   * returns.
   */
  #writeNext(): void {
    while (!this.#isWriting && this.#waiting.length > 0) {
      const chunk = this.#takeChunk();
      let isInCall = true;
      this.#isWriting = true;
      this.#channel.write(chunk.text, (error) => {
        this.#isWriting = false;
        this.#settle(chunk, error);
        if (!isInCall) this.#writeNext();
      });
      isInCall = false;
    }
  }

  #takeChunk(): Piece {
    let [count, bytes] = [0, 0];
    while (
      count < this.#waiting.length &&
      (count === 0 || bytes + this.#waiting[count].bytes <= chunkBytes)
    ) {
      bytes += this.#waiting[count].bytes;
      count += 1;
    }
    const pieces = this.#waiting.splice(0, count);
    const sumOf = (field: "lineCount" | "uncountedCount"): number =>
      pieces.reduce((sum, piece) => sum + piece[field], 0);
    const text = pieces.map((piece) => piece.text).join("");
    return { text, bytes, lineCount: sumOf("lineCount"), uncountedCount: sumOf("uncountedCount") };
  }

  #settle(chunk: Piece, error: Error | null): void {
    this.#bytes -= chunk.bytes;
    if (error === null) this.#makeRoom();
    else {
      // The next line announces the lost ones. A separate notice would fail again and again, like this chunk.
      this.#isFull = false;
      this.#drop(chunk);
    }
    if (this.#bytes > 0) return;
    for (const resolve of this.#onEmpty.splice(0)) resolve();
  }
}

function linesIn(text: string): number {
  return Math.max(1, text.split("\n").length - 1);
}
