// Tests that the adapter cache reads each adapter once, and that reading in a thread gives the same result.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test, type TestContext } from "node:test";
import { present } from "../../../base/domain/assert.ts";
import { readModelConfig } from "../../architectures/config/read-config.ts";
import { createLoraAdapter } from "../../architectures/lora.ts";
import { writeLoraAdapter } from "../../architectures/peft-folder.ts";
import { modelFolder } from "../contract/engine-under-test.ts";
import { AdapterCache, AdapterThread } from "./adapter-cache.ts";

const config = readModelConfig(modelFolder);
const scratch = mkdtempSync(join(tmpdir(), "hone-adapters-"));
after(() => rmSync(scratch, { recursive: true }));
// The adapter thread does not keep the process alive, so this timer does until the tests end.
const alive = setInterval(() => undefined, 1000);
after(() => clearInterval(alive));

/** Returns a folder with an adapter of this rank whose B matrices are not zero. */
function folderOf(rank: number): string {
  const folder = join(scratch, `rank-${rank}`);
  const made = createLoraAdapter(config, { rank, seed: rank });
  const matrices = new Map(
    [...made.matrices].map(([name, values]) => [name, values.map((value, index) => value + index / 1e6)]),
  );
  writeLoraAdapter(folder, { ...made, matrices }, { config, baseModelName: "tiny" });
  return folder;
}

function cachesFor(t: TestContext, countMax = 2) {
  const thread = new AdapterThread(config);
  t.after(() => thread.close());
  const cache = new AdapterCache(config, { countMax, weights: "w", thread });
  return { cache, plain: new AdapterCache(config, { countMax, weights: "w" }) };
}

test("the thread reads the same as the caller would, at ranks with and without blocks", async (t) => {
  const { cache, plain } = cachesFor(t);
  for (const rank of [1, 16, 17, 40]) {
    const reference = { id: "a", folder: folderOf(rank), hash: undefined };
    cache.drop("a");
    plain.drop("a");
    await cache.prepare(reference);
    assert.deepEqual(cache.load(reference).feeds, plain.load(reference).feeds);
    assert.equal(cache.load(reference).rank, rank);
  }
});

test("callers that need the same adapter share one read, and a cached one is not read again", async (t) => {
  const { cache, plain } = cachesFor(t);
  const reference = { id: "a", folder: folderOf(4) };
  const reading = present(cache.prepare(reference), "an adapter that is not in memory is read");
  assert.equal(cache.prepare(reference), reading);
  await reading;
  assert.equal(cache.prepare(reference), null);
  assert.equal(cache.load(reference), cache.load(reference));
  assert.equal(plain.prepare(reference), null);
});

test("an adapter dropped while it is read is read anew when needed", async (t) => {
  const { cache } = cachesFor(t);
  const reference = { id: "a", folder: folderOf(4) };
  const dropped = cache.prepare(reference);
  cache.drop("a");
  const again = present(cache.prepare(reference), "a dropped adapter is read again");
  assert.notEqual(again, dropped);
  await Promise.all([dropped, again]);
  assert.equal(cache.prepare(reference), null);
});

test("refuses a folder without an adapter, until it is repaired", async (t) => {
  const { cache } = cachesFor(t);
  const missing = { id: "a", folder: join(scratch, "rank-9") };
  await assert.rejects(async () => cache.prepare(missing), { code: "conflict", message: /cannot be read/ });
  folderOf(9);
  await cache.prepare(missing);
  assert.equal(cache.load(missing).rank, 9);
});

test("refuses an adapter over other weights immediately", (t) => {
  const { cache, plain } = cachesFor(t);
  const other = { id: "a", folder: folderOf(4), base: "another" };
  for (const each of [cache, plain]) {
    assert.throws(() => each.prepare(other), { code: "conflict" });
    assert.throws(() => each.load(other), { code: "conflict" });
  }
});

test("evicts the least recently used adapter", async (t) => {
  const { cache } = cachesFor(t);
  const references = [1, 4, 9].map((rank) => ({ id: `${rank}`, folder: folderOf(rank) }));
  const [first, second, third] = references;
  await cache.prepare(first);
  await cache.prepare(second);
  cache.load(first);
  await cache.prepare(third);
  assert.equal(cache.prepare(first), null);
  await present(cache.prepare(second), "an evicted adapter is read again");
});
