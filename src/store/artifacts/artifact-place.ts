// Where artifacts are kept, as one process of a server tells another.
import type { ArtifactStore } from "./artifact-store.ts";
import type { ArtifactCacheOptions } from "./s3/artifact-cache.ts";
import type { BucketPlace } from "./s3/bucket-place.ts";

export type ArtifactPlace =
  | { readonly kind: "folder"; readonly root: string }
  | {
      readonly kind: "bucket";
      readonly bucket: BucketPlace;
      /** What was fetched, on this machine, for all processes of a server. */
      readonly cache: ArtifactCacheOptions;
    };

export interface PlacedArtifacts extends ArtifactStore {
  /** What another process of the server needs to open the same; of now, since the server is another after its lease was lost. */
  readonly place: ArtifactPlace & { readonly server: string };
}
