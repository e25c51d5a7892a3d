// Tests, with a third-party store, that objects can be written piece by piece and read in ranges.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startBucketServer } from "../testing/bucket-server.ts";
import { BucketClient } from "./bucket-client.ts";
import { BucketUpload } from "./bucket-upload.ts";

const store = await startBucketServer();
after(() => store.close());

const partBytes = 1000;
/** Returns data in pieces whose size differs from the size of the upload's parts. */
const piecesOf = (byteCount: number): readonly Uint8Array[] =>
  Array.from({ length: Math.ceil(byteCount / 300) }, (_, index) =>
    Uint8Array.from({ length: Math.min(300, byteCount - index * 300) }, (_value, at) => (index + at) % 251),
  );

async function readAll(bucket: BucketClient, key: string): Promise<Buffer> {
  const parts: Buffer[] = [];
  const size = (await bucket.size(key)) ?? 0;
  for (let from = 0; from < size; from += 700)
    parts.push((await bucket.readPart(key, { from, byteCount: 700 })) ?? Buffer.alloc(0));
  return Buffer.concat(parts);
}

for (const byteCount of [0, 1, 999, 1200, 5000])
  test(`stores an object of ${byteCount} bytes unchanged on close`, async () => {
    const bucket = new BucketClient(store.newPlace());
    const upload = new BucketUpload(bucket, "a/file", partBytes);
    const pieces = piecesOf(byteCount);
    for (const piece of pieces) await upload.write(piece);
    assert.equal(await bucket.has("a/file"), false);
    await upload.close();
    assert.equal(await bucket.size("a/file"), byteCount);
    assert.deepEqual(await readAll(bucket, "a/file"), Buffer.concat(pieces));
  });

test("creates no object before an upload completes, and reports a missing object", async () => {
  const bucket = new BucketClient(store.newPlace());
  const upload = new BucketUpload(bucket, "file", partBytes);
  for (const piece of piecesOf(5000)) await upload.write(piece);
  // Ignores the error, because the test store, like some real stores, cannot cancel an upload.
  await upload.abandon().catch(() => undefined);
  assert.equal(await bucket.size("file"), null);
  assert.equal(await bucket.readPart("file", { from: 0, byteCount: 1 }), null);
});
