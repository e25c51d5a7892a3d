// Tests the adapters of a remote engine on its vLLM server: names, loading, unloading, and folders.
import assert from "node:assert/strict";
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test, type TestContext } from "node:test";
import { systemClock } from "../../base/domain/clock.ts";
import type { AdapterReference } from "../../base/domain/generation.ts";
import { read } from "../engine/contract/engine-under-test.ts";
import { createFakeEngine } from "../engine/testing/fake-engine.ts";
import { fakeShape } from "../engine/testing/fake-runner.ts";
import { requestOf } from "../engine/testing/run-loop.ts";
import { adapterHash } from "../architectures/hashes/adapter-hash.ts";
import type { RemoteSettings } from "./settings.ts";
import { StubVllm } from "./testing/stub-vllm.ts";
import { remoteEngine } from "./testing/stubbed-engine.ts";

const { vocabularySize, contextLength } = fakeShape;
const folder = "test/fixtures/goldens/training/adapter";
const hash = adapterHash(folder);
const adapter = (id: string): AdapterReference => ({ id, folder, hash });
const nameOf = (id: string): string => `${id}@${hash.slice(0, 16)}`;

async function setUp(t: TestContext, settings: Partial<RemoteSettings> = {}) {
  const stub = new StubVllm({
    behind: createFakeEngine(),
    vocabularySize,
    contextLength,
    endTokenId: 2,
    logprobCountMax: 20,
  });
  const urls = [await stub.start()];
  t.after(() => stub.stop());
  const start = async () => {
    const engine = remoteEngine({ urls, vocabularySize, waitingCountMax: 100, settings });
    t.after(() => engine.stop());
    await engine.start();
    const answer = async (own: AdapterReference, maxTokens = 4) =>
      (await read(engine.submit(requestOf([5, 6], { adapter: own, maxTokens })))).failure;
    return { engine, answer };
  };
  return { stub, start, ...(await start()) };
}

async function until(isSo: () => boolean): Promise<void> {
  const startMs = systemClock.monotonicMs();
  while (!isSo()) {
    assert.ok(systemClock.monotonicMs() - startMs < 30_000, "it comes within 30 s");
    await systemClock.sleep(5);
  }
}

const asked = ({ asked: all }: StubVllm, part: string) =>
  all.flatMap(({ path, body }) => (path.includes(part) ? [body] : []));

function newFolder(t: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), "hone-adapters-"));
  t.after(() => rmSync(made, { recursive: true }));
  return made;
}

test("loads each version once, under a separate name, and never in place", async (t) => {
  const { stub, engine, answer } = await setUp(t);
  await engine.prepareAdapter(adapter("m:1"));
  await Promise.all([engine.prepareAdapter(adapter("m:2")), engine.prepareAdapter(adapter("m:2"))]);
  assert.equal(await answer(adapter("m:1")), null);
  assert.deepEqual(asked(stub, "load_lora"), [
    { lora_name: nameOf("m:1"), lora_path: resolve(folder) },
    { lora_name: nameOf("m:2"), lora_path: resolve(folder) },
  ]);
});

test("loads an adapter again at its next request after a server's restart", async (t) => {
  const { stub, answer } = await setUp(t);
  assert.equal(await answer(adapter("m:1")), null);
  stub.forget();
  assert.equal(await answer(adapter("m:1")), null);
  assert.deepEqual(stub.adapters, [nameOf("m:1")]);
});

test("reuses adapters that another engine loaded, and keeps the operator's", async (t) => {
  const { stub, start, answer } = await setUp(t, { adaptersMax: 2 });
  await stub.loadOwn("own-adapter", resolve(folder));
  assert.equal(await answer(adapter("m:1")), null);
  const other = await start();
  const before = asked(stub, "/v1/load_lora").length;
  assert.equal(await other.answer(adapter("m:1")), null);
  assert.equal(asked(stub, "/v1/load_lora").length, before, "nothing was loaded anew");
  for (const id of ["m:2", "m:3", "m:4"]) assert.equal(await other.answer(adapter(id)), null);
  await until(() => stub.adapters.length === 3);
  assert.deepEqual([...stub.adapters].sort(), [nameOf("m:3"), nameOf("m:4"), "own-adapter"].sort());
  // The second engine has unloaded this adapter, which the first engine does not know. The first engine must load it
  // again.
  assert.equal(await answer(adapter("m:1")), null);
});

test("evicts the least recently used adapter, and none in use", async (t) => {
  const { stub, engine, answer } = await setUp(t, { adaptersMax: 2 });
  assert.equal(await answer(adapter("m:1")), null);
  assert.equal(await answer(adapter("m:2")), null);
  assert.equal(await answer(adapter("m:1")), null);
  const long = engine.submit(requestOf([5], { id: "long", adapter: adapter("m:1"), maxTokens: 500 }));
  assert.equal(await answer(adapter("m:3")), null);
  await until(() => stub.adapters.length === 2);
  assert.deepEqual([...stub.adapters].sort(), [nameOf("m:1"), nameOf("m:3")]);
  assert.equal((await read(long)).failure, null);
});

test("unloads a dropped adapter once nothing runs on it", async (t) => {
  const { stub, engine, answer } = await setUp(t);
  const running = engine.submit(requestOf([5], { id: "running", adapter: adapter("m:1"), maxTokens: 400 }));
  await until(() => stub.runningCount === 1);
  engine.dropAdapter("m:1");
  assert.equal((await read(running)).failure, null);
  await until(() => stub.adapters.length === 0);
  assert.equal(await answer(adapter("m:1")), null);
  engine.dropAdapter("m");
  engine.dropAdapter("m:1");
  await until(() => stub.adapters.length === 0);
});

test("refuses files that changed since they were stored, without asking vLLM", async (t) => {
  const { stub, engine, answer } = await setUp(t);
  const changed = { ...adapter("m:1"), hash: "0".repeat(64) };
  await assert.rejects(engine.prepareAdapter(changed), {
    code: "conflict",
    message: /not the one that was stored/,
  });
  assert.match((await answer(changed)) ?? "", /^conflict: /);
  const gone = { id: "m:2", folder: join(newFolder(t), "gone"), hash };
  assert.match((await answer(gone)) ?? "", /^conflict: /);
  assert.deepEqual(asked(stub, "load_lora"), []);
});

test("copies adapters to where vLLM sees them, and removes the copies with their version", async (t) => {
  const adapterFolder = newFolder(t);
  const { stub, engine } = await setUp(t, { adapterFolder: `${adapterFolder}=/mnt/adapters` });
  const source = newFolder(t);
  cpSync(folder, source, { recursive: true });
  await engine.prepareAdapter({ id: "m:1", folder: source, hash });
  assert.deepEqual(asked(stub, "load_lora"), [
    { lora_name: nameOf("m:1"), lora_path: `/mnt/adapters/${nameOf("m:1")}` },
  ]);
  assert.equal(adapterHash(join(adapterFolder, nameOf("m:1"))), hash);
  engine.dropAdapter("m:1");
  await until(() => !existsSync(join(adapterFolder, nameOf("m:1"))));
  assert.deepEqual(readdirSync(adapterFolder), []);
});

test("says what is missing if vLLM loads no adapters, does not see one, or accepts none of its rank", async (t) => {
  const { stub, engine } = await setUp(t);
  const check = async (status: number, body: object, error: object): Promise<void> => {
    stub.fault = (path, _request, response) => {
      if (!path.includes("lora")) return false;
      response.writeHead(status).end(JSON.stringify(body));
      return true;
    };
    await assert.rejects(engine.prepareAdapter(adapter("m:1")), error);
  };
  const refused = (message: string, code: number) => ({ error: { message, type: "", param: null, code } });
  await check(
    404,
    { detail: "Not Found" },
    { code: "unavailable", message: /VLLM_ALLOW_RUNTIME_LORA_UPDATING=True/ },
  );
  await check(404, refused(`Loading lora x failed: No adapter found for ${folder}`, 404), {
    code: "unavailable",
    message: /HONE_REMOTE_ADAPTER_FOLDER/,
  });
  const rank =
    "Call to add_lora method failed: Worker failed with error 'LoRA rank 32 is greater than max_lora_rank 8.'";
  await check(500, refused(rank, 500), { code: "unsupported", message: /--max-lora-rank/ });
  stub.fault = () => false;
  await engine.prepareAdapter(adapter("m:1"));
});
