// Tests the settings and faults of the embedded engine that its contract tests do not cover.
import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { packVocabulary } from "../../base/domain/vocabulary.ts";
import { silentLogger } from "../../base/telemetry/testing/silent-logger.ts";
import { constraintSettings } from "./token-masks/settings.ts";
import { modelFolder, read, refusalOf } from "./contract/engine-under-test.ts";
import { LocalEngine } from "./testing/local-engine.ts";
import { openingOf } from "./opening/model-opening.ts";
import { openModelFolder } from "./opening/open-model-folder.ts";
import { engineSettings, type EngineSettings } from "./settings.ts";
import { createFakeEngine, fatalTokenId } from "./testing/fake-engine.ts";
import { FakeRunner } from "./testing/fake-runner.ts";
import { requestOf } from "./testing/run-loop.ts";

const startedWith = async (settings: Partial<EngineSettings>): Promise<LocalEngine> => {
  const engine = new LocalEngine({
    openModel: () => Promise.resolve({ runner: new FakeRunner() }),
    vocabulary: packVocabulary([]),
    settings: engineSettings.with({ kvCacheBytesMax: 2 ** 26, ...settings }),
    constraints: constraintSettings.with(),
    logger: silentLogger,
  });
  await engine.start();
  return engine;
};

test("refuses what its memory can never hold, and says how much it can", async (t) => {
  // The keys and values of one position take 64 bytes in this model.
  const engine = await startedWith({ kvCacheBytesMax: 128 * 64 });
  t.after(() => engine.stop());
  assert.equal(engine.roomFor({ kind: "sample", count: 1 }), 128);
  assert.equal((await read(engine.submit(requestOf([1, 2], { maxTokens: 126 })))).ids().length, 126);
  assert.throws(() => engine.submit(requestOf([1, 2], { maxTokens: 127 })), {
    code: "unsupported",
    message: /it holds at most 128 tokens/,
  });
});

test("takes priorities only if it is set to schedule by them", async (t) => {
  const request = requestOf([1], { maxTokens: 1, priority: 1 });
  const plain = await startedWith({});
  const engine = await startedWith({ scheduling: "priority" });
  t.after(() => Promise.all([plain.stop(), engine.stop()]));
  assert.equal(refusalOf(plain, request), "unsupported");
  assert.equal((await read(engine.submit(request))).ids().length, 1);
});

test("a step that throws fails all running requests, and the engine stays down", async (t) => {
  const heard: string[] = [];
  const engine = createFakeEngine({
    onStep: () => void heard.push("step"),
    onBreakdown: () => void heard.push("breakdown"),
  });
  t.after(() => engine.stop());
  await engine.start();
  assert.equal((await read(engine.submit(requestOf([1], { maxTokens: 2 })))).failure, null);
  const fine = read(engine.submit(requestOf([1], { id: "fine", maxTokens: 500 })));
  const fatal = await read(engine.submit(requestOf([fatalTokenId], { id: "fatal" })));
  assert.match(fatal.failure ?? "", /^unavailable: The engine broke down/);
  assert.match((await fine).failure ?? "", /^unavailable: The engine broke down/);
  assert.equal(engine.status().state.kind, "failed");
  assert.equal(refusalOf(engine, requestOf([1])), "unavailable");
  assert.deepEqual([heard[0], heard.at(-1)], ["step", "breakdown"]);
});

test("an unforeseen fault fails the start, and its reason goes only to the log", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "hone-broken-"));
  t.after(() => rmSync(folder, { recursive: true }));
  cpSync(modelFolder, folder, { recursive: true });
  const settings = engineSettings.with({ threads: 1 });
  const open = (cacheFolder: string) =>
    openModelFolder(openingOf({ modelFolder: folder, cacheFolder, settings }), silentLogger);
  await assert.rejects(open(join(folder, "config.json")), {
    code: "internal",
    message: `The model in ${folder} cannot be loaded; the log says why.`,
  });
  rmSync(join(folder, "model.safetensors"));
  mkdirSync(join(folder, "model.safetensors"));
  await assert.rejects(open(folder), { code: "invalid", message: /model\.safetensors is a folder/ });
});
