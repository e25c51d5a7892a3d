// Tests the process engine: outputs that cross processes, and what callers see when the process is killed, breaks down,
// hangs or is stopped. The engine in that process produces tokens without computing.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { present } from "../../../base/domain/assert.ts";
import { systemClock } from "../../../base/domain/clock.ts";
import type { Engine, GenerationRequest } from "../../../base/domain/generation.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { choice } from "../../../lib/constraints/grammar/testing/make-constraints.ts";
import { silentLogger } from "../../../base/telemetry/testing/silent-logger.ts";
import { read } from "../contract/engine-under-test.ts";
import { engineSettings, type EngineSettings } from "../settings.ts";
import { createFakeEngine, fatalTokenId } from "../testing/fake-engine.ts";
import { requestOf, withAdapter } from "../testing/run-loop.ts";
import { ProcessEngine } from "./process-engine.ts";

const engines: Engine[] = [];
after(() => Promise.all(engines.map((engine) => engine.stop())));

const carried = createFakeEngine();
const create = (settings: Partial<EngineSettings> = {}): ProcessEngine => {
  const engine = new ProcessEngine({
    module: new URL("../testing/fake-main.js", import.meta.url),
    load: null,
    capabilities: carried.capabilities,
    gauges: carried.status().gauges(),
    settings: engineSettings.with(settings),
    clock: systemClock,
    logger: silentLogger,
  });
  engines.push(engine);
  return engine;
};

const started = async (settings: Partial<EngineSettings> = {}): Promise<ProcessEngine> => {
  const engine = create(settings);
  await engine.start();
  return engine;
};

const plain = requestOf([5, 6], { maxTokens: 9 });
/** Returns a request with an answer so long that it still runs whenever a test looks at it. */
const endless = (id: string): GenerationRequest =>
  requestOf([5], { id, maxTokens: 500, choiceCount: 64, topLogprobCount: 20 });

const codeOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "none",
    (error: unknown) => (error instanceof ServiceError ? error.code : String(error)),
  );
const failureOf = async (engine: Engine, request: GenerationRequest): Promise<string> =>
  (await read(engine.submit(request))).failure?.split(":")[0] ?? "none";
const processIdOf = ({ processId }: ProcessEngine): number => present(processId, "a process that runs");
const kindOf = (engine: Engine): string => engine.status().state.kind;
const reasonOf = (engine: Engine): string => {
  const { state } = engine.status();
  return state.kind === "ready" ? "" : state.reason;
};
const gaugeOf = (engine: Engine, name: string): number | undefined =>
  engine
    .status()
    .gauges()
    .find((gauge) => gauge.name === name)?.value;
const until = async (condition: () => boolean): Promise<void> => {
  for (let attempt = 0; !condition(); attempt++) {
    assert.ok(attempt < 2000, "the awaited state comes within 20 s");
    await systemClock.sleep(10);
  }
};

test("one process answers a prompt that another computed as if it had computed it itself", async () => {
  const [prefilling, decoding] = await Promise.all([started(), started()]);
  const tokenIds = Array.from({ length: 100 }, (_, index) => index % fatalTokenId);
  const request = requestOf(tokenIds, { topLogprobCount: 2, cacheOwner: "ann" });
  const origin = { weights: "w", precision: "float32", build: "b", adapter: null };
  const hold = { handle: "h", seconds: 60, origin };
  await read(prefilling.submit({ ...request, prompt: { ...request.prompt, hold } }));
  assert.equal(await prefilling.transfers.take("h", "ben"), null);
  const prompt = present(await prefilling.transfers.take("h", "ann"), "a held prompt");
  await decoding.transfers.expect("r", prompt);
  const bytes = await prefilling.transfers.read("h", 0, prompt.byteLength);
  await decoding.transfers.write("r", 0, bytes);
  const answered = await read(decoding.submit({ ...request, prompt: { ...request.prompt, received: "r" } }));
  const alone = await read(decoding.submit({ ...request, cacheSalt: "alone" }));
  assert.deepEqual([answered.ids(), answered.logprobs()], [alone.ids(), alone.logprobs()]);
  const [first] = answered.events;
  assert.ok(first.kind === "prompt-computed");
  assert.deepEqual([first.cachedTokenCount, (first.waitedMs ?? -1) >= 0], [100, true]);
  await Promise.all([prefilling.transfers.drop("h"), decoding.transfers.drop("r")]);
  assert.equal(await codeOf(prefilling.transfers.read("h", 0, 4)), "not_found");
});

test("carries all events of requests exactly as the engine in the process emits them", async () => {
  const inside = createFakeEngine();
  engines.push(inside);
  await inside.start();
  const outside = await started();
  assert.deepEqual(outside.status().state, inside.status().state);
  const requests = [
    plain,
    requestOf([1, 2, 3], { topLogprobCount: 3, promptLogprobCount: 2, choiceCount: 3, maxTokens: 40 }),
    withAdapter(requestOf([4], { sampling: { temperature: 1, seed: 8 } }), { id: "one:1", folder: "one" }),
    withAdapter(plain, { id: "missing:1", folder: "missing" }),
    requestOf([2], { beams: { width: 3, lengthPenalty: 1 }, topLogprobCount: 1 }),
    requestOf([2], { constraint: choice("aa"), stopTokenIds: [0] }),
    requestOf([2], { constraint: choice("b") }),
    requestOf([3], {
      sampling: { processors: [{ name: "no-repeat-ngram", args: [], kwargs: { size: "x" } }] },
    }),
  ].map((request, index) => ({ ...request, id: `request ${index}` }));
  const answersOf = (engine: Engine) => Promise.all(requests.map((request) => read(engine.submit(request))));
  const [actual, expected] = await Promise.all([answersOf(outside), answersOf(inside)]);
  for (const [index, transcript] of expected.entries()) {
    const found = actual[index];
    assert.equal(found.failure, transcript.failure);
    assert.deepEqual(found.finishes().toSorted(), transcript.finishes().toSorted());
    assert.deepEqual(found.promptLogprobs(), transcript.promptLogprobs());
    for (let each = 0; each < 3; each++) {
      assert.deepEqual(found.ids(each), transcript.ids(each));
      assert.deepEqual(found.logprobs(each), transcript.logprobs(each));
      assert.deepEqual(found.alternatives(each), transcript.alternatives(each));
    }
  }
  assert.equal(new Set(expected.map(({ failure }) => failure)).size, 4, "some fail, each for its own reason");
});

test("an abort, and choices that are stopped, free the engine in the process", async () => {
  const engine = await started();
  const generation = engine.submit(endless("a"));
  const stopped = await read(generation, ({ events }) => {
    if (events.at(-1)?.kind !== "tokens") return;
    for (let each = 0; each < 64; each++) generation.stopChoice(each);
  });
  assert.equal(stopped.failure, null);
  const aborted = engine.submit(endless("a"));
  assert.ok(gaugeOf(engine, "kv_cache_bytes") !== 0);
  const { failure } = await read(aborted, ({ events }) => {
    if (events.at(-1)?.kind === "tokens") aborted.abort();
  });
  assert.match(failure ?? "", /^cancelled/);
  await until(() => gaugeOf(engine, "kv_cache_bytes") === 0);
  const { runningCount, waitingCount } = engine.status();
  assert.deepEqual([runningCount, waitingCount], [0, 0]);
});

test("when its process is killed, running requests fail immediately and it restarts", async () => {
  const engine = await started();
  const failed = failureOf(engine, endless("a"));
  process.kill(processIdOf(engine), "SIGKILL");
  assert.equal(await failed, "unavailable");
  assert.equal(kindOf(engine), "restarting");
  assert.match(reasonOf(engine), /was ended by SIGKILL/);
  assert.equal(gaugeOf(engine, "kv_cache_bytes"), 0);
  assert.throws(() => engine.submit(plain), { code: "unavailable" });
  await until(() => kindOf(engine) === "ready");
  assert.equal(gaugeOf(engine, "restarts"), 1);
  assert.equal(await failureOf(engine, plain), "none");
});

test("an engine that breaks down ends its process, and is restarted", async () => {
  const engine = await started();
  assert.equal(await failureOf(engine, requestOf([1, fatalTokenId])), "unavailable");
  assert.match(reasonOf(engine), /ended with code 1/);
  await until(() => kindOf(engine) === "ready");
  assert.equal(await failureOf(engine, plain), "none");
});

test("stays down after too many deaths, and gives the reason", async () => {
  const engine = await started({ restartCountMax: 0 });
  process.kill(processIdOf(engine), "SIGKILL");
  await until(() => kindOf(engine) === "failed");
  assert.match(reasonOf(engine), /too often/);
  assert.throws(() => engine.submit(plain), { code: "unavailable", message: "The engine is down." });
});

test("kills and restarts a busy process that is silent", async () => {
  const engine = await started({ stepDeadlineMs: 400 });
  const running = engine.submit(endless("a"));
  process.kill(processIdOf(engine), "SIGSTOP");
  assert.match((await read(running)).failure ?? "", /^unavailable/);
  await until(() => kindOf(engine) === "ready");
});

test("stop ends running requests as unavailable and leaves no process", async () => {
  const engine = await started();
  const id = processIdOf(engine);
  const failed = failureOf(engine, endless("a"));
  await engine.stop();
  assert.equal(await failed, "unavailable");
  assert.throws(() => process.kill(id, 0), { code: "ESRCH" });
  assert.deepEqual([kindOf(engine), engine.processId], ["stopped", null]);
});

test("aborts a start that exceeds its deadline", async () => {
  const engine = create({ startDeadlineMs: 1 });
  assert.equal(await codeOf(engine.start()), "timeout");
  assert.equal(kindOf(engine), "failed");
});

test("stop during a start leaves nothing behind", async () => {
  const engine = create();
  const start = codeOf(engine.start());
  await engine.stop();
  assert.equal(await start, "unavailable");
  assert.deepEqual([kindOf(engine), engine.processId], ["stopped", null]);
});
