// Where a configuration has artifacts kept: in the data folder, in a folder that servers share, or in a bucket.
import { join } from "node:path";
import type { ArtifactPlace } from "../../store/artifacts/artifact-place.ts";
import { type BucketPlace, isBucketUrl, readBucketUrl } from "../../store/artifacts/s3/bucket-place.ts";
import { type HoneConfig, readStoreEndpoint } from "./config.ts";

export function artifactPlaceOf(
  { server }: Pick<HoneConfig, "server">,
  environment?: NodeJS.ProcessEnv,
): ArtifactPlace {
  const { data, blobs, blobsPathStyle: pathStyle, blobsCacheBytes: bytesMax } = server;
  if (blobs === null || !isBucketUrl(blobs)) return { kind: "folder", root: blobs ?? data };
  return {
    kind: "bucket",
    bucket: bucketPlaceOf(blobs, "HONE_BLOBS", pathStyle, environment),
    cache: { folder: join(data, "cache", "blobs"), bytesMax },
  };
}

/** @param url `s3://…` @param name by which messages call it */
export function bucketPlaceOf(
  url: string,
  name: string,
  pathStyle: HoneConfig["server"]["blobsPathStyle"],
  environment?: NodeJS.ProcessEnv,
): BucketPlace {
  const endpoint = readStoreEndpoint(environment);
  // AWS has a host for each bucket; of other stores few have.
  const isPathStyle = pathStyle === "auto" ? endpoint !== null : pathStyle === "on";
  return { ...readBucketUrl(url, name), endpoint, isPathStyle };
}
