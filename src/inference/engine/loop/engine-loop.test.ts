import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { present } from "../../../base/domain/assert.ts";
import { systemClock } from "../../../base/domain/clock.ts";
import { choiceCountOf, type GenerationRequest } from "../../../base/domain/generation.ts";
import { seededRandom } from "../../../base/domain/random.ts";
import { fakeLogits, fakeShape, FakeRunner } from "../testing/fake-runner.ts";
import { drawPlainly } from "../testing/plain-sampler.ts";
import { observedLoop, requestOf, runTogether, smallLimits, type Transcript } from "../testing/run-loop.ts";
import { EngineLoop, type LoopOptions } from "./engine-loop.ts";
import { scoreTokens } from "./prompt-logprobs.ts";
import { searchSeeds } from "../../../base/domain/testing/search.ts";

/** Returns the token ids of the fake model's answer, computed without an engine. */
const expectedIds = (request: GenerationRequest, choice: number): readonly number[] => {
  const random = seededRandom(request.sampling.seed, choice);
  const { prompt, stopping } = request;
  const answer: number[] = [];
  while (answer.length < stopping.maxTokens) {
    const logits = [...fakeLogits([...prompt.tokenIds, ...answer], prompt.adapter?.id ?? null)];
    const id = drawPlainly(logits, { request, answer, allowance: null }, () => random.uniform());
    answer.push(present(id, "a token that may come"));
    if (stopping.stopTokenIds.includes(answer[answer.length - 1])) break;
  }
  return answer;
};

const check = async (
  requests: readonly GenerationRequest[],
  limits: LoopOptions = smallLimits,
): Promise<FakeRunner> => {
  const runner = new FakeRunner();
  const transcripts = await runTogether(runner, requests, limits);
  requests.forEach((request, index) => {
    const transcript = transcripts[index];
    assert.equal(transcript.failure, null);
    assert.deepEqual(transcript.events[0], {
      kind: "prompt-computed",
      cachedTokenCount: 0,
    });
    assert.equal(transcript.finishes().length, choiceCountOf(request));
    for (let choice = 0; choice < choiceCountOf(request); choice++) {
      assert.deepEqual(
        transcript.ids(choice),
        expectedIds(request, choice),
        `request ${index}, choice ${choice}`,
      );
    }
  });
  return runner;
};

const randomRequest = (seed: number): GenerationRequest => {
  const random = seededRandom("requests", seed);
  const tokens = Array.from({ length: 1 + random.index(70) }, () => random.index(fakeShape.vocabularySize));
  return requestOf(tokens, {
    adapter: random.uniform() < 0.3 ? { id: `adapter ${random.index(2)}`, folder: "" } : null,
    sampling: {
      temperature: random.index(2),
      topP: 0.5 + random.uniform() / 2,
      topK: random.index(9),
      seed: random.index(99),
    },
    choiceCount: 1 + random.index(4),
    maxTokens: 1 + random.index(40),
    stopTokenIds: random.uniform() < 0.5 ? [] : [3, 5],
  });
};

test("each request in a mixed crowd gets the tokens that it would get without company", async () => {
  for (const seed of searchSeeds(2)) {
    await check(Array.from({ length: 12 }, (_, index) => randomRequest(100 * seed + index)));
  }
});

test("choices that do not fit at the same time run in portions and give the same tokens", async () => {
  const sampling = { temperature: 1, topP: 1, topK: 0, seed: 5 };
  const request = requestOf([1, 2, 3], { choiceCount: 11, sampling });
  const runner = await check([request], { ...smallLimits, slotCountMax: 4 });
  assert.deepEqual(runner.prefillSizes, [1, 1, 1]);
});

test("reports how long each request waited until it began", async () => {
  let nowMs = 0;
  const clock = { ...systemClock, monotonicMs: () => (nowMs += 1) };
  const limits = { ...smallLimits, slotCountMax: 1, clock };
  const requests = [1, 2, 3].map((token) => requestOf([token], { maxTokens: 4 }));
  const transcripts = await runTogether(new FakeRunner(), requests, limits);
  const waits = transcripts.map(({ waitedMs }) => waitedMs ?? NaN);
  assert.ok(waits[0] > 0 && waits[0] < waits[1] && waits[1] < waits[2], waits.join());
});

test("computes a prompt once for all its choices", async () => {
  const runner = await check([requestOf([1, 2, 3], { choiceCount: 8 })]);
  assert.deepEqual(runner.prefillSizes, [1]);
  assert.deepEqual(new Set(runner.decodeSizes), new Set([8]));
});

test("reports how each choice ended", async () => {
  const [free] = await runTogether(new FakeRunner(), [requestOf([1, 2, 3], { maxTokens: 5 })]);
  assert.deepEqual(free.finishes(), ["0 length null"]);
  const stop = free.ids()[3];
  const [stopped] = await runTogether(new FakeRunner(), [
    requestOf([1, 2, 3], { maxTokens: 5, stopTokenIds: [stop] }),
  ]);
  assert.deepEqual(stopped.ids(), free.ids().slice(0, free.ids().indexOf(stop) + 1));
  assert.deepEqual(stopped.finishes(), [`0 stop ${stop}`]);
});

test("an abort frees everything within one step, and the others continue unharmed", async () => {
  const runner = new FakeRunner();
  const { loop, transcript } = observedLoop(runner);
  loop.submit(0, requestOf([1, 2], { maxTokens: 400, choiceCount: 4 }));
  await loop.step();
  await loop.step();
  assert.deepEqual(runner.decodeSizes, [4]);
  assert.ok(loop.kvCacheBytes > 0);
  loop.abort(0);
  await loop.step();
  assert.deepEqual(runner.decodeSizes, [4], "nothing more is computed");
  assert.equal(loop.kvCacheBytes, 0);
  assert.equal(loop.hasWork, false);

  const other = requestOf([4], { maxTokens: 12 });
  loop.submit(1, requestOf([1, 2], { maxTokens: 400, choiceCount: 3 }));
  loop.submit(2, other);
  await loop.step();
  await loop.step();
  loop.abort(1);
  const eventCount = transcript(1).events.length;
  while (loop.hasWork) await loop.step();
  assert.equal(transcript(1).events.length, eventCount);
  assert.deepEqual(transcript(2).ids(), expectedIds(other, 0));
});

test("aborts a request that waits, and one whose prompt is half computed", async () => {
  const { loop, transcript } = observedLoop(new FakeRunner(), { ...smallLimits, slotCountMax: 1 });
  loop.submit(
    0,
    requestOf(
      Array.from({ length: 100 }, () => 1),
      { maxTokens: 2 },
    ),
  );
  loop.submit(1, requestOf([1]));
  await loop.step();
  loop.abort(0);
  loop.abort(1);
  await loop.step();
  assert.equal(loop.hasWork, false);
  assert.deepEqual([transcript(0).events, transcript(1).events], [[], []]);
});

test("stopping one choice does not change the others", async () => {
  const request = requestOf([9, 8, 7], {
    choiceCount: 3,
    sampling: { temperature: 1, topP: 1, topK: 0, seed: 3 },
  });
  const { loop, transcript } = observedLoop(new FakeRunner());
  loop.submit(0, request);
  await loop.step();
  await loop.step();
  loop.stopChoice(0, 0);
  while (loop.hasWork) await loop.step();
  assert.equal(transcript(0).ids(0).length, 2);
  assert.deepEqual(transcript(0).ids(1), expectedIds(request, 1));
  assert.deepEqual(transcript(0).ids(2), expectedIds(request, 2));
});

test("another choice takes over a half computed prompt when its leader is stopped", async () => {
  const prompt = Array.from({ length: 100 }, (_, index) => index % 60);
  const sampling = { temperature: 1, seed: 8 };
  const request = requestOf(prompt, { choiceCount: 3, sampling });
  const runner = new FakeRunner();
  const { loop, transcript } = observedLoop(runner);
  loop.submit(0, request);
  await loop.step();
  loop.stopChoice(0, 0);
  await loop.step();
  loop.stopChoice(0, 1);
  while (loop.hasWork) await loop.step();
  assert.deepEqual(runner.prefillSizes, [1, 1, 1, 1]);
  assert.deepEqual(transcript(0).ids(0), []);
  assert.deepEqual(transcript(0).ids(1), []);
  assert.deepEqual(transcript(0).ids(2), expectedIds(request, 2));
  assert.equal(transcript(0).events[0].kind, "prompt-computed");
});

test("a later portion reports the computed prompt if the first was stopped before", async () => {
  const { loop, transcript } = observedLoop(new FakeRunner(), { ...smallLimits, slotCountMax: 1 });
  loop.submit(0, requestOf([1, 2], { choiceCount: 2, maxTokens: 3 }));
  loop.stopChoice(0, 0);
  while (loop.hasWork) await loop.step();
  assert.deepEqual(
    transcript(0).events.map(({ kind }) => kind),
    ["prompt-computed", "tokens", "tokens", "tokens", "choice-finished"],
  );
});

test("an unreadable adapter fails only its own requests", async () => {
  const [failed, fine] = await runTogether(new FakeRunner(), [
    requestOf([1], { adapter: { id: "x", folder: "missing" }, choiceCount: 40, maxTokens: 2 }),
    requestOf([2]),
  ]);
  assert.equal(failed.failure, "not_found: There is no such adapter.");
  assert.deepEqual(failed.events, []);
  assert.equal(fine.ids().length, 16);
});

test("non-finite scores fail the request and not the engine", async () => {
  const runner = new FakeRunner();
  runner.isBroken = true;
  const [broken] = await runTogether(runner, [requestOf([1], { choiceCount: 2 })]);
  assert.match(broken.failure ?? "", /^unsupported: The model computed numbers that are not finite/);
  runner.isBroken = false;
  const [fine] = await runTogether(runner, [requestOf([1])]);
  assert.equal(fine.ids().length, 16);
});

/** Returns the kinds of the emitted events; consecutive events of one kind count once. */
const kindsOf = ({ events }: Transcript): readonly string[] =>
  events.map(({ kind }) => kind).filter((kind, index, kinds) => kind !== kinds[index - 1]);

test("a prompt's log-probabilities come part by part, once for all choices, before anything else", async () => {
  const tokenIds = Array.from({ length: 75 }, (_, index) => (index * 11) % 60);
  const request = requestOf(tokenIds, { promptLogprobCount: 2, choiceCount: 5, maxTokens: 2 });
  for (const limits of [{}, { logprobTokensPerStepMax: 7 }, { slotCountMax: 2 }, { promptChunkTokens: 75 }]) {
    const [transcript] = await runTogether(new FakeRunner(), [request], { ...smallLimits, ...limits });
    assert.deepEqual(kindsOf(transcript).slice(0, 3), ["prompt-logprobs", "prompt-computed", "tokens"]);
    const expected = tokenIds.slice(1).flatMap((id, index) => {
      const logits_V = fakeLogits(tokenIds.slice(0, index + 1), null);
      return scoreTokens(logits_V, [id], { vocabularySize: fakeShape.vocabularySize, alternativeCount: 2 });
    });
    assert.deepEqual(transcript.promptLogprobs(), [null, ...expected]);
  }
});

test("a prompt of one token has only a position and no log-probabilities", async () => {
  const [transcript] = await runTogether(new FakeRunner(), [requestOf([7], { promptLogprobCount: 0 })]);
  assert.deepEqual(transcript.promptLogprobs(), [null]);
  assert.deepEqual(kindsOf(transcript).slice(0, 2), ["prompt-logprobs", "prompt-computed"]);
});

test("does not emit a prompt's log-probabilities again when another choice takes it over", async () => {
  const tokenIds = Array.from({ length: 60 }, (_, index) => index);
  const limits = { ...smallLimits, slotCountMax: 1, logprobTokensPerStepMax: 8 };
  const { loop, transcript } = observedLoop(new FakeRunner(), limits);
  loop.submit(0, requestOf(tokenIds, { promptLogprobCount: 0, choiceCount: 2, maxTokens: 2 }));
  for (let step = 0; step < 3; step++) await loop.step();
  loop.stopChoice(0, 0);
  while (loop.hasWork) await loop.step();
  assert.deepEqual(
    transcript(0)
      .promptLogprobs()
      .map((token) => token?.id ?? null),
    [null, ...tokenIds.slice(1)],
  );
  assert.equal(transcript(0).ids(1).length, 2);
});

test("non-finite prompt scores fail only their request", async () => {
  const runner = new FakeRunner();
  runner.isBroken = true;
  const prompt = Array.from({ length: 60 }, () => 3);
  const [broken] = await runTogether(runner, [requestOf(prompt, { promptLogprobCount: 0 })]);
  assert.match(broken.failure ?? "", /^unsupported: The model computed numbers that are not finite/);
  assert.deepEqual(broken.events, []);
});

test("tokens carry log-probabilities if requested", async () => {
  const [transcript] = await runTogether(new FakeRunner(), [
    requestOf([1], { topLogprobCount: 3, maxTokens: 4 }),
  ]);
  assert.ok(transcript.logprobs().every((logprob) => logprob < 0));
  assert.ok(transcript.alternatives().every((alternatives) => alternatives.length === 3));
});

test("run continues until it is stopped, and accepts requests while it runs", async () => {
  const { loop, transcript } = observedLoop(new FakeRunner());
  const running = loop.run();
  loop.submit(0, requestOf([1]));
  await new Promise<void>((resolve) => {
    const poll = (): void => {
      if (transcript(0).finishes().length > 0) resolve();
      else setImmediate(poll);
    };
    poll();
  });
  loop.stop();
  await running;
  assert.equal(transcript(0).ids().length, 16);
});

test("only the request itself waits for its adapter to be read, and is then answered or refused", async () => {
  const readings: { resolve(): void; reject(error: Error): void }[] = [];
  class SlowRunner extends FakeRunner {
    override prepareAdapter(): Promise<void> | null {
      return new Promise((resolve, reject) => readings.push({ resolve, reject }));
    }
  }
  const { loop, transcript } = observedLoop(new SlowRunner(), smallLimits);
  const adapted = requestOf([1, 2], { adapter: { id: "adapter", folder: "" }, choiceCount: 2, maxTokens: 4 });
  const [plain, given, refused, abandoned] = [0, 1, 2, 3];
  loop.submit(given, adapted);
  loop.submit(refused, adapted);
  loop.submit(abandoned, adapted);
  loop.submit(plain, requestOf([1, 2], { maxTokens: 4 }));
  const run = async (): Promise<void> => {
    while (loop.hasWork) await loop.step();
  };
  await run();
  assert.equal(transcript(plain).ids().length, 4);
  assert.deepEqual(transcript(given).events, []);
  loop.stopChoice(given, 1);
  loop.abort(abandoned);
  readings[0].resolve();
  readings[1].reject(new ServiceError({ code: "conflict", message: "It is not what it was." }));
  readings[2].resolve();
  // Requests whose adapter has been read continue in later turns of the event loop.
  await new Promise((resolve) => setImmediate(resolve));
  await run();
  assert.deepEqual(transcript(given).ids(), expectedIds(adapted, 0));
  assert.deepEqual(transcript(given).ids(1), []);
  assert.equal(transcript(refused).failure, "conflict: It is not what it was.");
  assert.deepEqual([transcript(abandoned).events, transcript(abandoned).failure], [[], null]);
});

test("preparing an adapter warms it up for its first request, unless something runs", async () => {
  const runner = new FakeRunner();
  const loop = new EngineLoop(runner, smallLimits);
  const output = { push: () => undefined, fail: (error: Error) => assert.fail(error) };
  await loop.prepareAdapter({ id: "quiet", folder: "" });
  loop.submit(requestOf([1], { maxTokens: 1 }), output);
  await loop.prepareAdapter({ id: "busy", folder: "" });
  while (loop.hasWork) await loop.step();
  assert.deepEqual(runner.readyIds, ["quiet"]);
});
