// Tests of the embedded engine in its separate process, with a real model.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { systemClock } from "../../base/domain/clock.ts";
import { silentLogger } from "../../base/telemetry/testing/silent-logger.ts";
import type { ProcessEngine } from "./ipc/process-engine.ts";
import { constraintSettings } from "./token-masks/settings.ts";
import { adapter, answerOf, ask, modelFolder, recorded, vocabulary } from "./contract/engine-under-test.ts";
import { createEmbeddedEngine, weightsMs } from "./embedded-engine.ts";
import { engineSettings } from "./settings.ts";

const cacheFolder = mkdtempSync(join(tmpdir(), "hone-engine-"));
after(() => rmSync(cacheFolder, { recursive: true }));

const create = (folder: string): ProcessEngine =>
  createEmbeddedEngine({
    modelFolder: folder,
    cacheFolder,
    vocabulary: async () => vocabulary,
    settings: engineSettings.with({ threads: 1, kvCacheBytesMax: 2 ** 26 }),
    constraints: constraintSettings.with(),
    clock: systemClock,
    logger: silentLogger,
    log: { level: "silent", format: "json" },
  });

test("answers from its own process as the reference does, and reports the hash of its weights", async (t) => {
  const engine = create(modelFolder);
  t.after(() => engine.stop());
  await engine.start();
  const { state } = engine.status();
  assert.ok(state.kind === "ready" && /^[0-9a-f]{64}$/.test(state.weights ?? ""));
  const answers = await Promise.all([
    answerOf(engine, ask({ maxTokens: recorded.answer.length })),
    answerOf(engine, ask({ id: "adapted", adapter, topLogprobCount: 0 })),
  ]);
  assert.deepEqual(answers[0].ids(), recorded.answer);
  assert.notDeepEqual(answers[1].logprobs(), answers[0].logprobs());
});

test("fails to start on a model that cannot be served, and gives the reason", async () => {
  const engine = create("test/fixtures/goldens/training/adapter");
  await assert.rejects(engine.start(), { code: "not_found", message: /has no config\.json/ });
  const { state } = engine.status();
  assert.ok(state.kind === "failed" && state.reason.includes("has no config.json"));
});

test("ends the engine's process when its parent is killed", async () => {
  const script = fileURLToPath(new URL("./testing/orphan-parent.js", import.meta.url));
  const parent = spawn(process.execPath, [script, modelFolder, cacheFolder], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const closed = once(parent, "close");
  await once(parent.stdout, "data");
  parent.kill("SIGKILL");
  // The engine's process shares the parent's standard error. That stream closes only when both processes have ended.
  await closed;
});

test("allows more time to start for more weights, by their size in memory and not on disk", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "hone-model-"));
  t.after(() => rmSync(folder, { recursive: true }));
  cpSync(join(modelFolder, "config.json"), join(folder, "config.json"));
  assert.ok(weightsMs(folder) > 0, "weights outside the folder, like those of a GGUF file");
  assert.equal(weightsMs(folder), weightsMs(modelFolder));
  assert.equal(weightsMs(join(folder, "none")), 0);
});
