// Whether the bucket that servers share can be used.
import type { BucketPlace } from "../../../store/artifacts/s3/bucket-place.ts";
import { checkBucket } from "../../../store/artifacts/s3/check-bucket.ts";
import type { Clock } from "../../../base/domain/clock.ts";
import { holdResult } from "./hold-result.ts";

/** How long what was found holds, in milliseconds: it is four requests to another machine. */
const holdsMs = 10_000;

/** A check that rejects with what keeps artifacts from being put and read, and with the cure. */
export function createBucketCheck(place: BucketPlace, clock: Clock): () => Promise<void> {
  return holdResult(() => checkBucket(place), holdsMs, clock);
}
