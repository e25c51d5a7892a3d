// Tests of selecting the artifact storage from flags and environment variables.
import assert from "node:assert/strict";
import { statfsSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { artifactPlaceOf } from "./artifact-place.ts";
import { readConfig } from "./config.ts";

test("stores artifacts in the data folder, in another folder, or in a bucket at the endpoint that the environment names", () => {
  const placeOf = (flags: Readonly<Record<string, string>>, environment: NodeJS.ProcessEnv = {}) =>
    artifactPlaceOf(readConfig({ data: "data", ...flags }, environment), environment);
  const data = resolve("data");
  assert.deepEqual(placeOf({}), { kind: "folder", root: data });
  assert.deepEqual(placeOf({ blobs: "/mnt/hone" }), { kind: "folder", root: resolve("/mnt/hone") });
  const { bsize, blocks } = statfsSync(".");
  // Expected cache size: a fifth of the disk, at most 20 GB.
  const cachedBytes = Math.min(20e9, Math.floor((blocks * bsize) / 5));
  const cache = { folder: join(data, "cache", "blobs"), bytesMax: cachedBytes };
  const bucket = { bucket: "models", prefix: "a/b/", endpoint: null, isPathStyle: false };
  assert.deepEqual(placeOf({ blobs: "s3://models/a//b/" }), { kind: "bucket", bucket, cache });
  const endpoint = "http://store.example:9000";
  const elsewhere = { AWS_ENDPOINT_URL: `${endpoint}/` };
  assert.deepEqual(placeOf({ blobs: "s3://models/a/b" }, elsewhere), {
    kind: "bucket",
    bucket: { ...bucket, endpoint, isPathStyle: true },
    cache,
  });
  const hosted = { blobs: "s3://models?path-style=off" };
  const of = placeOf(hosted, { AWS_ENDPOINT_URL: "http://other", AWS_ENDPOINT_URL_S3: endpoint });
  assert.deepEqual(of, {
    kind: "bucket",
    bucket: { bucket: "models", prefix: "", endpoint, isPathStyle: false },
    cache,
  });
});
