// Client for a bucket, with operations on objects and on parts of objects. Each operation has a time limit and is
// retried, and the data of one request fits in memory. The client does not interpret the objects' content; it loads
// the vendor's library at the first request.
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
  /** Time of the last write, by the store's clock. */
  readonly at: Date;
}

/** An uploaded part of a multipart upload. */
export interface UploadedPart {
  /** Number of the part, from 1. */
  readonly number: number;
  readonly tag: string;
}

/**
 * Environment variables for processes that use the library. They prevent the library from logging warnings about its
 * support of Node.js versions.
 */
export const storeEnvironment = { AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true" };

/** An object's address in requests. */
interface BucketKey {
  readonly Bucket: string;
  readonly Key: string;
}

/** Connection timeout in milliseconds. */
const connectMs = 5000;

/** Maximum number of attempts of a request, and time limit of each attempt in milliseconds, including the transfer. */
interface Limits {
  readonly triesMax: number;
  readonly tryMs: number;
}
const patiently: Limits = { triesMax: 5, tryMs: 60_000 };
const urgently: Limits = { triesMax: 1, tryMs: 2000 };

export interface HowToRead {
  /**
   * True if the caller has an alternative to this request and must not wait long. Only one attempt is made, with a
   * short time limit.
   */
  readonly isUrgent?: boolean;
}
/** Maximum number of times that an object is read if its content is not as expected. */
export const readsMax = 3;
/** Page size of object lists. */
const listedMax = 1000;
/**
 * Pause in milliseconds after the first attempt. It doubles with each attempt. Each pause is also multiplied by a
 * random factor from 0.5 to 1.5, so that servers do not all retry at the same time.
 */
const firstPauseMs = 200;
/** Region in requests if none is configured. AWS requires the bucket's region; other stores accept any. */
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
   * Returns an object's bytes; null if there is no such object. An object may have at most the size of a piece.
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

  /** Waits before the next attempt, longer each time. @param tried number of attempts so far */
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

  /** Returns a range of an object's bytes, which is shorter at the object's end; null if there is no such object. */
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

  /** Returns true if the object exists; false if the object or the bucket does not. */
  async has(key: string): Promise<boolean> {
    return (await this.size(key)) !== null;
  }

  /** Starts a multipart upload and returns its id in the store. */
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

  /** Completes a multipart upload, after which the object exists. */
  async completeUpload(key: string, uploadId: string, parts: readonly UploadedPart[]): Promise<void> {
    const Parts = parts.map(({ number, tag }) => ({ PartNumber: number, ETag: tag }));
    await this.#ask("written", key, (s3, object, options) =>
      s3.completeMultipartUpload({ ...object, UploadId: uploadId, MultipartUpload: { Parts } }, options),
    );
  }

  /** Cancels a multipart upload, which frees the storage of its parts. */
  async abandonUpload(key: string, uploadId: string): Promise<void> {
    await this.#ask("removed", key, (s3, object, options) =>
      s3.abortMultipartUpload({ ...object, UploadId: uploadId }, options),
    ).catch(returnIfMissing(null));
  }

  /** Removes an object. It is no error if the object does not exist. */
  async remove(key: string): Promise<void> {
    await this.#ask("removed", key, (s3, object, options) => s3.deleteObject(object, options)).catch(
      returnIfMissing(null),
    );
  }

  /**
   * Lists the objects whose keys begin with `start`, up to `countMax`. Does not let the store group keys by folder,
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
   * Reads an object. @throws ServiceError `unavailable`. This includes a store that sends more bytes than expected,
   * because a faulty store could otherwise fill the memory
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
        // Safe cast: in Node.js the body is a Node.js stream.
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
    // Safe cast: the body of a response is a byte stream.
    const bytes = part as Buffer;
    byteCount += bytes.length;
    if (byteCount > bytesMax) throw new Error(`it is answered with more than ${bytesMax} bytes`);
    parts.push(bytes);
  }
  return Buffer.concat(parts);
}

/**
 * Returns a handler for `catch`. If the error means that the object is missing, the handler returns the value `none`;
 * it rethrows other errors.
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
      // The library makes only one attempt. This client retries instead, so that an attempt includes reading the
      // response body.
      maxAttempts: 1,
      // The library's additional checksums are off, because stored data has its own hashes, and not every store
      // supports these checksums.
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
