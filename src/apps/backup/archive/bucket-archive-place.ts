// An archive in a bucket of an S3-compatible store. Each file of the archive is one object, which other tools can
// read.
import { BucketClient } from "../../../store/artifacts/s3/bucket-client.ts";
import type { BucketPlace } from "../../../store/artifacts/s3/bucket-place.ts";
import { BucketUpload } from "../../../store/artifacts/s3/bucket-upload.ts";
import { notFound, ServiceError } from "../../../base/domain/service-error.ts";
import type { ArchivePlace } from "./archive-place.ts";

/** Size in bytes of the parts in which files are read and uploaded. Each part is in memory as a whole. */
const partBytes = 1 << 24;
/**
 * Maximum number of keys to list in order to find out whether the bucket is empty. Small enough for a single page,
 * because some stores paginate incorrectly.
 */
const listedMax = 1000;

export function bucketArchivePlace(place: BucketPlace): ArchivePlace {
  const bucket = new BucketClient(place);
  const name = `s3://${place.bucket}/${place.prefix}`.replace(/\/$/, "");
  return {
    name,
    make: async () => undefined,
    isEmpty: async () => (await bucket.list("", listedMax)).length === 0,
    has: (path) => bucket.has(path),
    files: async () => (await bucket.list("")).map(({ key }) => key),
    read: async function* (path) {
      const size = await bucket.size(path);
      if (size === null) throw notFound("file", `${name}/${path}`);
      for (let from = 0; from < size; from += partBytes) {
        const part = await bucket.readPart(path, { from, byteCount: partBytes });
        if (part === null) throw notFound("file", `${name}/${path}`);
        const wanted = Math.min(partBytes, size - from);
        if (part.length !== wanted) throw cutShort(`${name}/${path}`, { from, wanted, came: part.length });
        yield part;
      }
    },
    create: async (path) => new BucketUpload(bucket, path, partBytes),
    write: (path, text) => bucket.write(path, Buffer.from(text)),
    remove: async (path) => {
      await bucket.remove(path);
      for (const { key } of await bucket.list(`${path}/`)) await bucket.remove(key);
    },
    flush: async () => undefined,
  };
}

function cutShort(
  file: string,
  { from, wanted, came }: { readonly from: number; readonly wanted: number; readonly came: number },
): ServiceError {
  const message = `The store returned ${came} bytes of ${file} from offset ${from}, but ${wanted} were expected. Try again later.`;
  return new ServiceError({ code: "unavailable", message });
}
