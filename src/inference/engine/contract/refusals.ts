// Contract tests of refused requests, and of an engine's start and stop.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Engine, GenerationRequest } from "../../../base/domain/generation.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { featureRequests } from "../../../base/domain/testing/feature-requests.ts";
import { checkService, type ServiceUnderTest } from "../../../base/domain/testing/check-service.ts";
import { requestOf } from "../testing/run-loop.ts";
import {
  ask,
  idle,
  limitsOf,
  read,
  refusalOf,
  sharedEngine,
  type EngineUnderTest,
} from "./engine-under-test.ts";

const underTest = (engine: Engine): ServiceUnderTest => ({
  service: engine,
  upCount: () => (engine.status().state.kind === "ready" ? 1 : 0),
});

const one = { kind: "sample", count: 1 } as const;

/** Invalid requests; each breaks one rule of the engine's contract. */
const nonsense: Readonly<Record<string, GenerationRequest>> = {
  "a prompt without tokens": requestOf([]),
  "an id beyond the vocabulary": requestOf([512]),
  "a negative id": requestOf([1, -1]),
  "a fractional id": requestOf([1.5]),
  "more than the context": requestOf([1, 2], { maxTokens: 255 }),
  "no tokens for the answer": requestOf([1], { maxTokens: 0 }),
  "an allowed id beyond the vocabulary": requestOf([1], { sampling: { allowedTokenIds: [1, 512] } }),
  "a bias of no token": requestOf([1], { sampling: { logitBias: [[0.5, 1]] } }),
  "a bad word without tokens": requestOf([1], { sampling: { badWords: [[1], []] } }),
  "a bad word beyond the vocabulary": requestOf([1], { sampling: { badWords: [[1, 512]] } }),
  "no choices": requestOf([1], { choiceCount: 0 }),
};

export function checkRefusals(under: EngineUnderTest): void {
  const { name, make, failing } = under;
  const shared = sharedEngine(under);
  const made: Engine[] = [];
  after(() => Promise.all(made.map((engine) => engine.stop())));
  const create = (waitingCountMax: number): Engine => {
    const engine = make({ waitingCountMax });
    made.push(engine);
    return engine;
  };

  checkService({
    name,
    make: () => underTest(create(1)),
    failing: { code: failing.code, make: () => underTest(failing.make()) },
  });

  test(`${name}: serves while it is ready, and then reports its limits`, async () => {
    const engine = create(3);
    const kindOf = (): string => engine.status().state.kind;
    assert.equal(kindOf(), "starting");
    assert.equal(refusalOf(engine, ask()), "unavailable");
    assert.equal(engine.roomFor(one), 0);
    const gauges = engine
      .status()
      .gauges()
      .map((gauge) => gauge.name);
    await engine.start();
    assert.equal(kindOf(), "ready");
    const { embeddingSize, ...limits } = limitsOf(engine);
    assert.deepEqual(limits, { contextLength: 256, vocabularySize: 512 });
    if (engine.capabilities.features.has("embeddings")) assert.equal(embeddingSize, 64);
    const room = engine.roomFor(one);
    assert.ok(room >= 1 && room <= 256);
    assert.equal(engine.roomFor({ kind: "sample", count: 128 }), room, "choices may run in turns");
    const running = read(engine.submit(ask({ maxTokens: 200, choiceCount: 8 })));
    await engine.stop();
    assert.match((await running).failure ?? "", /^unavailable: /);
    assert.equal(kindOf(), "stopped");
    assert.equal(refusalOf(engine, ask()), "unavailable");
    assert.deepEqual(
      engine
        .status()
        .gauges()
        .map((gauge) => gauge.name),
      gauges,
      "the gauges are the same in every state",
    );
  });

  test(`${name}: refuses the id of a running request as a conflict until it has ended`, async () => {
    const engine = await shared();
    const generation = engine.submit(ask({ maxTokens: 200 }));
    assert.equal(refusalOf(engine, ask({ maxTokens: 1 })), "conflict");
    generation.abort();
    await read(engine.submit(ask({ maxTokens: 1 })));
    await idle(engine);
  });

  test(`${name}: refuses requests beyond the queue limit as overloaded`, async () => {
    const engine = create(3);
    await engine.start();
    assert.equal(engine.status().waitingCountMax, 3);
    const taken: ReturnType<Engine["submit"]>[] = [];
    let refusal: unknown = null;
    while (refusal === null && taken.length < 6) {
      try {
        taken.push(engine.submit(ask({ id: `${taken.length}`, maxTokens: 200 })));
      } catch (error) {
        refusal = error;
      }
    }
    assert.ok(refusal instanceof ServiceError && refusal.code === "overloaded");
    // The limit of three applies to waiting requests. A running request does not count, so four may have been accepted.
    assert.ok(taken.length === 3 || taken.length === 4, `${taken.length} were taken`);
    const { runningCount, waitingCount } = engine.status();
    assert.deepEqual([runningCount + waitingCount, waitingCount], [taken.length, 3]);
    for (const generation of taken) generation.abort();
    await idle(engine);
    assert.equal((await read(engine.submit(ask({ maxTokens: 1 })))).failure, null);
  });

  test(`${name}: refuses features that it lacks, by name`, async () => {
    const engine = await shared();
    const offered: ReadonlySet<string> = engine.capabilities.features;
    for (const [feature, requests] of Object.entries(featureRequests(ask()))) {
      if (offered.has(feature)) continue;
      for (const request of requests) {
        assert.equal(refusalOf(engine, request), "unsupported");
        assert.throws(() => engine.submit(request), { message: new RegExp(feature) });
      }
    }
  });

  for (const [what, request] of Object.entries(nonsense)) {
    test(`${name}: refuses ${what}`, async () => {
      const engine = await shared();
      assert.throws(() => engine.submit(request), /must hold: /);
      assert.equal(engine.status().runningCount, 0);
    });
  }
}
