// Tests the hashes of a base model's folder: which changes affect the hashes, and how they are cached.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import {
  cpSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { baseHashes } from "./base-hashes.ts";

interface Folders {
  readonly base: string;
  readonly cache: string;
}

function folders(t: TestContext): Folders {
  const root = mkdtempSync(join(tmpdir(), "hone-base-"));
  t.after(() => rmSync(root, { recursive: true }));
  const base = join(root, "base");
  cpSync("test/fixtures/goldens/models/qwen3", base, { recursive: true });
  return { base, cache: join(root, "cache") };
}

test("the same files have the same hashes, at any location and time of writing", async (t) => {
  const [one, other] = [folders(t), folders(t)];
  utimesSync(join(other.base, "config.json"), 1, 1);
  const hashes = await baseHashes(one.base, one.cache);
  assert.match(hashes.files, /^[0-9a-f]{64}$/);
  assert.deepEqual(await baseHashes(other.base, other.cache), hashes);
});

test("the hash of weights in one file is that file's SHA-256, as in other programs", async (t) => {
  const { base, cache } = folders(t);
  const weights = readFileSync(join(base, "model.safetensors"));
  const expected = createHash("sha256").update(weights).digest("hex");
  assert.equal((await baseHashes(base, cache)).weights, expected);
  cpSync(join(base, "model.safetensors"), join(base, "more.safetensors"));
  assert.equal((await baseHashes(base, cache)).weights, expected, "a file that nothing reads is no weights");
});

test("the hash of sharded weights covers all shards and their names", async (t) => {
  const { base, cache } = folders(t);
  cpSync(join(base, "golden.safetensors"), join(base, "model-2.safetensors"));
  renameSync(join(base, "model.safetensors"), join(base, "model-1.safetensors"));
  const weightMap = { a: "model-2.safetensors", b: "model-1.safetensors", c: "model-2.safetensors" };
  writeFileSync(join(base, "model.safetensors.index.json"), JSON.stringify({ weight_map: weightMap }));
  const hashed = (bytes: string | Buffer) => createHash("sha256").update(bytes).digest("hex");
  const lines = ["model-1.safetensors", "model-2.safetensors"].map(
    (name) => `"${name}" ${hashed(readFileSync(join(base, name)))}\n`,
  );
  assert.equal((await baseHashes(base, cache)).weights, hashed(lines.join("")));
});

test("a changed file changes the hash, of the weights only if it holds some; other files do not count", async (t) => {
  const { base, cache } = folders(t);
  const hashes = await baseHashes(base, cache);
  writeFileSync(join(base, "notes.txt"), "nothing");
  assert.deepEqual(await baseHashes(base, cache), hashes);
  const file = join(base, "config.json");
  writeFileSync(file, `${readFileSync(file, "utf8")} `);
  const changed = await baseHashes(base, cache);
  assert.notEqual(changed.files, hashes.files);
  assert.equal(changed.weights, hashes.weights);
});

test("detects other weights of the same size and time, as in a container image", async (t) => {
  const { base, cache } = folders(t);
  const file = join(base, "model.safetensors");
  utimesSync(file, 1, 1);
  const { weights } = await baseHashes(base, cache);
  const bytes = readFileSync(file);
  bytes[bytes.length - 1] ^= 1;
  writeFileSync(file, bytes);
  utimesSync(file, 1, 1);
  assert.notEqual((await baseHashes(base, cache)).weights, weights);
});

test("caches the hashes until a file changes", async (t) => {
  const { base, cache } = folders(t);
  const hashes = await baseHashes(base, cache);
  const [name] = readdirSync(cache);
  const kept = JSON.parse(readFileSync(join(cache, name), "utf8")) as { readonly stamps: unknown };
  writeFileSync(join(cache, name), JSON.stringify({ ...kept, hashes: [["model.safetensors", "kept"]] }));
  assert.equal((await baseHashes(base, cache)).weights, "kept");
  utimesSync(join(base, "config.json"), 1, 1);
  assert.deepEqual(await baseHashes(base, cache), hashes);
  writeFileSync(join(cache, name), "damaged");
  assert.deepEqual(await baseHashes(base, cache), hashes);
  writeFileSync(join(cache, name), JSON.stringify({ stamps: kept.stamps, hash: "of an older program" }));
  assert.deepEqual(await baseHashes(base, cache), hashes);
});
