// Reads a stored group of any size within the budget: while it is as groups usually are, what the request holds anyway is
// enough; from there on it holds twice as much each time that it has as much. Who waits for that keeps what it has read.
import { readerBytes, type ReadShare } from "./read-budget.ts";

/** Of a group that is made into rows there is its text, what that is parsed to, and what is written of it. */
const copies = 3;

export class LargeReading {
  readonly #share: ReadShare;
  readonly #encoder = new TextEncoder();
  #byteCount = 0;
  #heldBytes = readerBytes;

  constructor(share: ReadShare) {
    this.#share = share;
  }

  /**
   * The next part of the group, once the budget has room for it.
   *
   * @throws ServiceError `overloaded` when its turn does not come
   */
  async bytesOf(text: string): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = this.#encoder.encode(text);
    this.#byteCount += bytes.length;
    while (this.#byteCount * copies > this.#heldBytes) await this.#hold(this.#heldBytes * 2);
    return bytes;
  }

  /** The group is done with; the next begins. */
  async end(): Promise<void> {
    this.#byteCount = 0;
    await this.#hold(readerBytes);
  }

  async #hold(byteCount: number): Promise<void> {
    await this.#share.hold(byteCount);
    this.#heldBytes = byteCount;
  }
}
