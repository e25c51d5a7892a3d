// Uploads an object of any size. Sends a small object in one request, and a larger one as a multipart upload, which the
// store assembles at the end.
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { BucketClient, UploadedPart } from "./bucket-client.ts";

/** Maximum number of parts in one object, as S3 allows. */
const partsMax = 10_000;

export class BucketUpload {
  readonly #bucket: BucketClient;
  readonly #key: string;
  readonly #partBytes: number;
  readonly #parts: UploadedPart[] = [];
  #pieces: Uint8Array[] = [];
  #byteCount = 0;
  /** Id of the multipart upload; null while all data fits into one part. */
  #uploadId: string | null = null;

  /** @param partBytes size in bytes of each part except the last; stores require at least 5 MiB */
  constructor(bucket: BucketClient, key: string, partBytes: number) {
    this.#bucket = bucket;
    this.#key = key;
    this.#partBytes = partBytes;
  }

  /**
   * Adds data to the object.
   *
   * @throws ServiceError `unavailable`, as all methods do; `too_large` if the object exceeds the store's limit
   */
  async write(bytes: Uint8Array): Promise<void> {
    this.#pieces.push(bytes.slice());
    this.#byteCount += bytes.length;
    if (this.#byteCount >= this.#partBytes) await this.#sendPart();
  }

  /** Completes the upload. When this resolves, the store has the complete object. */
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
        message: `${this.#key} has more than ${partsMax * this.#partBytes} bytes, the maximum size of one file in a bucket. Write into a folder.`,
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
