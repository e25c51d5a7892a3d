// Opens an artifact store, which is a folder or a bucket.
import type { ArtifactPlace, PlacedArtifacts } from "./artifact-place.ts";
import type { ArtifactWriter } from "./artifact-store.ts";
import { FolderArtifacts } from "./folder-artifacts.ts";
import { BucketArtifacts } from "./s3/bucket-artifacts.ts";

export function openArtifacts(place: ArtifactPlace, writer: ArtifactWriter): PlacedArtifacts {
  return place.kind === "folder"
    ? new FolderArtifacts({ root: place.root, ...writer })
    : new BucketArtifacts({ bucket: place.bucket, cache: place.cache, ...writer });
}
