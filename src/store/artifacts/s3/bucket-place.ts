// Which bucket of which store, as `s3://bucket/prefix` names it. Asks nobody.
import { invalid } from "../../../base/domain/service-error.ts";

export interface BucketPlace {
  readonly bucket: string;
  /** What every key begins with: empty, or ends with a slash. */
  readonly prefix: string;
  /** The store's address; null for AWS, or what its configuration files name. */
  readonly endpoint: string | null;
  /** Whether the bucket is named in the path of each request (`host/bucket/key`) or in its host (`bucket.host/key`). */
  readonly isPathStyle: boolean;
}

/** Names of buckets as AWS and its like have them. */
const bucketName = /^[a-z\d][a-z\d.-]{1,61}[a-z\d]$/;
/** Of a prefix, so that the longest key stays below the 1024 bytes that stores take. */
const prefixLengthMax = 256;

export function isBucketUrl(text: string): boolean {
  return /^s3:\/\//i.test(text);
}

/** @param name by which messages call it @throws ServiceError `invalid` for what names no bucket */
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

/** For people, and to tell it from other places. */
export function bucketUrl({ bucket, prefix, endpoint }: BucketPlace): string {
  const url = `s3://${bucket}/${prefix}`.replace(/\/$/, "");
  return endpoint === null ? url : `${url} at ${endpoint}`;
}
