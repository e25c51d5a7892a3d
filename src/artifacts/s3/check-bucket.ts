// Whether a bucket can be used as a server uses it: an object is put, listed, read and removed.
import { newUuid } from "../../domain/ids.ts";
import { ServiceError } from "../../domain/service-error.ts";
import { BucketClient } from "./bucket-client.ts";
import { type BucketPlace, bucketUrl } from "./bucket-place.ts";

/** @throws ServiceError `unavailable`, with what is to be done */
export async function checkBucket(place: BucketPlace): Promise<void> {
  const bucket = new BucketClient(place);
  const key = `check/${newUuid()}`;
  const bytes = Buffer.from(key);
  await bucket.write(key, bytes);
  try {
    const isListed = (await bucket.list(key)).length === 1;
    if (isListed && (await bucket.read(key))?.equals(bytes) === true) return;
    throw new ServiceError({
      code: "unavailable",
      message: `${bucketUrl(place)} does not show at once what was put there; artifacts need a store that does.`,
      obstacle: "blobs-away",
    });
  } finally {
    await bucket.remove(key);
  }
}
