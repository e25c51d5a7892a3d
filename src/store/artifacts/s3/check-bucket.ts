// Checks that a bucket supports each operation that a server needs: writes, lists, reads, replaces, reads again and
// removes an object.
import { newUuid } from "../../../base/domain/random.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { BucketClient } from "./bucket-client.ts";
import { type BucketPlace, bucketUrl } from "./bucket-place.ts";

/**
 * Checks that a bucket supports each operation that a server needs.
 *
 * @throws ServiceError `unavailable`, with the remedy
 */
export async function checkBucket(place: BucketPlace): Promise<void> {
  const bucket = new BucketClient(place);
  const key = `check/${newUuid()}`;
  const [first, second] = ["first", "second"].map((text) => Buffer.from(`${key} ${text}`));
  const isThere = async (bytes: Buffer): Promise<boolean> => (await bucket.read(key))?.equals(bytes) === true;
  await bucket.write(key, first);
  try {
    if ((await bucket.list(key)).length === 1 && (await isThere(first))) {
      await bucket.write(key, second);
      if (await isThere(second)) {
        await bucket.remove(key);
        if (!(await bucket.has(key))) return;
      }
    }
    throw new ServiceError({
      code: "unavailable",
      message: `${bucketUrl(place)} does not show writes, replacements and removals immediately, which artifacts require. If a cache is in front of the store, turn it off for this bucket.`,
      obstacle: "blobs-away",
    });
  } finally {
    await bucket.remove(key);
  }
}
