// Tests the prefix cache in the loop. A shared prefix is computed once, and the reported number of cached tokens is
// right. Each answer has the same bits as without other requests and without a cache.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { GenerationRequest } from "../../../base/domain/generation.ts";
import type { Quantization } from "../../../base/domain/model.ts";
import { seededRandom, type Random } from "../../../base/domain/random.ts";
import { searchedOf, searchSeeds } from "../../../base/domain/testing/search.ts";
import { readModelConfig } from "../../architectures/config/read-config.ts";
import { readQuantizedWeights } from "../../architectures/weights.ts";
import { stateBytes } from "../cache/sequence-states.ts";
import { positionBytes } from "../cache/slab.ts";
import { adapter } from "../contract/engine-under-test.ts";
import { createGraphRunner } from "../graph-runner.ts";
import type { ModelRunner } from "../model-runner.ts";
import { FakeRunner, fakeShape } from "../testing/fake-runner.ts";
import {
  observedLoop,
  requestOf,
  runTogether,
  smallLimits,
  withAdapter,
  type Transcript,
} from "../testing/run-loop.ts";
import type { LoopOptions } from "./engine-loop.ts";
import { integerKernels } from "../../onnx/integer-kernels.ts";

const sharing: LoopOptions = {
  ...smallLimits,
  tokensPerStepMax: 256,
  promptChunkTokens: 64,
  prefixCachePercent: 50,
};

const beginning = Array.from({ length: 100 }, (_, index) => (index * 7) % 64);

const cachedCount = ({ events }: Transcript): number | undefined =>
  events.flatMap((event) => (event.kind === "prompt-computed" ? [event.cachedTokenCount] : []))[0];

/**
 * Runs requests in one loop, one after the other. Returns their answers, and the number of cached tokens of each
 * prompt.
 */
const runInTurn = async (
  requests: readonly GenerationRequest[],
  limits = sharing,
  runner: ModelRunner = new FakeRunner(),
): Promise<{
  readonly cached: readonly (number | undefined)[];
  readonly transcripts: readonly Transcript[];
}> => {
  const { loop, transcript } = observedLoop(runner, limits);
  for (const [key, request] of requests.entries()) {
    loop.submit(key, request);
    while (loop.hasWork) await loop.step();
  }
  const transcripts = requests.map((_, key) => transcript(key));
  return { cached: transcripts.map(cachedCount), transcripts };
};

/**
 * Runs requests one after the other. Checks the numbers of cached tokens, and that the answers equal those without a
 * cache.
 */
const checkInTurn = async (
  requests: readonly GenerationRequest[],
  expected: readonly number[],
  limits = sharing,
  runner: ModelRunner = new FakeRunner(),
): Promise<void> => {
  const { cached, transcripts } = await runInTurn(requests, limits, runner);
  assert.deepEqual(cached, expected);
  const plain = await runInTurn(requests, { ...limits, prefixCachePercent: 0 });
  assert.deepEqual(
    plain.cached,
    requests.map(() => 0),
  );
  transcripts.forEach((each, key) => assert.deepEqual(each.ids(), plain.transcripts[key].ids()));
};

test("computes only what a prompt does not share with an earlier one, and nothing if that is all", async () => {
  await checkInTurn(
    [
      requestOf(beginning),
      requestOf(beginning),
      requestOf([...beginning.slice(0, 70), 1, 2, 3]),
      requestOf([...beginning, 5, 6]),
      requestOf([1, ...beginning]),
    ],
    [0, 100, 70, 100, 0],
  );
});

test("with states, reads up to a saved one: after a part, a prompt, or where an earlier prompt branched off", async () => {
  const branch = (count: number, id: number) => requestOf([...beginning.slice(0, count), id, id, id]);
  await checkInTurn(
    [
      requestOf(beginning),
      requestOf(beginning),
      requestOf([...beginning, 5, 6]),
      branch(90, 1),
      branch(90, 2),
      branch(60, 3),
      branch(60, 4),
      requestOf([1, ...beginning]),
    ],
    [0, 100, 100, 64, 90, 0, 60, 0],
    sharing,
    new FakeRunner({ hasStates: true }),
  );
});

test("a cached prefix is no whole prompt: its last token is computed", async () => {
  await checkInTurn([requestOf(beginning), requestOf(beginning.slice(0, 90))], [0, 89]);
});

test("recomputes a shared prefix of fewer than 32 tokens, unless it is the whole prompt", async () => {
  const prompts = [40, 31, 32].map((count, index) => requestOf([...beginning.slice(0, count), 60 + index]));
  await checkInTurn([...prompts, ...prompts], [0, 0, 32, 41, 32, 33]);
});

test("an answer is computed once more as part of the next prompt, and cached from then on", async () => {
  const [first] = (await runInTurn([requestOf(beginning)])).transcripts;
  const turn = [...beginning, ...first.ids(), 9, 8, 7];
  await checkInTurn([requestOf(beginning), requestOf(turn), requestOf([...turn, 6])], [0, 100, turn.length]);
});

test("shares nothing between owners, salts, adapters, or adapters loaded under the same name", async () => {
  const salted = (cacheSalt: string | null) => requestOf(beginning, { cacheSalt });
  await checkInTurn([salted(null), salted("a"), salted("b"), salted("a"), salted(null)], [0, 0, 0, 100, 100]);
  const owned = (cacheOwner: string) => requestOf(beginning, { cacheOwner });
  await checkInTurn([owned("a"), owned("b"), owned("a")], [0, 0, 100]);
  const trained = (id: string, hash?: string) =>
    withAdapter(requestOf(beginning), { id, folder: "somewhere", ...(hash === undefined ? {} : { hash }) });
  await checkInTurn(
    [
      requestOf(beginning),
      trained("m:1", "x"),
      trained("m:1", "y"),
      trained("m:2", "x"),
      trained("m:1", "x"),
    ],
    [0, 0, 0, 100, 100],
  );
});

test("a prompt whose log-probabilities are wanted is computed whole, and cached for others", async () => {
  const probed = requestOf(beginning, { promptLogprobCount: 1 });
  await checkInTurn([probed, probed, requestOf(beginning)], [0, 0, 100]);
});

test("simultaneous requests compute their shared prefix once", async () => {
  const requests = Array.from({ length: 8 }, (_, index) =>
    requestOf([...beginning, index, index], { sampling: { temperature: 1, seed: index } }),
  );
  const transcripts = await runTogether(new FakeRunner(), requests, sharing);
  assert.deepEqual(transcripts.map(cachedCount), [0, ...Array<number>(7).fill(100)]);
  const alone = await runTogether(new FakeRunner(), requests, smallLimits);
  transcripts.forEach((each, key) => assert.deepEqual(each.ids(), alone[key].ids()));
});

test("a waiting prompt continues from what another computed before it was aborted", async () => {
  const { loop, transcript } = observedLoop(new FakeRunner(), sharing);
  loop.submit(0, requestOf(beginning));
  loop.submit(1, requestOf(beginning));
  await loop.step();
  loop.abort(0);
  while (loop.hasWork) await loop.step();
  assert.equal(cachedCount(transcript(1)), 64);
  assert.deepEqual(
    transcript(1).ids(),
    (await runTogether(new FakeRunner(), [requestOf(beginning)]))[0].ids(),
  );
});

test("a request's own tokens, found again after its preemption, do not count as cached", async () => {
  const { loop, transcript } = observedLoop(new FakeRunner(), { ...sharing, slotCountMax: 1 });
  loop.submit(0, requestOf(beginning, { priority: 1 }));
  await loop.step();
  loop.submit(1, requestOf([1, 2, 3]));
  while (loop.hasWork) await loop.step();
  assert.equal(cachedCount(transcript(0)), 0);
});

test("choices that run in portions compute their prompt once", async () => {
  const runner = new FakeRunner();
  const request = requestOf(beginning, { choiceCount: 5, sampling: { temperature: 1 } });
  const [together] = await runTogether(runner, [request], { ...sharing, slotCountMax: 2 });
  assert.equal(runner.prefillSizes.length, 2, "two parts of the first");
  assert.equal(cachedCount(together), 0);
});

test("running sequences take memory back from the cache", async () => {
  const bytes = positionBytes(fakeShape);
  const limits = { ...sharing, kvCacheBytesMax: 640 * bytes, prefixCachePercent: 100 };
  const { loop } = observedLoop(new FakeRunner(), limits);
  for (const key of [0, 1, 2]) {
    loop.submit(key, requestOf([key, ...beginning], { maxTokens: 1 }));
    while (loop.hasWork) await loop.step();
  }
  const scoreBytes = 4 * fakeShape.vocabularySize;
  assert.equal(
    loop.cachedPrefixes.bytes,
    3 * (4 * 32 * bytes + scoreBytes),
    "four blocks of 32 each, and scores",
  );
  assert.equal(loop.kvCacheBytes, 0);
  loop.submit(3, requestOf([9, 9, 9], { maxTokens: 250, choiceCount: 2, sampling: { temperature: 1 } }));
  while (loop.hasWork) {
    await loop.step();
    assert.ok(loop.kvCacheBytes + loop.cachedPrefixes.bytes <= limits.kvCacheBytesMax);
  }
  const { queries, hits } = loop.cachedPrefixes;
  assert.deepEqual([queries, hits], [306, 0]);
});

test("counts the tokens of clients' prompts, not those of the server's own requests", async () => {
  const { loop } = observedLoop(new FakeRunner(), sharing);
  const own = { ...requestOf(beginning), isInternal: true } as const;
  for (const [key, request] of [own, own, requestOf(beginning)].entries()) {
    loop.submit(key, request);
    while (loop.hasWork) await loop.step();
  }
  const { queries, hits } = loop.cachedPrefixes;
  assert.deepEqual([queries, hits], [100, 100]);
});

/** Returns requests whose prompts share prefixes of random lengths. */
const randomRequests = (random: Random, vocabularySize: number): readonly GenerationRequest[] => {
  const ids = (count: number) => Array.from({ length: count }, () => random.index(vocabularySize));
  const beginnings = [ids(70), ids(50)];
  const requests = Array.from({ length: 10 }, () => {
    const shared = beginnings[random.index(2)].slice(0, random.index(71));
    return requestOf([...shared, ...ids(1 + random.index(20))], {
      adapter: [null, adapter][random.index(2)],
      cacheOwner: ["a", "b"][random.index(2)],
      cacheSalt: [null, null, "s"][random.index(3)],
      choiceCount: 1 + random.index(2),
      maxTokens: 1 + random.index(6),
      topLogprobCount: 2,
      promptLogprobCount: random.index(5) === 0 ? 1 : null,
      priority: random.index(3),
      sampling: { temperature: 1, seed: random.index(1000) },
    });
  });
  const again = (request: GenerationRequest): GenerationRequest => ({
    ...request,
    sampling: { ...request.sampling, seed: random.index(1000) },
  });
  return [...requests, ...requests.slice(0, 4).map(again)];
};

/** Returns the tokens and log-probabilities of a prompt and of both choices of its answer. */
const numbersOf = (transcript: Transcript) => ({
  prompt: transcript.promptLogprobs(),
  choices: [0, 1].map((choice) =>
    transcript.events.flatMap((event) =>
      event.kind === "tokens" && event.choice === choice ? event.tokens : [],
    ),
  ),
});

/**
 * Runs requests that arrive at random times, and aborts some of them. Each result must equal that of the request by
 * itself.
 */
const checkSchedule = async (runner: ModelRunner, seed: number): Promise<number> => {
  const random = seededRandom("kept prefixes", seed);
  const requests = randomRequests(random, runner.shape.vocabularySize);
  const bytes = positionBytes(runner.shape);
  const limits: LoopOptions = {
    slotCountMax: 2 + random.index(6),
    kvCacheBytesMax: (2 + random.index(12)) * (128 * bytes + stateBytes(runner.shape)),
    prefixCachePercent: [30, 100][random.index(2)],
    tokensPerStepMax: [16, 64, 128][random.index(3)],
    promptChunkTokens: [8, 37, 64][random.index(3)],
  };
  const { loop, transcript } = observedLoop(runner, limits);
  const visits = requests.map((request, key) => {
    const arrivesAt = random.index(12);
    const abortedAt = random.index(6) === 0 ? arrivesAt + random.index(6) : null;
    return { request, key, arrivesAt, abortedAt };
  });
  for (let step = 0; loop.hasWork || step < 12; step++) {
    for (const { request, key, arrivesAt, abortedAt } of visits) {
      if (arrivesAt === step) loop.submit(key, request);
      if (abortedAt === step) loop.abort(key);
    }
    await loop.step();
  }
  for (const { request, key, abortedAt } of visits) {
    const [alone] = await runTogether(runner, [request], { ...smallLimits, promptChunkTokens: 128 });
    const actual = numbersOf(transcript(key));
    if (abortedAt === null) assert.deepEqual(actual, numbersOf(alone), `seed ${seed}, request ${key}`);
  }
  return loop.cachedPrefixes.hits;
};

const cases = [
  ["llama", "off"],
  ["llama", "8"],
  ["llama", "4"],
  ["mistral-sliding", "off"],
  ["gemma3", "off"],
  ["lfm2", "off"],
  ["qwen3.5", "off"],
  ["qwen3.5-moe", "off"],
  ["gemma4", "off"],
  ["qwen3-moe", "8"],
  ["granite4-hybrid", "off"],
  ["nemotron-h", "off"],
  ["gpt-oss-mxfp4", "as-stored"],
] as const satisfies readonly (readonly [string, Quantization])[];

test("states stay those after a slot's tokens on random schedules", async () => {
  let hits = 0;
  for (const seed of searchSeeds(8)) hits += await checkSchedule(new FakeRunner({ hasStates: true }), seed);
  assert.ok(hits > 0, "something was found");
});

for (const [name, quantization] of searchedOf(cases, 2)) {
  test(`${name}, ${quantization}: answers equal those without a prefix cache to the last bit`, async () => {
    const folder = `test/fixtures/goldens/models/${name}`;
    const config = readModelConfig(folder);
    const read = { cacheFolder: null, quantization, kernels: await integerKernels(null) };
    const { sources, forms } = readQuantizedWeights(folder, config, read);
    const runner = await createGraphRunner({
      config,
      weights: sources,
      forms,
      threads: 2,
      adapterCountMax: 1,
    });
    let hits = 0;
    for (const seed of searchSeeds(2)) hits += await checkSchedule(runner, seed);
    await runner.close();
    assert.ok(hits > 0, "something was found");
  });
}
