// The engine's process from outside: what callers see when it starts, works, is killed, and stops.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { systemClock } from "../domain/clock.ts";
import type { Generation, GenerationRequest } from "../domain/generation.ts";
import { ServiceError, type ErrorCode } from "../domain/service-error.ts";
import { defaultsOf } from "../domain/settings.ts";
import { silentLogger } from "../telemetry/logger.ts";
import { createChildEngine, type ChildEngine } from "./child-engine.ts";
import { constraintSettings } from "./constraints/settings.ts";
import { engineSettings, type EngineSettings } from "./settings.ts";
import { requestOf, withAdapter } from "./testing/run-loop.ts";
import { packVocabulary } from "../domain/vocabulary.ts";

const model = "test/fixtures/goldens/models/qwen3";
const adapter = { id: "golden:1", folder: "test/fixtures/goldens/training/adapter" };
const golden = JSON.parse(readFileSync(`${model}/golden.json`, "utf8")) as {
  readonly greedy_prompt_ids: readonly number[];
  readonly greedy_ids: readonly number[];
};
const cacheFolder = mkdtempSync(join(tmpdir(), "hone-engine-"));
const engines: ChildEngine[] = [];

after(async () => {
  await Promise.all(engines.map((engine) => engine.stop()));
  rmSync(cacheFolder, { recursive: true });
});

const create = (settings: Partial<EngineSettings> = {}, modelFolder = model): ChildEngine => {
  const engine = createChildEngine({
    modelFolder,
    cacheFolder,
    vocabulary: packVocabulary([]),
    settings: { ...defaultsOf(engineSettings), threads: 1, kvCacheBytesMax: 2 ** 26, ...settings },
    constraints: defaultsOf(constraintSettings),
    clock: systemClock,
    logger: silentLogger,
    log: { level: "silent", format: "json" },
  });
  engines.push(engine);
  return engine;
};

const greedy: GenerationRequest = requestOf(golden.greedy_prompt_ids, { maxTokens: 40 });
/** Long enough to be running whenever a test looks at it. */
const endless = (id: string): GenerationRequest =>
  requestOf([5], { id, maxTokens: 200, choiceCount: 16, topLogprobCount: 20 });

const idsOf = async (generation: Generation): Promise<readonly number[]> => {
  const ids: number[] = [];
  for await (const batch of generation.events) {
    for (const event of batch) if (event.kind === "tokens") ids.push(...event.tokens.map(({ id }) => id));
  }
  return ids;
};

/** The code with which a call, or a generation's events, fail. */
const codeOf = async (run: () => Promise<unknown>): Promise<ErrorCode | "none"> => {
  try {
    await run();
    return "none";
  } catch (error) {
    assert.ok(error instanceof ServiceError, String(error));
    return error.code;
  }
};

const gaugeOf = (engine: ChildEngine, name: string): number | undefined =>
  engine.status().gauges.find((gauge) => gauge.name === name)?.value;

const reasonOf = (engine: ChildEngine): string => {
  const { state } = engine.status();
  return state.kind === "ready" ? "" : state.reason;
};

const until = async (condition: () => boolean): Promise<void> => {
  for (let attempt = 0; !condition(); attempt++) {
    assert.ok(attempt < 2000, "the awaited state comes within 20 s");
    await systemClock.sleep(10);
  }
};

test("gives the cache back when nothing runs, and ends its process when it is stopped", async () => {
  const engine = create();
  await engine.start();
  const { state } = engine.status();
  assert.ok(state.kind === "ready");
  const { beamPositionCountsMax, ...limits } = state.limits;
  assert.deepEqual(limits, { contextLength: 256, vocabularySize: 512, positionCountMax: 256 });
  assert.equal(beamPositionCountsMax[0], 256);
  const answers = await Promise.all([
    idsOf(engine.submit(greedy)),
    idsOf(engine.submit(withAdapter({ ...greedy, id: "adapted" }, adapter))),
  ]);
  assert.deepEqual(answers[0], golden.greedy_ids);
  await until(() => gaugeOf(engine, "kv_cache_bytes") === 0);
  await engine.stop();
  assert.deepEqual([engine.status().state.kind, engine.processId()], ["stopped", null]);
});

test("refuses what its memory can never hold, and says how much it can", async () => {
  // Of this model a position takes 1,536 bytes.
  const engine = create({ kvCacheBytesMax: 64 * 1536 });
  await engine.start();
  const { state } = engine.status();
  assert.ok(state.kind === "ready" && state.limits.positionCountMax === 64);
  assert.equal((await idsOf(engine.submit(requestOf([1, 2], { maxTokens: 62 })))).length, 62);
  assert.equal(await codeOf(async () => engine.submit(requestOf([1, 2], { maxTokens: 63 }))), "unsupported");
});

test("takes priorities only where it is set to schedule by them", async () => {
  const request = requestOf([1], { maxTokens: 1, priority: 1 });
  const plain = create();
  await plain.start();
  assert.equal(await codeOf(async () => plain.submit(request)), "unsupported");
  await plain.stop();
  const engine = create({ scheduling: "priority" });
  await engine.start();
  assert.equal((await idsOf(engine.submit(request))).length, 1);
});

test("an abort frees the cache", async () => {
  const engine = create();
  await engine.start();
  let count = 0;
  for await (const batch of engine.submit(endless("a")).events) {
    count += batch.filter(({ kind }) => kind === "tokens").length;
    if (count >= 40) break;
  }
  await until(() => gaugeOf(engine, "kv_cache_bytes") === 0);
  assert.equal(engine.status().runningCount, 0);
});

test("when its process is killed, running requests fail at once and it comes back", async () => {
  const engine = create();
  await engine.start();
  const running = engine.submit(endless("a"));
  const failed = codeOf(() => idsOf(running));
  process.kill(engine.processId() ?? 0, "SIGKILL");
  assert.equal(await failed, "unavailable");
  assert.equal(engine.status().state.kind, "restarting");
  assert.match(reasonOf(engine), /was ended by SIGKILL/);
  assert.equal(gaugeOf(engine, "kv_cache_bytes"), 0);
  assert.equal(await codeOf(async () => engine.submit(greedy)), "unavailable");
  await until(() => engine.status().state.kind === "ready");
  assert.equal(gaugeOf(engine, "restarts"), 1);
  assert.deepEqual(await idsOf(engine.submit(greedy)), golden.greedy_ids);
});

test("stays down after too many deaths, and says why", async () => {
  const engine = create({ restartCountMax: 0 });
  await engine.start();
  process.kill(engine.processId() ?? 0, "SIGKILL");
  await until(() => engine.status().state.kind === "failed");
  assert.match(reasonOf(engine), /too often/);
});

test("a process that has work and says nothing is killed and started again", async () => {
  const engine = create({ stepDeadlineMs: 400 });
  await engine.start();
  const running = engine.submit(endless("a"));
  process.kill(engine.processId() ?? 0, "SIGSTOP");
  assert.equal(await codeOf(() => idsOf(running)), "unavailable");
  await until(() => engine.status().state.kind === "ready");
});

test("stop ends running requests as unavailable and leaves no process", async () => {
  const engine = create();
  await engine.start();
  const pid = engine.processId() ?? 0;
  const failed = codeOf(() => idsOf(engine.submit(endless("a"))));
  await engine.stop();
  assert.equal(await failed, "unavailable");
  assert.throws(() => process.kill(pid, 0), { code: "ESRCH" });
});

test("the engine's process ends when its parent is killed", async () => {
  const script = fileURLToPath(new URL("./testing/orphan-parent.js", import.meta.url));
  const parent = spawn(process.execPath, [script, model, cacheFolder], { stdio: ["ignore", "pipe", "pipe"] });
  const closed = once(parent, "close");
  await once(parent.stdout, "data");
  parent.kill("SIGKILL");
  // The engine's process holds the same standard error, so it closes only when both are gone.
  await closed;
});

test("a model that cannot be served fails the start with the reason", async () => {
  const engine = create({}, "test/fixtures/goldens/training/adapter");
  assert.notEqual(await codeOf(() => engine.start()), "none");
  assert.equal(engine.status().state.kind, "failed");
  assert.ok(reasonOf(engine).length > 10);
});

test("a fault that nobody foresaw fails the start, and is said in the log alone", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "hone-broken-"));
  t.after(() => rmSync(folder, { recursive: true }));
  cpSync(model, folder, { recursive: true });
  rmSync(join(folder, "model.safetensors"));
  mkdirSync(join(folder, "model.safetensors"));
  const engine = create({}, folder);
  assert.equal(await codeOf(() => engine.start()), "internal");
  assert.equal(reasonOf(engine), `The model in ${folder} cannot be loaded; the log says why.`);
});

test("a start that takes longer than its deadline is given up", async () => {
  const engine = create({ startDeadlineMs: 1 });
  assert.equal(await codeOf(() => engine.start()), "timeout");
  assert.equal(engine.status().state.kind, "failed");
});

test("stop during a start leaves nothing behind", async () => {
  const engine = create();
  const started = codeOf(() => engine.start());
  await engine.stop();
  assert.equal(await started, "unavailable");
  assert.deepEqual([engine.status().state.kind, engine.processId()], ["stopped", null]);
});
