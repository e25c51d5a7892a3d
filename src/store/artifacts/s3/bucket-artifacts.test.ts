// Tests artifacts in a bucket when the network or the store fails, stored data is damaged, or the writing server dies.
import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test, type TestContext } from "node:test";
import { type Clock, systemClock } from "../../../base/domain/clock.ts";
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import { searchCount } from "../../../base/domain/testing/search.ts";
import type { ArtifactStore } from "../artifact-store.ts";
import { hashOfFiles, type Seal } from "../seal.ts";
import { startBucketServer, type Passage } from "../testing/bucket-server.ts";
import { ArtifactCache } from "./artifact-cache.ts";
import { BucketClient } from "./bucket-client.ts";
import { BucketArtifacts } from "./bucket-artifacts.ts";
import type { BucketPlace } from "./bucket-place.ts";
import { checkBucket } from "./check-bucket.ts";
import { pieceBytes } from "./manifest.ts";

const server = await startBucketServer();
after(() => server.close());

/** A clock on which each sleep ends immediately. */
const hurried: Clock = { ...systemClock, sleep: async () => undefined };

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "hone-bucket-"));
  t.after(() => {
    server.pass(() => "through");
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

function open(
  t: TestContext,
  bucket: BucketPlace,
  { name = "one", clock = hurried }: { readonly name?: string; readonly clock?: Clock } = {},
): BucketArtifacts {
  const cache = { folder: newFolder(t), bytesMax: 1e9 };
  return new BucketArtifacts({ bucket, cache, server: () => name, clock });
}

const put = (store: ArtifactStore, text: string): Promise<void> =>
  store.put("adapters/m/1", async (folder) => {
    for (const name of ["a", "b"]) writeFileSync(join(folder, name), `${text} ${name}`);
  });

const index = /index\/adapters\/m\/1\.json/;

/** Returns the artifact's content as a server with an empty cache reads it. */
async function seen(t: TestContext, bucket: BucketPlace): Promise<string> {
  const path = await open(t, bucket, { name: "reader" }).path("adapters/m/1", null);
  return existsSync(path)
    ? readdirSync(path)
        .map((name) => readFileSync(join(path, name), "utf8"))
        .join()
    : "nothing";
}

/** Distance between the tested requests: `npm run proof` tests each request, and `npm test` every third one. */
const stride = searchCount(1) > 1 ? 1 : 3;

test("leaves the whole artifact or none, and no remains after a sweep, if the server dies during any request of a put", async (t) => {
  const whole = (text: string): string => `${text} a,${text} b`;
  const outcomes = new Set<string>();
  for (let lived = 0, hasEnded = false; !hasEnded; lived += stride) {
    const place = server.newPlace();
    await put(open(t, place, { name: "before" }), "old");
    let count = 0;
    // In half of the cases, the server dies before its request reaches the store; in the other half, before it receives
    // the response.
    server.pass(() =>
      count++ < lived ? "through" : count === lived + 1 && lived % 2 === 0 ? "cut" : "lost",
    );
    hasEnded = await put(open(t, place), "new").then(
      () => true,
      () => false,
    );
    server.pass(() => "through");
    const found = await seen(t, place);
    assert.ok([whole("old"), whole("new")].includes(found), `after ${lived} requests: ${found}`);
    if (hasEnded) assert.equal(found, whole("new"));
    outcomes.add(found);
    const other = open(t, place, { name: "two" });
    assert.deepEqual(
      await other.sweepAbandoned({ isLive: async () => false, isKnown: async () => true }),
      [],
    );
    assert.equal(await seen(t, place), found);
    const left = (await new BucketClient(place).list("")).map(({ key }) => key.split("/")[0]);
    assert.deepEqual(left.toSorted(), ["data", "data", "index"], `after ${lived} requests`);
  }
  assert.equal(outcomes.size, 2);
});

test("leaves the whole artifact or nothing after a sweep, if the server dies during any request of a removal", async (t) => {
  for (let lived = 0, hasEnded = false; !hasEnded; lived += stride) {
    const place = server.newPlace();
    const store = open(t, place);
    await put(store, "old");
    let count = 0;
    server.pass(() => (count++ < lived ? "through" : "lost"));
    hasEnded = await store.remove("adapters/m/1").then(
      () => true,
      () => false,
    );
    server.pass(() => "through");
    await open(t, place, { name: "two" }).sweepAbandoned({
      isLive: async () => false,
      isKnown: async () => true,
    });
    const left = (await new BucketClient(place).list("")).length;
    assert.equal(left, (await seen(t, place)) === "nothing" ? 0 : 3, `after ${lived} requests`);
    if (hasEnded) assert.equal(left, 0);
  }
});

test("fails the put of a server that another one took for dead, and leaves nothing of it", async (t) => {
  const place = server.newPlace();
  const [orphan, other] = [open(t, place), open(t, place, { name: "two" })];
  let isSwept = false;
  server.pass(({ method, path }) => {
    if (method !== "PUT" || !path.includes("/data/")) return "through";
    isSwept = true;
    return "lost";
  });
  // Another server sweeps the bucket between two attempts to send a piece of the artifact.
  const clock: Clock = {
    ...systemClock,
    sleep: async () => {
      if (!isSwept) return;
      server.pass(() => "through");
      await other.sweepAbandoned({ isLive: async () => false, isKnown: async () => false });
    },
  };
  const slow = open(t, place, { clock });
  await assert.rejects(put(slow, "new"), { code: "cancelled", message: /took this one for dead/ });
  assert.equal(await seen(t, place), "nothing");
  await put(orphan, "next");
  assert.equal(await seen(t, place), "next a,next b");
});

test("splits a large file into pieces, and restores it although connections break", async (t) => {
  const place = server.newPlace();
  const bytes = Buffer.alloc(pieceBytes + 12_345, "abcdefg");
  const broken = new Set<string>();
  // Breaks the connection of each request once. If the request reads a piece, breaks it during the response.
  server.pass(({ method, path }) => {
    const once = `${method} ${path}`;
    if (broken.has(once)) return "through";
    broken.add(once);
    return method === "GET" && path.includes("/data/") ? "cut" : "lost";
  });
  await open(t, place).putFile("files/f", async (file) => writeFileSync(file, bytes));
  const path = await open(t, place, { name: "two" }).path("files/f", null);
  assert.ok(readFileSync(path).equals(bytes));
  assert.equal((await new BucketClient(place).list("data/")).length, 2);
});

test("rejects an artifact with a damaged or missing piece", async (t) => {
  const place = server.newPlace();
  const bucket = new BucketClient(place);
  await put(open(t, place), "old");
  const piece = (await bucket.list("data/")).find(({ key }) => key.endsWith("/b"))?.key ?? "";
  await bucket.write(piece, Buffer.from("new b"));
  await assert.rejects(seen(t, place), {
    code: "conflict",
    message: /data\/adapters\/m\/1\/.*\/b" in the bucket has other bytes/,
  });
  await bucket.remove(piece);
  await assert.rejects(seen(t, place), {
    code: "conflict",
    message: /pieces of "adapters\/m\/1" are missing in s3:/,
  });
  await bucket.write("index/adapters/m/1.json", Buffer.from("{}"));
  await assert.rejects(seen(t, place), { code: "conflict", message: /is not an artifact manifest/ });
});

test("rejects an artifact if the store returns other bytes, too few bytes, or an endless stream", async (t) => {
  const place = server.newPlace();
  await put(open(t, place), "old");
  const lies = (ending: RegExp, body: ((stored: Buffer) => Buffer) | "endless") =>
    server.pass(({ method, path }) =>
      method === "GET" && ending.test(path) && !path.includes("list-type") ? { body } : "through",
    );
  const manifestAs = (change: (manifest: Record<string, unknown>) => unknown) => (stored: Buffer) =>
    Buffer.from(JSON.stringify(change(JSON.parse(stored.toString()) as Record<string, unknown>)));
  const piece = /\/b\b/;
  for (const [ending, body, code, message] of [
    [piece, (stored: Buffer) => stored.subarray(1), "conflict", /other bytes/],
    [piece, (stored: Buffer) => Buffer.concat([stored, stored]), "conflict", /other bytes/],
    [piece, () => Buffer.alloc(0), "conflict", /other bytes/],
    [piece, "endless", "unavailable", /answered with more than 16777216 bytes/],
    [index, "endless", "unavailable", /answered with more than 16777216 bytes/],
    [index, (stored: Buffer) => stored.subarray(0, 40), "conflict", /is not an artifact manifest/],
    [index, () => Buffer.from("<html>"), "conflict", /is not an artifact manifest/],
    ...[
      () => null,
      () => [],
      ({ format, version }: Record<string, unknown>) => ({ format, version }),
      (all: Record<string, unknown>) => ({ ...all, files: {} }),
      (all: Record<string, unknown>) => ({ ...all, files: [null] }),
      (all: Record<string, unknown>) => ({ ...all, files: [{ name: "../../a", byteCount: 0, pieces: [] }] }),
      (all: Record<string, unknown>) => ({
        ...all,
        files: [{ name: ["..", "a"], byteCount: 0, pieces: [] }],
      }),
      (all: Record<string, unknown>) => ({ ...all, files: [{ name: "a", byteCount: -1, pieces: [] }] }),
      (all: Record<string, unknown>) => ({ ...all, files: [{ name: "a", byteCount: 1, pieces: [7] }] }),
      (all: Record<string, unknown>) => ({ ...all, content: "../../other" }),
    ].map((change) => [index, manifestAs(change), "conflict", /is not an artifact manifest/] as const),
  ] as const) {
    lies(ending, body);
    await assert.rejects(seen(t, place), { code, message }, String(body));
  }
  server.pass(() => "through");
  assert.equal(await seen(t, place), "old a,old b");
});

const isRead = ({ method, path }: { readonly method: string; readonly path: string }): boolean =>
  method === "GET" && !path.includes("list-type");

/** Returns the seal (the expected hash) of an adapter whose files contain the given text. */
function sealOf(t: TestContext, text: string): Seal {
  const folder = newFolder(t);
  for (const name of ["a", "b"]) writeFileSync(join(folder, name), `${text} ${name}`);
  return { what: "adapter", files: ["a", "b"], hash: hashOfFiles(folder, ["a", "b"]) };
}

test("reads again if the store returns an old object once, and never accepts old bytes as new", async (t) => {
  const place = server.newPlace();
  const clock = new FakeClock();
  const writer = open(t, place, { name: "writer" });
  await put(writer, "old");
  const before = await new BucketClient(place).read("index/adapters/m/1.json");
  assert.ok(before !== null);
  // The first reader has the old artifact in its cache; the second has an empty cache.
  const readers = [1, 2].map((number) =>
    open(t, place, {
      name: `reader ${number}`,
      clock: { ...hurried, monotonicMs: () => clock.monotonicMs() },
    }),
  );
  await readers[0].path("adapters/m/1", sealOf(t, "old"));
  await put(writer, "new");
  await clock.advance(60_000);
  for (const reader of readers) {
    let staleLeft = 1;
    server.pass((asked) =>
      isRead(asked) && index.test(asked.path) && staleLeft-- > 0 ? { body: () => before } : "through",
    );
    const path = await reader.path("adapters/m/1", sealOf(t, "new"));
    assert.equal(readFileSync(join(path, "a"), "utf8"), "new a");
    assert.ok(staleLeft < 0, "it was read again");
    await clock.advance(60_000);
  }
  // If the store always returns the old object, the reader reports an error after a few reads.
  let reads = 0;
  server.pass((asked) => {
    if (!isRead(asked) || !index.test(asked.path)) return "through";
    reads += 1;
    return { body: () => before };
  });
  await assert.rejects(readers[0].path("adapters/m/1", sealOf(t, "new")), {
    code: "conflict",
    message: /The adapter on disk is not the one that was stored: its files hash to/,
  });
  assert.equal(reads, 3);
  await assert.rejects(open(t, place).path("adapters/m/1", sealOf(t, "new")), {
    code: "conflict",
    message: /pieces of "adapters\/m\/1" are missing/,
  });
});

test("reads again if an object is missing or has other bytes only once", async (t) => {
  const place = server.newPlace();
  const onceEach = (path: RegExp, passage: Passage) => {
    const seenOnce = new Set<string>();
    server.pass((asked) => {
      if (!isRead(asked) || !path.test(asked.path) || seenOnce.has(asked.path)) return "through";
      seenOnce.add(asked.path);
      return passage;
    });
    return seenOnce;
  };
  const missing = { status: 404, code: "NoSuchKey" };
  const notes = onceEach(/\/content\//, missing);
  await put(open(t, place), "old");
  assert.equal(notes.size, 1);
  const pieces = onceEach(/\/data\//, { body: (stored) => stored.subarray(1) });
  assert.equal(await seen(t, place), "old a,old b");
  assert.equal(pieces.size, 2);
  onceEach(index, missing);
  const path = await open(t, place, { name: "reader" }).path("adapters/m/1", sealOf(t, "old"));
  assert.equal(readFileSync(join(path, "b"), "utf8"), "old b");
});

test("reports in the bucket check that the bucket has returned a replaced or removed object", async (t) => {
  newFolder(t);
  const place = server.newPlace();
  await checkBucket(place);
  const stored = new Map<string, Buffer>();
  for (const behind of ["replaced", "removed"]) {
    let isRemoved = false;
    server.pass(({ method, path }) => {
      if (method === "DELETE") isRemoved = true;
      if (behind === "removed") return isRemoved && method === "HEAD" ? { status: 200, code: "" } : "through";
      if (method !== "GET" || path.includes("list-type")) return "through";
      return {
        body: (now) => {
          const first = stored.get(path) ?? now;
          stored.set(path, first);
          return first;
        },
      };
    });
    await assert.rejects(checkBucket(place), {
      code: "unavailable",
      message: /does not show writes, replacements and removals immediately, .*turn it off for this bucket/,
    });
  }
});

test("serves cached artifacts while the store is unreachable, and refuses others with the store's name and the error", async (t) => {
  const place = server.newPlace();
  const clock = new FakeClock();
  const store = open(t, place, { clock: { ...hurried, monotonicMs: () => clock.monotonicMs() } });
  await put(store, "old");
  await clock.advance(60_000);
  server.pass(() => "lost");
  const path = await store.path("adapters/m/1", null);
  assert.equal(readFileSync(join(path, "a"), "utf8"), "old a");
  assert.equal(await store.localPath("adapters/m/1"), path);
  assert.equal(await store.localPath("adapters/m/2"), null);
  const away = { code: "unavailable", obstacle: "blobs-away" };
  const named = new RegExp(
    `"${place.prefix}index/adapters/m/2.json" in s3://of-tests/\\S+ at http://127\\S+ cannot be read`,
  );
  await assert.rejects(store.path("adapters/m/2", null), { ...away, message: named });
  await assert.rejects(put(store, "new"), { ...away, message: /cannot be written: .*Hone tries again/ });
  const refusals = {
    AccessDenied: /must be allowed to list/,
    InvalidAccessKeyId: /does not know AWS_ACCESS_KEY_ID/,
    NoSuchBucket: /There is no such bucket/,
    ExpiredToken: /have expired/,
  };
  for (const [code, message] of Object.entries(refusals)) {
    let count = 0;
    server.pass(() => {
      count += 1;
      return { status: code === "NoSuchBucket" ? 404 : 403, code };
    });
    await assert.rejects(store.path("adapters/m/2", null), { ...away, message });
    assert.equal(count, 1, "what an operator has to do is not tried again");
  }
  server.pass(() => ({ status: 503, code: "SlowDown" }));
  await assert.rejects(store.path("adapters/m/2", null), { ...away, message: /SlowDown/ });
});

test("evicts the least recently used entry first, but no entry in use", async (t) => {
  const clock = new FakeClock();
  const folder = newFolder(t);
  const cache = new ArtifactCache({ folder, bytesMax: 250 }, clock);
  const keep = (name: string): Promise<string | null> =>
    cache.take(name, async (path) => {
      mkdirSync(path);
      writeFileSync(join(path, "f"), Buffer.alloc(100));
      return true;
    });
  const names = (): readonly string[] => readdirSync(folder).toSorted();
  for (const name of ["a", "b"]) {
    await keep(name);
    await clock.advance(1000);
  }
  await clock.advance(3_600_000);
  assert.notEqual(await cache.find("a"), null);
  await keep("c");
  assert.deepEqual(names(), ["a", "c"]);
  for (const name of ["d", "e"]) await keep(name);
  assert.deepEqual(names(), ["a", "c", "d", "e"]);
  await clock.advance(3_600_000);
  await keep("f");
  assert.equal(names().length, 2);
  assert.equal(await cache.find("a"), null);
  assert.equal(await cache.take("g", async () => false), null);
  assert.equal(names().length, 2);
});
