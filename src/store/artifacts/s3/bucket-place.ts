// Describes where in a bucket artifacts are stored, and parses the bucket's URL, `s3://bucket/prefix`. Sends no
// requests.
import { invalid } from "../../../base/domain/service-error.ts";

export interface BucketPlace {
  readonly bucket: string;
  /** Prefix of every object key: empty, or ending with a slash. */
  readonly prefix: string;
  /**
   * URL of the store. Null for the client library's default, which is AWS unless AWS's configuration files name another
   * store.
   */
  readonly endpoint: string | null;
  /**
   * True if requests name the bucket in their path (`host/bucket/key`), false if they name it in the host name
   * (`bucket.host/key`).
   */
  readonly isPathStyle: boolean;
}

/** Matches bucket names that AWS and compatible stores allow. */
const bucketName = /^[a-z\d][a-z\d.-]{1,61}[a-z\d]$/;
/** Maximum length of the prefix in characters. It keeps the longest key below the 1024 bytes that stores allow. */
const prefixLengthMax = 256;

export function isBucketUrl(text: string): boolean {
  return /^s3:\/\//i.test(text);
}

/**
 * Parses the URL of a bucket.
 *
 * @param name setting that error messages mention
 * @throws ServiceError `invalid` for an invalid URL
 */
export function readBucketUrl(
  url: string,
  name = "HONE_BLOBS",
): Pick<BucketPlace, "bucket" | "prefix"> & { readonly isPathStyle: boolean | null } {
  const [, path = "", style] = /^s3:\/\/([^?]*)(?:\?path-style=(on|off))?$/i.exec(url) ?? [];
  const [bucket = "", ...parts] = path.split("/");
  const prefix = parts.filter((part) => part !== "").join("/");
  const isPlain = /^[\w!.*'()/-]*$/.test(prefix) && !/(^|\/)\.\.?(\/|$)/.test(prefix);
  if (bucketName.test(bucket) && isPlain && prefix.length <= prefixLengthMax)
    return {
      bucket,
      prefix: prefix === "" ? "" : `${prefix}/`,
      isPathStyle: style === undefined ? null : style === "on",
    };
  throw invalid(
    `${name} is ${JSON.stringify(url)}; it must be \`s3://<bucket>\` or \`s3://<bucket>/<prefix>\`: a bucket's name of 3 to 63 lower-case letters, digits, dots and hyphens, and a prefix of at most ${prefixLengthMax} letters, digits and the characters ! - _ . * ' ( ) /; \`?path-style=on\` or \`?path-style=off\` may follow. The store's address and credentials are the environment's (AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID and so on).`,
  );
}

/** Returns a URL that identifies the bucket, for use in messages and as an id. */
export function bucketUrl({ bucket, prefix, endpoint }: BucketPlace): string {
  const url = `s3://${bucket}/${prefix}`.replace(/\/$/, "");
  return endpoint === null ? url : `${url} at ${endpoint}`;
}
