// Reads stored groups of any size within the budget. While a group is as groups usually are, what the request holds anyway
// is enough; once it is larger, the request holds as much as the largest that it can turn out to be, and reads on when it
// has that: were it to ask for a little more each time, all that wait would have read most of theirs.
import { readerBytes, type ReadShare } from "./read-budget.ts";

/** Of a group that is made into rows there is its text, what that is parsed to, and what is written of it. */
const copies = 3;

export class LargeReading {
  readonly #share: ReadShare;
  readonly #largestBytes: number;
  readonly #encoder = new TextEncoder();
  #byteCount = 0;
  #isLarge = false;

  /** @param largestBytes no group that is read has more, as it is stored */
  constructor(share: ReadShare, largestBytes: number) {
    this.#share = share;
    this.#largestBytes = largestBytes;
  }

  /**
   * The next part of the group, once the budget has room for it.
   *
   * @throws ServiceError `overloaded` when its turn does not come
   */
  async bytesOf(text: string): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = this.#encoder.encode(text);
    this.#byteCount += bytes.length;
    if (!this.#isLarge && this.#byteCount * copies > readerBytes) {
      this.#isLarge = true;
      await this.#share.hold(Math.max(readerBytes, this.#largestBytes * copies));
    }
    return bytes;
  }

  /** The group is done with; the next begins. */
  async end(): Promise<void> {
    this.#byteCount = 0;
    this.#isLarge = false;
    await this.#share.hold(readerBytes);
  }
}
