// Several servers behind one model: who answers, and what becomes of requests when some of them do not.
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { systemClock } from "../domain/clock.ts";
import { read } from "../engine/contract/engine-under-test.ts";
import { createFakeEngine, fatalTokenId } from "../engine/testing/fake-engine.ts";
import { fakeShape } from "../engine/testing/fake-runner.ts";
import { requestOf, type ShortRequest } from "../engine/testing/run-loop.ts";
import { adapterHash } from "../model/hashes/adapter-hash.ts";
import { StubVllm, type StubFault } from "./testing/stub-vllm.ts";
import { remoteEngine } from "./testing/stubbed-engine.ts";

const { vocabularySize, contextLength } = fakeShape;
const folder = "test/fixtures/goldens/training/adapter";
const adapter = { id: "m:1", folder, hash: adapterHash(folder) };

async function setUp(t: TestContext, count: number) {
  const stubs = Array.from(
    { length: count },
    () =>
      new StubVllm({
        behind: createFakeEngine(),
        vocabularySize,
        contextLength,
        endTokenId: 2,
        logprobCountMax: 20,
      }),
  );
  const urls = await Promise.all(stubs.map((stub) => stub.start()));
  t.after(() => Promise.all(stubs.map((stub) => stub.stop())));
  const engine = remoteEngine({ urls, vocabularySize, waitingCountMax: 1000 });
  t.after(() => engine.stop());
  await engine.start();
  for (const stub of stubs) stub.asked.length = 0;
  const answer = async (prompt: readonly number[], more: ShortRequest = {}) =>
    await read(engine.submit(requestOf(prompt, { maxTokens: 3, id: `${++lastId}`, ...more })));
  return { stubs, engine, answer };
}

let lastId = 0;

/** Prompts that begin otherwise. */
const firsts = (count: number): readonly number[] =>
  Array.from({ length: count + 1 }, (_, first) => first)
    .filter((first) => first !== fatalTokenId)
    .slice(0, count);

const answeredBy = ({ asked }: StubVllm): number =>
  asked.filter(({ path }) => path === "/v1/completions").length;

async function until(isSo: () => boolean): Promise<void> {
  const startMs = systemClock.monotonicMs();
  while (!isSo()) {
    assert.ok(systemClock.monotonicMs() - startMs < 30_000, "it comes within 30 s");
    await systemClock.sleep(5);
  }
}

const breaks: StubFault = (path, request) => {
  if (path === "/v1/completions") request.socket.destroy();
  return path === "/v1/completions";
};
const dies: StubFault = (_path, request) => {
  request.socket.destroy();
  return true;
};

test("prompts that begin alike are answered by one server, and others by others", async (t) => {
  const { stubs, answer } = await setUp(t, 3);
  for (let time = 0; time < 9; time++) await answer([5, 6, 7, 8]);
  assert.deepEqual(
    stubs.map(answeredBy).sort((one, other) => one - other),
    [0, 0, 9],
  );
  for (const first of firsts(60)) await answer([first, 6, 7, 8]);
  for (const stub of stubs) assert.ok(answeredBy(stub) >= 8, stubs.map(answeredBy).join(", "));
});

test("an adapter is prepared at every server", async (t) => {
  const { stubs, engine } = await setUp(t, 3);
  await engine.prepareAdapter(adapter);
  for (const stub of stubs) assert.equal(stub.adapters.length, 1);
});

test("a request that a server fails before its first token is answered by another", async (t) => {
  const { stubs, engine, answer } = await setUp(t, 2);
  const [one, other] = stubs;
  one.fault = breaks;
  for (const first of firsts(20)) assert.equal((await answer([first, 1])).failure, null);
  assert.ok(answeredBy(one) > 0);
  assert.ok(answeredBy(one) < 20 && answeredBy(other) === 20);
  // It says that it is well, and gets a request now and then.
  assert.equal(engine.status().state.kind, "ready");
  assert.equal((await answer([5], { adapter })).failure, null);
});

test("what has begun is not begun again elsewhere", async (t) => {
  const { stubs, answer } = await setUp(t, 2);
  const chunk = { choices: [{ index: 0, text: "", logprobs: null, finish_reason: null, token_ids: [3] }] };
  for (const stub of stubs)
    stub.fault = (path, request, response) => {
      if (path !== "/v1/completions") return false;
      response.writeHead(200).write(`data: ${JSON.stringify(chunk)}\n\n`, () => request.socket.destroy());
      return true;
    };
  const transcript = await answer([5, 6]);
  assert.match(transcript.failure ?? "", /^unavailable: /);
  assert.deepEqual(transcript.ids(), [3]);
  assert.equal(
    stubs.map(answeredBy).reduce((sum, one) => sum + one),
    1,
  );
});

test("what a server refuses for good is not asked of another", async (t) => {
  const { stubs, answer } = await setUp(t, 2);
  for (const stub of stubs)
    stub.fault = (path, _request, response) => {
      if (path !== "/v1/completions") return false;
      response.writeHead(400).end(`{"error":{"message":"no","code":400}}`);
      return true;
    };
  assert.match((await answer([5, 6])).failure ?? "", /^unsupported: /);
  assert.equal(
    stubs.map(answeredBy).reduce((sum, one) => sum + one),
    1,
  );
});

test("a server that is gone gets nothing until it is back, with its adapters", async (t) => {
  const { stubs, engine, answer } = await setUp(t, 2);
  const [one, other] = stubs;
  const readyCount = () => engine.status().gauges.find(({ name }) => name === "replicas_ready")?.value;
  await engine.prepareAdapter(adapter);
  one.fault = dies;
  await until(() => readyCount() === 1);
  one.asked.length = 0;
  other.asked.length = 0;
  for (const first of firsts(10)) assert.equal((await answer([first, 1], { adapter })).failure, null);
  assert.deepEqual([answeredBy(one), answeredBy(other)], [0, 10]);
  one.forget();
  one.fault = () => false;
  await until(() => readyCount() === 2);
  for (const first of firsts(30)) assert.equal((await answer([first, 1], { adapter })).failure, null);
  assert.ok(answeredBy(one) > 0);
  assert.equal(one.adapters.length, 1);
});

test("where all are gone a request is refused, and says so", async (t) => {
  const { stubs, answer } = await setUp(t, 2);
  for (const stub of stubs) stub.fault = breaks;
  assert.match((await answer([5, 6])).failure ?? "", /^unavailable: /);
});
