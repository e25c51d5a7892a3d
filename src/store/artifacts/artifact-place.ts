// Location of the artifacts, as data that one process of a server passes to another.
import type { ArtifactStore } from "./artifact-store.ts";
import type { ArtifactCacheOptions } from "./s3/artifact-cache.ts";
import type { BucketPlace } from "./s3/bucket-place.ts";

export type ArtifactPlace =
  | { readonly kind: "folder"; readonly root: string }
  | {
      readonly kind: "bucket";
      readonly bucket: BucketPlace;
      /** Cache of fetched files on this machine, shared by all processes of a server. */
      readonly cache: ArtifactCacheOptions;
    };

export interface PlacedArtifacts extends ArtifactStore {
  /**
   * Parameters with which another process of the server opens the same store. They may change, because the server gets
   * a new id after it loses its lease.
   */
  readonly place: ArtifactPlace & { readonly server: string };
}
