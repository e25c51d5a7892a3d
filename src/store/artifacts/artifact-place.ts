// Describes where artifacts are stored, in a form that one process of a server can pass to another.
import type { ArtifactStore } from "./artifact-store.ts";
import type { ArtifactCacheOptions } from "./s3/artifact-cache.ts";
import type { BucketPlace } from "./s3/bucket-place.ts";

export type ArtifactPlace =
  | { readonly kind: "folder"; readonly root: string }
  | {
      readonly kind: "bucket";
      readonly bucket: BucketPlace;
      /** Cache on this machine for files fetched from the bucket. All processes of the server share it. */
      readonly cache: ArtifactCacheOptions;
    };

export interface PlacedArtifacts extends ArtifactStore {
  /**
   * Parameters with which another process of the same server opens the store. They change when the server gets a new id
   * after losing its lease.
   */
  readonly place: ArtifactPlace & { readonly server: string };
}
