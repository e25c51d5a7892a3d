// An object of any size that is written piece by piece: in one request where it is small, else in parts, which the store puts
// together when the last one is there.
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { BucketClient, UploadedPart } from "./bucket-client.ts";

/** What stores take of one object. */
const partsMax = 10_000;

export class BucketUpload {
  readonly #bucket: BucketClient;
  readonly #key: string;
  readonly #partBytes: number;
  readonly #parts: UploadedPart[] = [];
  #pieces: Uint8Array[] = [];
  #byteCount = 0;
  /** Null while all of it fits into one part. */
  #uploadId: string | null = null;

  /** @param partBytes of each part but the last: 5 MiB at least, as stores ask for */
  constructor(bucket: BucketClient, key: string, partBytes: number) {
    this.#bucket = bucket;
    this.#key = key;
    this.#partBytes = partBytes;
  }

  /** @throws ServiceError `unavailable`, as all of these do; `too_large` for more than a store takes */
  async write(bytes: Uint8Array): Promise<void> {
    this.#pieces.push(bytes.slice());
    this.#byteCount += bytes.length;
    if (this.#byteCount >= this.#partBytes) await this.#sendPart();
  }

  /** It is there, whole, when this resolves. */
  async close(): Promise<void> {
    if (this.#uploadId === null) return this.#bucket.write(this.#key, this.#take());
    if (this.#byteCount > 0) await this.#sendPart();
    await this.#bucket.completeUpload(this.#key, this.#uploadId, this.#parts);
  }

  async abandon(): Promise<void> {
    this.#take();
    if (this.#uploadId !== null) await this.#bucket.abandonUpload(this.#key, this.#uploadId);
  }

  async #sendPart(): Promise<void> {
    const number = this.#parts.length + 1;
    if (number > partsMax)
      throw new ServiceError({
        code: "too_large",
        message: `${this.#key} has more than ${partsMax * this.#partBytes} bytes, which is what a bucket takes of one file. Write into a folder.`,
      });
    this.#uploadId ??= await this.#bucket.beginUpload(this.#key);
    const part = { number, uploadId: this.#uploadId };
    this.#parts.push(await this.#bucket.sendPart(this.#key, part, this.#take()));
  }

  #take(): Buffer {
    const bytes = Buffer.concat(this.#pieces);
    [this.#pieces, this.#byteCount] = [[], 0];
    return bytes;
  }
}
