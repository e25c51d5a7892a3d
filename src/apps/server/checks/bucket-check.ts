// Checks that the artifacts' bucket can be written and read.
import type { BucketPlace } from "../../../store/artifacts/s3/bucket-place.ts";
import { checkBucket } from "../../../store/artifacts/s3/check-bucket.ts";
import type { Clock } from "../../../base/domain/clock.ts";
import { cacheResult } from "./cache-result.ts";

/**
 * Lifetime of a result in milliseconds. It limits the cost, because each check sends four requests to the object
 * store.
 */
const holdsMs = 10_000;

/** Returns a check. If artifacts cannot be written or read, it rejects with the reason and the remedy. */
export function createBucketCheck(place: BucketPlace, clock: Clock): () => Promise<void> {
  return cacheResult(() => checkBucket(place), holdsMs, clock);
}
