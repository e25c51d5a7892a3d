// Tests several vLLM servers behind one model: how requests are routed, and failures of some servers.
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { systemClock } from "../../base/domain/clock.ts";
import { read } from "../engine/contract/engine-under-test.ts";
import { createFakeEngine, fatalTokenId } from "../engine/testing/fake-engine.ts";
import { fakeShape } from "../engine/testing/fake-runner.ts";
import { requestOf, type ShortRequest } from "../engine/testing/run-loop.ts";
import { adapterHash } from "../architectures/hashes/adapter-hash.ts";
import type { RemoteSettings } from "./settings.ts";
import type { SentCompletion } from "./testing/stub-completions.ts";
import { StubVllm, type StubFault } from "./testing/stub-vllm.ts";
import { remoteEngine } from "./testing/stubbed-engine.ts";

const { vocabularySize, contextLength } = fakeShape;
const folder = "test/fixtures/goldens/training/adapter";
const adapter = { id: "m:1", folder, hash: adapterHash(folder) };

async function setUp(t: TestContext, count: number, settings: Partial<RemoteSettings> = {}) {
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
  const engine = remoteEngine({ urls, vocabularySize, waitingCountMax: 1000, settings });
  t.after(() => engine.stop());
  await engine.start();
  for (const stub of stubs) stub.asked.length = 0;
  const answer = async (prompt: readonly number[], more: ShortRequest = {}) =>
    await read(engine.submit(requestOf(prompt, { maxTokens: 3, id: `${++lastId}`, ...more })));
  return { stubs, engine, answer };
}

let lastId = 0;

/** Returns token ids. Prompts that begin with two different ids of these go to different replicas. */
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

test("routes prompts with the same beginning to one server, and spreads others", async (t) => {
  const { stubs, answer } = await setUp(t, 3);
  for (let time = 0; time < 9; time++) await answer([5, 6, 7, 8]);
  assert.deepEqual(
    stubs.map(answeredBy).sort((one, other) => one - other),
    [0, 0, 9],
  );
  for (const first of firsts(60)) await answer([first, 6, 7, 8]);
  // Ports are random, and so are the shares. Fixed addresses show that they are even (`choose-replica.test.ts`); here a
  // stub that answers none has a probability of 3 · (2/3)^60, which is 8e-11.
  for (const stub of stubs) assert.ok(answeredBy(stub) > 0, stubs.map(answeredBy).join(", "));
});

test("prepares an adapter at every server", async (t) => {
  const { stubs, engine } = await setUp(t, 3);
  await engine.prepareAdapter(adapter);
  for (const stub of stubs) assert.equal(stub.adapters.length, 1);
});

test("retries a request elsewhere if a server fails it before its first token", async (t) => {
  const { stubs, engine, answer } = await setUp(t, 2);
  const [one, other] = stubs;
  one.fault = breaks;
  for (const first of firsts(20)) assert.equal((await answer([first, 1])).failure, null);
  assert.ok(answeredBy(one) > 0);
  assert.ok(answeredBy(one) < 20 && answeredBy(other) === 20);
  // The failing server reports that it is healthy, so the engine stays ready.
  assert.equal(engine.status().state.kind, "ready");
  assert.equal((await answer([5], { adapter })).failure, null);
});

test("does not restart elsewhere an answer that has begun", async (t) => {
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

test("asks no other server after a permanent refusal", async (t) => {
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

test("sends nothing to a server that is gone until it is back with its adapters", async (t) => {
  const { stubs, engine, answer } = await setUp(t, 2);
  const [one, other] = stubs;
  const readyCount = () =>
    engine
      .status()
      .gauges()
      .find(({ name }) => name === "replicas_ready")?.value;
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

test("sends nothing to a healthy-looking server that failed requests until it computes a token", async (t) => {
  const { stubs, engine, answer } = await setUp(t, 2);
  const [one] = stubs;
  const bodies = () =>
    one.asked.filter(({ path }) => path === "/v1/completions").map(({ body }) => body as SentCompletion);
  const countOf = (isCounted: (id: string) => boolean) =>
    bodies().filter(({ request_id: id }) => isCounted(id)).length;
  const isProbe = (id: string) => id.startsWith("probe-");
  const probeCount = () => countOf(isProbe);
  // The requests with which the engine reads the server's limits do not count, because the server refuses them without
  // computing.
  const requestCount = () => countOf((id) => !isProbe(id) && id !== "limits");
  const isReady = () =>
    engine
      .status()
      .gauges()
      .some(({ name, value }) => name === "replicas_ready" && value === 2);
  one.fault = (path, ...exchange) => bodies().at(-1)?.request_id !== "limits" && breaks(path, ...exchange);
  for (const first of firsts(40)) assert.equal((await answer([first, 1])).failure, null);
  await until(() => probeCount() >= 3);
  const before = requestCount();
  assert.ok(before >= 3 && before < 20, `${before} requests`);
  for (const first of firsts(40)) assert.equal((await answer([first, 2])).failure, null);
  assert.deepEqual([requestCount(), isReady()], [before, false]);
  one.fault = () => false;
  await until(isReady);
  for (const first of firsts(40)) await answer([first, 3]);
  assert.ok(requestCount() > before);
});

test("refuses a request if all servers are gone, with the reason", async (t) => {
  const { stubs, answer } = await setUp(t, 2);
  for (const stub of stubs) stub.fault = breaks;
  assert.match((await answer([5, 6])).failure ?? "", /^unavailable: /);
});

/** Makes the servers hold all requests. Each call of `open` releases the oldest one. */
function gate(stubs: readonly StubVllm[]) {
  const held: (() => void)[] = [];
  const chunk = {
    choices: [{ index: 0, text: "", logprobs: null, finish_reason: "length", token_ids: [3] }],
  };
  for (const stub of stubs)
    stub.fault = (path, _request, response) => {
      if (path !== "/v1/completions") return false;
      held.push(() => response.writeHead(200).end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`));
      return true;
    };
  return { held, open: () => held.shift()?.() };
}

test("limits a server's concurrent requests, queues others here, and takes entities in turns", async (t) => {
  const { stubs, engine, answer } = await setUp(t, 2, { sequencesMax: 2 });
  const { held, open } = gate(stubs);
  const ended: string[] = [];
  const ask = async (entity: string, prompt: readonly number[]) => {
    const { failure } = await answer(prompt, { cacheOwner: entity, maxTokens: 1 });
    assert.equal(failure, null);
    ended.push(entity);
  };
  const all = [1, 2, 3, 4, 5, 6].map((first) => ask("many", [first, 9]));
  await until(() => held.length === 4);
  all.push(ask("one", [7, 9]));
  const gaugeSum = (name: string) =>
    engine
      .status()
      .gauges()
      .filter((gauge) => gauge.name === name)
      .reduce((sum, { value }) => sum + value, 0);
  await until(() => gaugeSum("replica_requests_waiting") === 3);
  assert.deepEqual([gaugeSum("replica_requests_running"), gaugeSum("replica_sequences")], [4, 4]);
  const { runningCount, waitingCount } = engine.status();
  assert.deepEqual([runningCount, waitingCount], [4, 3]);
  // The released request may be on either server, and a waiting request is then admitted there.
  for (let time = 0; time < 3; time++) {
    open();
    await until(() => ended.length === time + 1);
  }
  await until(() => held.length === 4);
  assert.equal(gaugeSum("replica_requests_waiting"), 0);
  while (ended.length < 7) {
    const before = ended.length;
    open();
    await until(() => ended.length > before);
  }
  await Promise.all(all);
  assert.ok(ended.indexOf("one") < 6, ended.join());
  assert.equal(gaugeSum("replica_sequences"), 0);
});

test("admits a waiting request elsewhere if its server goes or another is idle", async (t) => {
  const { stubs, engine, answer } = await setUp(t, 2, { sequencesMax: 1 });
  const [one, other] = stubs;
  const readyCount = () =>
    engine
      .status()
      .gauges()
      .find(({ name }) => name === "replicas_ready")?.value;
  one.fault = dies;
  await until(() => readyCount() === 1);
  const { held, open } = gate([other]);
  const all = [1, 2, 3].map((first) => answer([first, 9], { maxTokens: 1 }));
  await until(() => held.length === 1 && engine.status().waitingCount === 2);
  // Server `one` is reachable again, and admits a request that was waiting for the other server.
  one.fault = () => false;
  await until(() => answeredBy(one) > 0);
  other.fault = dies;
  await until(() => readyCount() === 1);
  open();
  for (const transcript of await Promise.all(all)) assert.equal(transcript.failure, null);
});

test("refuses a request that waits too long for admission, naming when to retry", async (t) => {
  const { stubs, answer } = await setUp(t, 1, { sequencesMax: 1, turnSeconds: 0.2 });
  const { held, open } = gate(stubs);
  const running = answer([5, 6], { maxTokens: 1 });
  await until(() => held.length === 1);
  assert.match(
    (await answer([5, 7])).failure ?? "",
    /^overloaded: The request waited 0\.2 s for room on a server/,
  );
  open();
  assert.equal((await running).failure, null);
});

test("reuses connections between requests", async (t) => {
  const { stubs, answer } = await setUp(t, 1);
  const sockets = new Set<unknown>();
  stubs[0].fault = (_path, request) => {
    sockets.add(request.socket);
    return false;
  };
  for (const first of firsts(20)) assert.equal((await answer([first, 1])).failure, null);
  // Health probes also use connections meanwhile.
  assert.ok(sockets.size <= 4, `${sockets.size} connections`);
});
