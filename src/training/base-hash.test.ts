// The hash of a base model's folder: what changes it, and that it is kept.
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { baseHash } from "./base-hash.ts";

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

test("the same files have the same hash, wherever they lie and whenever they were written", async (t) => {
  const [one, other] = [folders(t), folders(t)];
  utimesSync(join(other.base, "config.json"), 1, 1);
  const hash = await baseHash(one.base, one.cache);
  assert.match(hash, /^[0-9a-f]{64}$/);
  assert.equal(await baseHash(other.base, other.cache), hash);
});

test("a change of a file is another hash, a file that is no part of the model is none", async (t) => {
  const { base, cache } = folders(t);
  const hash = await baseHash(base, cache);
  writeFileSync(join(base, "notes.txt"), "nothing");
  assert.equal(await baseHash(base, cache), hash);
  const file = join(base, "config.json");
  writeFileSync(file, `${readFileSync(file, "utf8")} `);
  assert.notEqual(await baseHash(base, cache), hash);
});

test("the hash is kept until a file's size or time changes", async (t) => {
  const { base, cache } = folders(t);
  const hash = await baseHash(base, cache);
  const [name] = readdirSync(cache);
  const kept = JSON.parse(readFileSync(join(cache, name), "utf8")) as { hash: string };
  writeFileSync(join(cache, name), JSON.stringify({ ...kept, hash: "kept" }));
  assert.equal(await baseHash(base, cache), "kept");
  utimesSync(join(base, "config.json"), 1, 1);
  assert.equal(await baseHash(base, cache), hash);
  writeFileSync(join(cache, name), "damaged");
  assert.equal(await baseHash(base, cache), hash);
});
