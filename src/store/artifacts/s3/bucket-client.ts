// A bucket as a few verbs over objects and parts of them, each with a deadline and tried again while it may help. What is sent or
// read at once is small enough to be in memory. Knows nothing of what objects mean. The client's library is loaded at the first
// request.
import { createHash } from "node:crypto";
import { addAbortSignal, type Readable } from "node:stream";
import type { S3 } from "@aws-sdk/client-s3";
import { present } from "../../../base/domain/assert.ts";
import { type Clock, systemClock } from "../../../base/domain/clock.ts";
import { newUuid, seededRandom } from "../../../base/domain/random.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { bucketError, isNoObject, isPassing } from "./bucket-errors.ts";
import type { BucketPlace } from "./bucket-place.ts";
import { pieceBytes } from "./manifest.ts";

export interface BucketEntry {
  readonly key: string;
  /** When it was put, by the store's clock. */
  readonly at: Date;
}

/** A part of an object that is put together, as the store knows it. */
export interface UploadedPart {
  /** From 1 on. */
  readonly number: number;
  readonly tag: string;
}

/** For the environment of processes that use it: the library says in their logs which versions of itself are to come. */
export const storeEnvironment = { AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true" };

/** As requests name an object. */
interface BucketKey {
  readonly Bucket: string;
  readonly Key: string;
}

/** Milliseconds until a connection is there. */
const connectMs = 5000;

/** Of a request: how often it is tried, and how long a try may take, with what it sends and reads, in milliseconds. */
interface Limits {
  readonly triesMax: number;
  readonly tryMs: number;
}
const patiently: Limits = { triesMax: 5, tryMs: 60_000 };
const urgently: Limits = { triesMax: 1, tryMs: 2000 };

export interface HowToRead {
  /** Whether somebody waits who has another way: tried once, and not for long. */
  readonly isUrgent?: boolean;
}
/** How often an object is read that is not as expected. */
export const readsMax = 3;
/** Objects that a store lists at once. */
const listedMax = 1000;
/** After the first try; doubles, and varies by half so that servers do not come back together. */
const firstPauseMs = 200;
/** The region of requests where nobody names one: stores other than AWS ask for none. */
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

  /** Null if there is no such object. What is read whole is at most a piece. @throws ServiceError `unavailable`, as all do */
  read(key: string, { isUrgent = false }: HowToRead = {}): Promise<Buffer | null> {
    return this.#get(key, { bytesMax: pieceBytes }, isUrgent ? urgently : patiently);
  }

  /**
   * As {@link read}, again after a pause if the answer is not as expected: a store that is behind shows what was there before an
   * object was written or replaced.
   *
   * @returns the last answer, expected or not
   */
  async readUntil(key: string, isExpected: (bytes: Buffer | null) => boolean): Promise<Buffer | null> {
    for (let tried = 1; ; tried++) {
      const bytes = await this.read(key);
      if (tried === readsMax || isExpected(bytes)) return bytes;
      await this.pause(tried);
    }
  }

  /** Waits before the next try, longer each time. @param tried how often it was tried */
  async pause(tried: number): Promise<void> {
    await this.#clock.sleep(firstPauseMs * 2 ** (tried - 1) * (0.5 + this.#random.uniform()));
  }

  /** It is there, whole, when this resolves; a store that can compares what has come with its SHA-256. */
  async write(key: string, bytes: Uint8Array): Promise<void> {
    const ChecksumSHA256 = createHash("sha256").update(bytes).digest("base64");
    await this.#ask("written", key, (s3, object, options) =>
      s3.putObject({ ...object, Body: bytes, ChecksumSHA256 }, options),
    );
  }

  /** Some of an object's bytes, fewer at its end; null where there is no such object. */
  readPart(
    key: string,
    { from, byteCount }: { readonly from: number; readonly byteCount: number },
  ): Promise<Buffer | null> {
    return this.#get(key, { Range: `bytes=${from}-${from + byteCount - 1}`, bytesMax: byteCount });
  }

  /** In bytes; null where there is no such object. */
  async size(key: string): Promise<number | null> {
    const found = await this.#ask("looked for", key, (s3, object, options) =>
      s3.headObject(object, options),
    ).catch(orWhereMissing(null));
    return found && (found.ContentLength ?? 0);
  }

  /** False also where there is no such bucket. */
  async has(key: string): Promise<boolean> {
    return (await this.size(key)) !== null;
  }

  /** Begins an object that comes in parts; returns what the store calls it. */
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

  /** From here on the object is there. */
  async completeUpload(key: string, uploadId: string, parts: readonly UploadedPart[]): Promise<void> {
    const Parts = parts.map(({ number, tag }) => ({ PartNumber: number, ETag: tag }));
    await this.#ask("written", key, (s3, object, options) =>
      s3.completeMultipartUpload({ ...object, UploadId: uploadId, MultipartUpload: { Parts } }, options),
    );
  }

  /** Its parts take no more room. */
  async abandonUpload(key: string, uploadId: string): Promise<void> {
    await this.#ask("removed", key, (s3, object, options) =>
      s3.abortMultipartUpload({ ...object, UploadId: uploadId }, options),
    ).catch(orWhereMissing(null));
  }

  /** That there is no such object is no error. */
  async remove(key: string): Promise<void> {
    await this.#ask("removed", key, (s3, object, options) => s3.deleteObject(object, options)).catch(
      orWhereMissing(null),
    );
  }

  /** All objects whose keys begin so, or no more than so many. Not grouped by folders, which not every store does well. */
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

  /** @throws ServiceError `unavailable` for more bytes than expected too: a faulty store could fill the memory */
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
        // In Node the body is a stream of Node's.
        return bounded(addAbortSignal(options.abortSignal, Body as Readable), bytesMax);
      },
      limits,
    ).catch(orWhereMissing(null));
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
        if (tried === triesMax || isNoObject(error) || !isPassing(error))
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
    // Bodies are streams of bytes.
    const bytes = part as Buffer;
    byteCount += bytes.length;
    if (byteCount > bytesMax) throw new Error(`it is answered with more than ${bytesMax} bytes`);
    parts.push(bytes);
  }
  return Buffer.concat(parts);
}

/** For `catch`: answers with this where the error is that there is no such object. */
function orWhereMissing<None>(none: None): (error: unknown) => None {
  return (error) => {
    if (error instanceof ServiceError && isNoObject(error.cause)) return none;
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
      // Tried again here, with what they read.
      maxAttempts: 1,
      // What is stored has hashes of its own, and not every store knows those that the client would add.
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
