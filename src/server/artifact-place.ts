// Where a configuration has artifacts kept: in the data folder, in a folder that servers share, or in a bucket.
import { join } from "node:path";
import type { ArtifactPlace } from "../artifacts/artifact-place.ts";
import { isBucketUrl, readBucketUrl } from "../artifacts/s3/bucket-place.ts";
import { type HoneConfig, readStoreEndpoint } from "./config.ts";

export function artifactPlaceOf(
  { server }: Pick<HoneConfig, "server">,
  environment?: NodeJS.ProcessEnv,
): ArtifactPlace {
  const { data, blobs, blobsPathStyle: pathStyle, blobsCacheBytes: bytesMax } = server;
  if (blobs === null || !isBucketUrl(blobs)) return { kind: "folder", root: blobs ?? data };
  const endpoint = readStoreEndpoint(environment);
  // AWS has a host for each bucket; of other stores few have.
  const isPathStyle = pathStyle === "auto" ? endpoint !== null : pathStyle === "on";
  return {
    kind: "bucket",
    bucket: { ...readBucketUrl(blobs), endpoint, isPathStyle },
    cache: { folder: join(data, "cache", "blobs"), bytesMax },
  };
}
