// Client for a bucket, with operations on objects and on parts of objects. Each operation has a time limit and is
// retried, and its data fits in memory. The client does not interpret objects, and loads the vendor's library at the
// first request.
import { createHash } from "node:crypto";
import { addAbortSignal, type Readable } from "node:stream";
import type { S3 } from "@aws-sdk/client-s3";
import { present } from "../../../base/domain/assert.ts";
import { type Clock, systemClock } from "../../../base/domain/clock.ts";
import { newUuid, seededRandom } from "../../../base/domain/random.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { bucketError, isMissingObject, isTransient } from "./bucket-errors.ts";
import type { BucketPlace } from "./bucket-place.ts";
import { pieceBytes } from "./manifest.ts";

export interface BucketEntry {
  readonly key: string;
  /** Time when the object was last written, by the store's clock. */
  readonly at: Date;
}

/** A part of a multipart upload that was uploaded. */
export interface UploadedPart {
  /** Number of the part in its upload, counted from 1. */
  readonly number: number;
  readonly tag: string;
}

/**
 * Environment variables for processes that use the vendor's library. They keep the library from warning about
 * the Node.js version.
 */
export const storeEnvironment = { AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true" };

/** Address of an object, as the vendor's library expects it in requests. */
interface BucketKey {
  readonly Bucket: string;
  readonly Key: string;
}

/** Connection timeout in milliseconds. */
const connectMs = 5000;

/** Maximum number of attempts at a request, and time limit in milliseconds of each attempt, including the transfer. */
interface Limits {
  readonly triesMax: number;
  readonly tryMs: number;
}
const patiently: Limits = { triesMax: 5, tryMs: 60_000 };
const urgently: Limits = { triesMax: 1, tryMs: 2000 };

export interface HowToRead {
  /**
   * True if the caller has an alternative to this request and must not wait long. The client then makes only one
   * attempt with a short time limit.
   */
  readonly isUrgent?: boolean;
}
/** Maximum number of times that an object is read while its content is not as expected. */
export const readsMax = 3;
/** Maximum number of objects in one response to a list request. */
const listedMax = 1000;
/**
 * Pause in milliseconds after the first attempt; each further attempt doubles it. The pause is multiplied by a random
 * factor from 0.5 to 1.5, so that servers do not all retry at the same time.
 */
const firstPauseMs = 200;
/** Region that requests name if none is configured. AWS requires the bucket's region; other stores accept any. */
const otherRegion = "us-east-1";

export class BucketClient {
  readonly #place: BucketPlace;
  readonly #clock: Clock;
  readonly #random = seededRandom(newUuid());
  #opened: Promise<S3> | null = null;

  constructor(place: BucketPlace, clock: Clock = systemClock) {
    this.#place = place;
    this.#clock = clock;
  }

  /**
   * Returns the bytes of an object, which may have at most the size of a piece. Null if there is no such object.
   *
   * @throws ServiceError `unavailable`, as all operations do
   */
  read(key: string, { isUrgent = false }: HowToRead = {}): Promise<Buffer | null> {
    return this.#get(key, { bytesMax: pieceBytes }, isUrgent ? urgently : patiently);
  }

  /**
   * Reads an object like {@link read}. If its content is not as expected, reads it again after a pause, because some
   * stores return an older version of an object for a while.
   *
   * @returns the last result, whether or not it is as expected
   */
  async readUntil(key: string, isExpected: (bytes: Buffer | null) => boolean): Promise<Buffer | null> {
    for (let tried = 1; ; tried++) {
      const bytes = await this.read(key);
      if (tried === readsMax || isExpected(bytes)) return bytes;
      await this.pause(tried);
    }
  }

  /**
   * Waits before the next attempt, longer after each attempt.
   *
   * @param tried number of attempts so far
   */
  async pause(tried: number): Promise<void> {
    await this.#clock.sleep(firstPauseMs * 2 ** (tried - 1) * (0.5 + this.#random.uniform()));
  }

  /**
   * Writes an object. When this resolves, the object is stored completely. The request contains the SHA-256 of the
   * bytes, which stores verify if they support it.
   */
  async write(key: string, bytes: Uint8Array): Promise<void> {
    const ChecksumSHA256 = createHash("sha256").update(bytes).digest("base64");
    await this.#ask("written", key, (s3, object, options) =>
      s3.putObject({ ...object, Body: bytes, ChecksumSHA256 }, options),
    );
  }

  /**
   * Returns a range of an object's bytes. The result is shorter if the object ends earlier; null if there is no such
   * object.
   */
  readPart(
    key: string,
    { from, byteCount }: { readonly from: number; readonly byteCount: number },
  ): Promise<Buffer | null> {
    return this.#get(key, { Range: `bytes=${from}-${from + byteCount - 1}`, bytesMax: byteCount });
  }

  /** Returns the size of an object in bytes; null if there is no such object. */
  async size(key: string): Promise<number | null> {
    const found = await this.#ask("looked for", key, (s3, object, options) =>
      s3.headObject(object, options),
    ).catch(returnIfMissing(null));
    return found && (found.ContentLength ?? 0);
  }

  /** True if the object exists; false if the object or its bucket does not. */
  async has(key: string): Promise<boolean> {
    return (await this.size(key)) !== null;
  }

  /** Starts a multipart upload, and returns the id that the store gives it. */
  async beginUpload(key: string): Promise<string> {
    const { UploadId } = await this.#ask("written", key, (s3, object, options) =>
      s3.createMultipartUpload(object, options),
    );
    return present(UploadId, "the store names what it begins");
  }

  async sendPart(
    key: string,
    { number, uploadId }: { readonly number: number; readonly uploadId: string },
    bytes: Uint8Array,
  ): Promise<UploadedPart> {
    const ContentMD5 = createHash("md5").update(bytes).digest("base64");
    const part = { UploadId: uploadId, PartNumber: number, Body: bytes, ContentMD5 };
    const { ETag } = await this.#ask("written", key, (s3, object, options) =>
      s3.uploadPart({ ...object, ...part }, options),
    );
    return { number, tag: present(ETag, "the store names what it has") };
  }

  /** Completes a multipart upload. Afterwards, the object exists. */
  async completeUpload(key: string, uploadId: string, parts: readonly UploadedPart[]): Promise<void> {
    const Parts = parts.map(({ number, tag }) => ({ PartNumber: number, ETag: tag }));
    await this.#ask("written", key, (s3, object, options) =>
      s3.completeMultipartUpload({ ...object, UploadId: uploadId, MultipartUpload: { Parts } }, options),
    );
  }

  /** Cancels a multipart upload, so that the store frees the space of its parts. */
  async abandonUpload(key: string, uploadId: string): Promise<void> {
    await this.#ask("removed", key, (s3, object, options) =>
      s3.abortMultipartUpload({ ...object, UploadId: uploadId }, options),
    ).catch(returnIfMissing(null));
  }

  /** Removes an object. A missing object is no error. */
  async remove(key: string): Promise<void> {
    await this.#ask("removed", key, (s3, object, options) => s3.deleteObject(object, options)).catch(
      returnIfMissing(null),
    );
  }

  /**
   * Lists the objects whose keys begin with `start`, up to `countMax`. Does not ask the store to group keys by folder,
   * because some stores do that slowly.
   */
  async list(start: string, countMax = Infinity): Promise<readonly BucketEntry[]> {
    const found: BucketEntry[] = [];
    const own = this.#place.prefix.length;
    let token: string | undefined;
    do {
      const MaxKeys = Math.min(countMax - found.length, listedMax);
      const page = await this.#ask("listed", start, (s3, { Bucket, Key: Prefix }, options) =>
        s3.listObjectsV2({ Bucket, Prefix, MaxKeys, ContinuationToken: token }, options),
      );
      for (const { Key = "", LastModified = new Date(0) } of page.Contents ?? [])
        found.push({ key: Key.slice(own), at: LastModified });
      token = page.IsTruncated === true ? page.NextContinuationToken : undefined;
    } while (token !== undefined && found.length < countMax);
    return found;
  }

  /**
   * Reads an object of at most `bytesMax` bytes. A faulty store that sends more could otherwise fill the memory.
   *
   * @throws ServiceError `unavailable`, also if the store sends more bytes
   */
  async #get(
    key: string,
    { bytesMax, ...part }: { readonly bytesMax: number; readonly Range?: string },
    limits = patiently,
  ): Promise<Buffer | null> {
    return await this.#ask(
      "read",
      key,
      async (s3, object, options) => {
        const { Body } = await s3.getObject({ ...object, ...part }, options);
        // Safe cast: in Node.js, the body is a Node.js stream.
        return bounded(addAbortSignal(options.abortSignal, Body as Readable), bytesMax);
      },
      limits,
    ).catch(returnIfMissing(null));
  }

  async #ask<Answer>(
    what: string,
    key: string,
    send: (s3: S3, object: BucketKey, options: { readonly abortSignal: AbortSignal }) => Promise<Answer>,
    { triesMax, tryMs }: Limits = patiently,
  ): Promise<Answer> {
    const object = { Bucket: this.#place.bucket, Key: this.#place.prefix + key };
    for (let tried = 1; ; tried++) {
      try {
        const s3 = await (this.#opened ??= open(this.#place));
        return await send(s3, object, { abortSignal: AbortSignal.timeout(tryMs) });
      } catch (error) {
        if (tried === triesMax || isMissingObject(error) || !isTransient(error))
          throw bucketError(this.#place, { what, key: object.Key }, error);
        await this.pause(tried);
      }
    }
  }
}

async function bounded(body: Readable, bytesMax: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let byteCount = 0;
  for await (const part of body) {
    // Safe cast: the body of a response is a stream of bytes.
    const bytes = part as Buffer;
    byteCount += bytes.length;
    if (byteCount > bytesMax) throw new Error(`it is answered with more than ${bytesMax} bytes`);
    parts.push(bytes);
  }
  return Buffer.concat(parts);
}

/**
 * Returns a handler for `catch`. The handler returns `none` if the error means that the object is missing, and rethrows
 * other errors.
 */
function returnIfMissing<None>(none: None): (error: unknown) => None {
  return (error) => {
    if (error instanceof ServiceError && isMissingObject(error.cause)) return none;
    throw error;
  };
}

async function open({ endpoint, isPathStyle }: BucketPlace): Promise<S3> {
  const library = await import("./library.ts");
  const client = (region?: string): S3 =>
    new library.S3({
      ...(region === undefined ? {} : { region }),
      ...(endpoint === null ? {} : { endpoint }),
      forcePathStyle: isPathStyle,
      // Makes the library try only once, because this client itself retries. An attempt of this client also includes
      // reading the response body.
      maxAttempts: 1,
      // Turns off the library's additional checksums: stored data has its own hashes, and not every store supports
      // these checksums.
      requestChecksumCalculation: "WHEN_REQUIRED",
      responseChecksumValidation: "WHEN_REQUIRED",
      requestHandler: {
        connectionTimeout: connectMs,
        requestTimeout: patiently.tryMs,
        throwOnRequestTimeout: true,
      },
    });
  const named = client();
  const isNamed = await named.config.region().then(
    () => true,
    () => false,
  );
  return isNamed ? named : client(otherRegion);
}
