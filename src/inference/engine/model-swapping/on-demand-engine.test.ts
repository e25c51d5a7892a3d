// Tests engines that share memory. Covers requests that wait for a load or for room, time out, or are cancelled, as
// well as failed loads and the state after a stop. The engines are real loops over a fake model, with a fake clock.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { AdapterReference, Engine } from "../../../base/domain/generation.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import { packVocabulary } from "../../../base/domain/vocabulary.ts";
import { silentLogger } from "../../../base/telemetry/testing/silent-logger.ts";
import { read } from "../contract/engine-under-test.ts";
import type { OpenModel } from "../loop-engine.ts";
import { LocalEngine } from "../testing/local-engine.ts";
import { engineSettings } from "../settings.ts";
import { FakeRunner } from "../testing/fake-runner.ts";
import { requestOf } from "../testing/run-loop.ts";
import { constraintSettings } from "../token-masks/settings.ts";
import { ModelMemory, type MemoryObserver } from "./model-memory.ts";
import { OnDemandEngine } from "./on-demand-engine.ts";

const waitMs = 60_000;
const limits = { bytesMax: 10, keepAliveMs: 300_000, turnMs: 10_000, pauseMs: 250 };
const { signal } = new AbortController();
const anyRequest = () => ({ signal: new AbortController().signal });

/** Properties of a base, and how its loads end. A load ends immediately unless `until` delays it. */
interface Script {
  readonly bytes?: number;
  readonly isReadyAtStart?: boolean;
  readonly isKept?: boolean;
  /** Promise for which the next load waits. */
  until?: Promise<void>;
  /** Number of loads that fail from now on. */
  failureCount?: number;
}

const engines: Engine[] = [];
after(() => Promise.all(engines.map((engine) => engine.stop())));

/** Creates bases with the given scripts, which share one memory. Starts them unless `starts` is false. */
async function serve<Name extends string>(
  scripts: Readonly<Record<Name, Script>>,
  more: {
    readonly waitingCountMax?: number;
    readonly keepAliveMs?: number;
    readonly starts?: boolean;
  } = {},
) {
  const clock = new FakeClock();
  const events: string[] = [];
  const observer: MemoryObserver = {
    loaded: (name) => events.push(`${name} loaded`),
    loadFailed: (name) => events.push(`${name} failed`),
    unloaded: (name, why) => events.push(`${name} unloaded for ${why}`),
  };
  const { waitingCountMax = 8, keepAliveMs = limits.keepAliveMs } = more;
  const memory = new ModelMemory({
    limits: { ...limits, keepAliveMs },
    waitMs,
    waitingCountMax,
    clock,
    observer,
  });
  const loads = new Map<string, RecordingRunner>();
  const base = (name: string, script: Script): OnDemandEngine => {
    const openModel = async (): Promise<OpenModel> => {
      await script.until;
      if ((script.failureCount ?? 0) > 0) {
        script.failureCount = (script.failureCount ?? 0) - 1;
        throw new ServiceError({ code: "unavailable", message: "its process was ended." });
      }
      const runner = new RecordingRunner();
      loads.set(name, runner);
      return { runner };
    };
    const make = (): Engine =>
      new LocalEngine({
        openModel,
        vocabulary: packVocabulary([new Uint8Array([0x61])]),
        settings: engineSettings.with({ kvCacheBytesMax: 2 ** 26 }),
        constraints: constraintSettings.with(),
        logger: silentLogger,
      });
    const { bytes = 6, isReadyAtStart = false, isKept = false } = script;
    const engine = new OnDemandEngine({
      name,
      make,
      memory,
      bytes,
      isReadyAtStart,
      isKept,
      logger: silentLogger,
    });
    engines.push(engine);
    return engine;
  };
  // Safe cast: the record's keys are the names.
  const names = Object.keys(scripts) as Name[];
  const bases = Object.fromEntries(names.map((name) => [name, base(name, scripts[name])])) as Record<
    Name,
    OnDemandEngine
  >;
  const start = async (): Promise<void> => {
    for (const name of names) await bases[name].start();
  };
  if (more.starts !== false) await start();
  /** Lets loads and stops continue. They need some turns of the event loop, but no time of the clock. */
  const settle = async (): Promise<void> => {
    for (let count = 0; count < 20; count++) await clock.advance(0);
  };
  return { ...bases, start, memory, clock, events, settle, loads };
}

const kindOf = (engine: Engine): string => engine.status().state.kind;
const reasonOf = (engine: Engine): string => {
  const { state } = engine.status();
  return state.kind === "ready" ? "" : state.reason;
};
const refusalOf = (work: Promise<unknown>): Promise<ServiceError> =>
  work.then(
    () => assert.fail("it was let in"),
    (error: unknown) => (error instanceof ServiceError ? error : assert.fail(String(error))),
  );

class RecordingRunner extends FakeRunner {
  readonly loadedIds: string[] = [];

  override loadAdapter(reference: AdapterReference): ReturnType<FakeRunner["loadAdapter"]> {
    this.loadedIds.push(reference.id);
    return super.loadAdapter(reference);
  }
}

/** Returns a promise, with a function by which the test resolves it. */
function later() {
  let end = (): void => undefined;
  const promise = new Promise<void>((resolve) => (end = resolve));
  return { promise, end };
}

test("the first request loads a base, and is answered", async () => {
  const { a, events } = await serve({ a: {} });
  assert.deepEqual([kindOf(a), events], ["unloaded", []]);
  const release = await a.hold({ signal });
  assert.equal(kindOf(a), "ready");
  assert.equal((await read(a.submit(requestOf([5], { maxTokens: 3 })))).failure, null);
  release();
  release();
  assert.deepEqual(events, ["a loaded"]);
});

test("while the start loads a base, refuses its requests with the reason and a retry time", async () => {
  const loading = later();
  const { a, start } = await serve(
    { a: { isReadyAtStart: true, until: loading.promise } },
    { starts: false },
  );
  assert.equal((await refusalOf(a.hold(anyRequest()))).code, "unavailable");
  const started = start();
  const { code, message, retryAfterSeconds } = await refusalOf(a.hold(anyRequest()));
  assert.deepEqual(
    [code, message, retryAfterSeconds, kindOf(a)],
    ["unavailable", "The model a is loading; try again in 2 s.", 2, "starting"],
  );
  loading.end();
  await started;
  (await a.hold(anyRequest()))();
});

test("requests wait visibly while a base is loaded, and then all run", async () => {
  const loading = later();
  const { a, memory, events, settle } = await serve({ a: { until: loading.promise } });
  const holds = [anyRequest(), anyRequest(), anyRequest()].map((options) => a.hold(options));
  assert.deepEqual([kindOf(a), a.status().waitingCount, memory.waitingCount], ["loading", 3, 3]);
  loading.end();
  await settle();
  await Promise.all(holds);
  assert.deepEqual([kindOf(a), memory.waitingCount, events], ["ready", 0, ["a loaded"]]);
});

test("a client that disconnects leaves the queue, and a base with no waiting requests is not loaded", async () => {
  const { a, b, events, clock, settle } = await serve({ a: {}, b: {} });
  const release = await a.hold({ signal });
  const leaving = new AbortController();
  const waiting = refusalOf(b.hold({ signal: leaving.signal }));
  assert.match(reasonOf(b), /^1 requests wait for memory, which is held by a \(0 MiB, 1 requests\)\.$/);
  leaving.abort();
  assert.equal((await waiting).code, "cancelled");
  assert.equal((await refusalOf(b.hold({ signal: leaving.signal }))).code, "cancelled");
  assert.equal(kindOf(b), "unloaded");
  release();
  await clock.advance(20_000);
  await settle();
  assert.deepEqual(events, ["a loaded"]);
});

test("an operator loads a base, and unloads it while no request uses it; the next request reloads it", async () => {
  const { a, events, settle } = await serve({ a: { isKept: true } });
  await a.unload();
  await a.load(anyRequest());
  assert.deepEqual([kindOf(a), events], ["ready", ["a loaded"]]);
  const release = await a.hold(anyRequest());
  await assert.rejects(a.unload(), { code: "conflict", message: /^The model a has 1 running or waiting/ });
  assert.equal(kindOf(a), "ready");
  release();
  await a.unload();
  assert.deepEqual([kindOf(a), events.at(-1)], ["unloaded", "a unloaded for asked"]);
  (await a.hold(anyRequest()))();
  const unloading = a.unload();
  const waiting = a.hold(anyRequest());
  await unloading;
  await settle();
  (await waiting)();
  assert.equal(kindOf(a), "ready");
});

test("refuses to unload a base that is being loaded, and reports why a base cannot be loaded", async () => {
  const loading = later();
  const { a, b, settle } = await serve({ a: { until: loading.promise }, b: { failureCount: 1 } });
  const loaded = a.load(anyRequest());
  await assert.rejects(a.unload(), { code: "conflict" });
  loading.end();
  await loaded;
  await a.unload();
  const { message } = await refusalOf(b.hold(anyRequest()));
  assert.match(message, /could not be loaded: its process was ended/);
  await settle();
  assert.equal(kindOf(b), "failed");
});

test("an idle base makes room for another, and is reloaded when requested", async () => {
  const { a, b, events, clock, settle } = await serve({ a: { isReadyAtStart: true, isKept: true }, b: {} });
  await clock.advance(1000);
  const hold = b.hold({ signal });
  await settle();
  (await hold)();
  assert.deepEqual([kindOf(a), kindOf(b)], ["unloaded", "ready"]);
  await clock.advance(1000);
  const again = a.hold({ signal });
  await settle();
  await again;
  assert.deepEqual(events, [
    "a loaded",
    "a unloaded for room",
    "b loaded",
    "b unloaded for room",
    "a loaded",
  ]);
});

test("if all bases are busy, a request waits for its turn, and new requests of the other base wait behind it", async () => {
  const { a, b, events, clock, settle } = await serve({ a: {}, b: {} });
  const first = await a.hold({ signal });
  const waiting = b.hold({ signal });
  await clock.advance(5000);
  // The base's minimum time in memory has not passed yet, so it still accepts requests.
  const second = await a.hold(anyRequest());
  await clock.advance(6000);
  const behind = a.hold(anyRequest());
  first();
  await settle();
  assert.deepEqual(events, ["a loaded"], "running requests continue");
  second();
  await settle();
  const release = await waiting;
  assert.deepEqual(events, ["a loaded", "a unloaded for room", "b loaded"]);
  release();
  await clock.advance(1000);
  await settle();
  await behind;
  assert.deepEqual(events.slice(3), ["b unloaded for room", "a loaded"]);
});

test("requests with one signal never wait for each other", async () => {
  const { a, b, events, clock, settle } = await serve({ a: {}, b: {} });
  const first = await a.hold({ signal });
  const waiting = b.hold(anyRequest());
  await clock.advance(11_000);
  const second = await a.hold({ signal });
  const other = a.hold(anyRequest());
  first();
  await settle();
  assert.deepEqual(events, ["a loaded"]);
  second();
  await settle();
  await waiting;
  assert.deepEqual([kindOf(a), kindOf(b)], ["loading", "ready"]);
  const refused = refusalOf(other);
  await a.stop();
  assert.equal((await refused).code, "unavailable");
});

test("a request that times out waiting for room learns which bases hold it, and when to retry", async () => {
  const { a, b, clock } = await serve({ a: {}, b: {} });
  await a.hold({ signal });
  const waiting = refusalOf(b.hold({ signal }));
  await clock.advance(waitMs);
  const { code, message, retryAfterSeconds } = await waiting;
  assert.deepEqual([code, retryAfterSeconds], ["unavailable", 10]);
  assert.match(
    message,
    /The model b is not loaded.*within 60 s: it is held by a \(0 MiB, 1 requests\)\. .*`models\.memoryBytes`/,
  );
  // The base that should have made room accepts requests again.
  (await a.hold(anyRequest()))();
});

test("refuses requests beyond the queue limit as overloaded", async () => {
  const loading = later();
  const { a } = await serve({ a: { until: loading.promise } }, { waitingCountMax: 2 });
  void Promise.all([a.hold(anyRequest()), a.hold(anyRequest())]).catch(() => undefined);
  assert.equal((await refusalOf(a.hold(anyRequest()))).code, "overloaded");
  loading.end();
});

test("a failed load is reported to all who wait, retried with back-off, and does not affect other bases", async () => {
  const script: Script = { failureCount: 2 };
  const { a, b, events, clock, settle } = await serve({ a: { bytes: 4 }, b: script });
  await a.hold({ signal });
  const refusals = [anyRequest(), anyRequest()].map((options) => refusalOf(b.hold(options)));
  await settle();
  for (const { code, message, retryAfterSeconds } of await Promise.all(refusals)) {
    assert.deepEqual([code, retryAfterSeconds], ["unavailable", 1]);
    assert.match(message, /^The model b could not be loaded: its process was ended\. The next attempt/);
  }
  assert.deepEqual([kindOf(a), kindOf(b), a.loadFault], ["ready", "failed", null]);
  assert.match(reasonOf(b), /could not be loaded/);
  assert.equal(b.loadFault, reasonOf(b));
  assert.equal((await refusalOf(b.hold(anyRequest()))).code, "unavailable");
  assert.deepEqual(events, ["a loaded", "b failed"]);
  await clock.advance(1000);
  const second = refusalOf(b.hold(anyRequest()));
  await settle();
  assert.equal((await second).retryAfterSeconds, 2);
  await clock.advance(2000);
  const third = b.hold(anyRequest());
  await settle();
  await third;
  assert.deepEqual(events.slice(2), ["b failed", "b loaded"]);
});

test("requests retry a base that the start could not load, which is reported as failed until then", async () => {
  const { a, start, clock, settle } = await serve(
    { a: { isReadyAtStart: true, failureCount: 1 } },
    { starts: false },
  );
  await assert.rejects(start(), { message: "its process was ended." });
  assert.deepEqual(
    [kindOf(a), reasonOf(a)],
    ["failed", "The model a could not be loaded: its process was ended."],
  );
  assert.match(
    (await refusalOf(a.hold(anyRequest()))).message,
    /its process was ended\. The next attempt is in 1 s/,
  );
  await clock.advance(1000);
  const hold = a.hold({ signal });
  await settle();
  (await hold)();
  assert.deepEqual([kindOf(a), a.loadFault], ["ready", null]);
});

test("a stop while the start loads a base is no failed load", async () => {
  const loading = later();
  const { a, start, events } = await serve(
    { a: { isReadyAtStart: true, until: loading.promise } },
    { starts: false },
  );
  const started = assert.rejects(start(), { code: "unavailable" });
  const stopped = a.stop();
  loading.end();
  await Promise.all([started, stopped]);
  assert.deepEqual([events, kindOf(a)], [[], "stopped"]);
});

test("unloads a base after its idle time, unless it is kept", async () => {
  const { a, b, events, clock, settle } = await serve({
    a: { bytes: 4, isReadyAtStart: true, isKept: true },
    b: {},
  });
  const hold = b.hold({ signal });
  await settle();
  const release = await hold;
  await clock.advance(400_000);
  assert.equal(kindOf(b), "ready", "a request that runs keeps it");
  release();
  await clock.advance(299_999);
  assert.equal(kindOf(b), "ready");
  await clock.advance(1);
  await settle();
  assert.deepEqual([kindOf(a), kindOf(b), events.at(-1)], ["ready", "unloaded", "b unloaded for idle"]);
});

test("adapters of versions published while a base is not loaded are prepared at its next load", async () => {
  const { a, loads, settle } = await serve({ a: {} });
  for (let step = 1; step <= 20; step++) await a.prepareAdapter({ id: `m:${step}`, folder: "one" });
  a.dropAdapter("m:19");
  const hold = a.hold({ signal });
  await settle();
  await hold;
  const prepared = loads.get("a")?.loadedIds ?? [];
  assert.deepEqual(
    prepared,
    Array.from({ length: 16 }, (_, index) => `m:${index + 5}`).filter((id) => id !== "m:19"),
  );
});

test("refuses a base that can never fit, with its need, the limit and the cure", () => {
  const memory = new ModelMemory({
    limits: { ...limits, bytesMax: 5 * 2 ** 20 },
    waitMs,
    waitingCountMax: 1,
    clock: new FakeClock(),
  });
  const loadable = { name: "a", bytes: 7 * 2 ** 20, isKept: false };
  assert.throws(
    () => memory.add({ ...loadable, load: async () => undefined, unload: async () => undefined }),
    { code: "invalid", message: /a needs 7 MiB of memory, and `models\.memoryBytes` allows 5 MiB; raise it/ },
  );
});

test("a stop refuses all who wait, aborts a load, and frees the memory", async () => {
  const loading = later();
  const { a, b, memory, settle } = await serve({ a: { until: loading.promise }, b: {} });
  const refused = refusalOf(a.hold(anyRequest()));
  const waiting = b.hold(anyRequest());
  const stopped = a.stop();
  loading.end();
  await stopped;
  await settle();
  assert.equal((await refused).code, "unavailable");
  assert.equal((await refusalOf(a.hold(anyRequest()))).code, "unavailable");
  await waiting;
  assert.deepEqual([kindOf(a), kindOf(b), memory.bytes], ["stopped", "ready", 6]);
  await b.stop();
  assert.deepEqual([kindOf(b), memory.bytes, memory.waitingCount], ["stopped", 0, 0]);
});
