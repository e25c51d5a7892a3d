// Selects the artifact storage of a configuration: the data folder, a folder shared by servers, or a bucket.
import { existsSync, statfsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ArtifactPlace } from "../../store/artifacts/artifact-place.ts";
import { type BucketPlace, isBucketUrl, readBucketUrl } from "../../store/artifacts/s3/bucket-place.ts";
import { type HoneConfig, readStoreEndpoint } from "./config.ts";

export function artifactPlaceOf(
  { server }: Pick<HoneConfig, "server">,
  environment?: NodeJS.ProcessEnv,
): ArtifactPlace {
  const { data, blobs } = server;
  if (blobs === null || !isBucketUrl(blobs)) return { kind: "folder", root: blobs ?? data };
  return {
    kind: "bucket",
    bucket: bucketPlaceOf(blobs, "HONE_BLOBS", environment),
    cache: { folder: join(data, "cache", "blobs"), bytesMax: cacheBytes(data) },
  };
}

/**
 * Returns the maximum size of the local cache of a bucket: a fifth of the disk, at most 20 GB. That is enough for some
 * dozens of large models.
 */
function cacheBytes(folder: string): number {
  let existing = folder;
  while (!existsSync(existing) && dirname(existing) !== existing) existing = dirname(existing);
  const { blocks, bsize } = statfsSync(existing);
  return Math.min(20e9, Math.floor((blocks * bsize) / 5));
}

/**
 * Returns the location of the bucket that a URL names, at the endpoint that the environment configures.
 *
 * @param url `s3://…`
 * @param name how error messages call the URL, such as the name of its setting
 */
export function bucketPlaceOf(url: string, name: string, environment?: NodeJS.ProcessEnv): BucketPlace {
  const endpoint = readStoreEndpoint(environment);
  const { isPathStyle, ...place } = readBucketUrl(url, name);
  // AWS has a separate host name per bucket; most other stores take the bucket in the path.
  return { ...place, endpoint, isPathStyle: isPathStyle ?? endpoint !== null };
}
