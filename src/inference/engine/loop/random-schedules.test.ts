// Compares the step loop over a real model with the naive engine. A request must get the naive engine's answer for any
// arrival times, limits and other requests. The scores of the two engines differ in their last digits, but no draw of
// these requests is so close that these digits decide it.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { systemClock, type Clock } from "../../../base/domain/clock.ts";
import { packVocabulary } from "../../../base/domain/vocabulary.ts";
import {
  choiceCountOf,
  type AdapterReference,
  type GenerationEvent,
  type GenerationRequest,
} from "../../../base/domain/generation.ts";
import { seededRandom, type Random } from "../../../base/domain/random.ts";
import { readModelConfig } from "../../architectures/config/read-config.ts";
import { readModelWeights } from "../../architectures/weights.ts";
import { laneBytes, type SlotBytes } from "../cache/kv-cache.ts";
import { stateBytes } from "../cache/sequence-states.ts";
import { positionBytes } from "../cache/slab.ts";
import { writeLoraAdapter } from "../../architectures/peft-folder.ts";
import { createRandomAdapter } from "../../architectures/testing/random-adapter.ts";
import { adapter as goldenAdapter, answerOf, modelFolder } from "../contract/engine-under-test.ts";
import { createGraphRunner } from "../graph-runner.ts";
import type { ModelRunner } from "../model-runner.ts";
import { NaiveEngine } from "../testing/naive-engine.ts";
import { observedLoop, requestOf, smallLimits, type Transcript } from "../testing/run-loop.ts";
import type { LoopOptions } from "./engine-loop.ts";
import { positionsThatFit } from "../schedule/scheduler.ts";
import { searchedOf, searchSeeds } from "../../../base/domain/testing/search.ts";

const tolerance = 1e-4;

/** A model, and the requests from which schedules are made. */
interface Subject {
  readonly runner: ModelRunner;
  readonly requests: readonly GenerationRequest[];
  /** Returns the naive engine's answer to the request with this index. */
  readonly expectedOf: (number: number) => Promise<Transcript>;
}

async function openSubject(folder: string, adapter: AdapterReference, t: TestContext): Promise<Subject> {
  const config = readModelConfig(folder);
  const weights = readModelWeights(folder, config, { cacheFolder: null });
  const runner = await createGraphRunner({
    config,
    weights,
    threads: 1,
    adapterCountMax: 1,
    pairsAdapters: true,
  });
  t.after(() => runner.close());
  const requests = Array.from({ length: 60 }, (_, number) =>
    randomRequest(seededRandom("request", number), adapter),
  );
  const twin = new NaiveEngine({ modelFolder: folder, vocabulary: packVocabulary([]), waitingCountMax: 1 });
  await twin.start();
  t.after(() => twin.stop());
  const expected = new Map<number, Transcript>();
  const expectedOf = async (number: number): Promise<Transcript> => {
    const answer = expected.get(number) ?? (await answerOf(twin, requests[number]));
    expected.set(number, answer);
    return answer;
  };
  return { runner, requests, expectedOf };
}

/** Writes a random adapter for a model into a temporary folder. The test's end removes the folder. */
function writtenAdapter(modelFolder: string, t: TestContext): AdapterReference {
  const config = readModelConfig(modelFolder);
  const folder = mkdtempSync(join(tmpdir(), "hone-schedules-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const adapter = createRandomAdapter(config, { rank: 3, alpha: 6, seed: 1 });
  writeLoraAdapter(folder, adapter, { config, baseModelName: "base" });
  return { id: "golden:1", folder };
}

function randomRequest(random: Random, adapter: AdapterReference): GenerationRequest {
  const pick = <T>(choices: readonly T[]): T => choices[random.index(choices.length)];
  const ids = (count: number): readonly number[] => Array.from({ length: count }, () => random.index(512));
  const beginning = Array.from({ length: pick([0, 0, 34, 45]) }, (_, index) => (7 * index) % 512);
  const tokenIds = [...beginning, ...ids(1 + random.index(pick([4, 20, 60])))];
  return requestOf(tokenIds, {
    adapter: pick([null, null, adapter, { ...adapter, id: "golden:2" }]),
    sampling: {
      temperature: pick([0, 0.5, 1]),
      topK: pick([0, 0, 7]),
      topP: pick([1, 1, 0.8]),
      minP: pick([0, 0, 0.05]),
      topNSigma: pick([0, 0, 2]),
      repetitionPenalty: pick([1, 1, 1.2]),
      frequencyPenalty: pick([0, 0, 0.6]),
      presencePenalty: pick([0, 0, -0.4]),
      logitBias: pick([[], [], [...new Set(ids(9))]]).map((id) => [id, pick([-100, 3, 5])]),
      allowedTokenIds: pick([null, null, null, ids(40), ids(500)]),
      badWords: pick([[], [], [ids(1), ids(2)], Array.from({ length: 200 }, () => ids(1))]),
      seed: random.index(1000),
    },
    choiceCount: pick([1, 1, 2, 5]),
    beams:
      random.index(4) === 0 ? { width: 1 + random.index(4), lengthPenalty: pick([1, 0, 1.5]) } : undefined,
    maxTokens: 1 + random.index(12),
    minTokens: pick([0, 0, 1, 5]),
    // With many stop tokens, a choice often ends with its first token while other choices of the same prompt continue.
    stopTokenIds: ids(pick([0, 0, 60, 250])),
    topLogprobCount: pick([0, 2]),
    priority: pick([0, 0, 0, 1, -2]),
    promptLogprobCount: pick([null, null, 0, 2]),
    cacheOwner: pick(["", "", "other"]),
  });
}

/** One request of a schedule, with the steps at which the caller submits, stops or aborts it. */
interface Visit {
  readonly number: number;
  readonly arrivesAt: number;
  /** For each stopped choice, the step at which it is stopped. */
  readonly stops: ReadonlyMap<number, number>;
  readonly abortedAt: number | null;
}

function requestChoices({ requests }: Subject, number: number): readonly number[] {
  return Array.from({ length: choiceCountOf(requests[number]) }, (_, choice) => choice);
}

/**
 * Draws the visits of a schedule.
 *
 * @param fitting indices of the requests to choose from
 */
function randomVisits(subject: Subject, random: Random, fitting: readonly number[]): readonly Visit[] {
  return Array.from({ length: 3 + random.index(5) }, () => {
    const number = fitting[random.index(fitting.length)];
    const arrivesAt = random.index(8);
    const stops = new Map<number, number>();
    for (const choice of requestChoices(subject, number)) {
      if (random.index(5) === 0) stops.set(choice, arrivesAt + random.index(8));
    }
    return {
      number,
      arrivesAt,
      stops,
      abortedAt: random.index(7) === 0 ? arrivesAt + random.index(8) : null,
    };
  });
}

function randomLimits({ runner }: Subject, random: Random): Omit<LoopOptions, "emit"> {
  const pick = (choices: readonly number[]): number => choices[random.index(choices.length)];
  return {
    slotCountMax: pick([1, 2, 3, 8]),
    // Every request fits into 128 positions, so each limit has room for at least one request.
    kvCacheBytesMax: pick([1, 2, 5, 30]) * laneBytes(1, 128, slotBytes(runner)),
    prefixCachePercent: pick([0, 0, 50, 100]),
    lanePositions: pick([0, 0, 100, 10_000]),
    tokensPerStepMax: pick([1, 16, 64]),
    promptChunkTokens: pick([3, 8, 16, 64, 64]),
    logprobTokensPerStepMax: pick([2, 100]),
    clock: random.index(4) === 0 ? smallLimits.clock : randomClock(random),
  };
}

/**
 * Returns a clock that advances randomly with each reading. Calls then seem to take random times, so prompts are
 * divided at random.
 */
function randomClock(random: Random): Clock {
  let ms = 0;
  return { ...systemClock, monotonicMs: () => (ms += 10 ** (3 * random.uniform())) };
}

/**
 * Returns the indices of the requests that can run within the limits. All beams of a request must run at the same time.
 */
function fittingIn({ runner, requests }: Subject, limits: Omit<LoopOptions, "emit">): readonly number[] {
  const budget = { ...limits, ...slotBytes(runner) };
  return [...requests.keys()].filter((number) => {
    const { choices, prompt, stopping } = requests[number];
    const slotCount = choices.kind === "beam" ? choices.width : 1;
    return positionsThatFit(slotCount, budget) >= prompt.tokenIds.length + stopping.maxTokens;
  });
}

function slotBytes({ shape }: ModelRunner): SlotBytes {
  return { bytesPerPosition: positionBytes(shape), bytesPerSlot: stateBytes(shape) };
}

async function runSchedule(subject: Subject, adapter: AdapterReference, seed: number): Promise<void> {
  const { runner, requests } = subject;
  const random = seededRandom("schedule", seed);
  const limits = randomLimits(subject, random);
  const visits = randomVisits(subject, random, fittingIn(subject, limits));
  const { loop, transcript } = observedLoop(runner, limits);
  const silenced: {
    readonly key: number;
    readonly choice: number;
    readonly events: readonly GenerationEvent[];
  }[] = [];
  const isPending = ({ arrivesAt }: Visit, step: number): boolean => arrivesAt >= step;
  for (let step = 0; loop.hasWork || visits.some((visit) => isPending(visit, step)); step++) {
    assert.ok(step < 1000, `seed ${seed}: the schedule ends`);
    visits.forEach(({ number, arrivesAt, stops, abortedAt }, key) => {
      if (arrivesAt === step) loop.submit(key, requests[number]);
      for (const choice of requestChoices(subject, number)) {
        const isStopped = stops.get(choice) === step;
        if (isStopped) loop.stopChoice(key, choice);
        if (isStopped || abortedAt === step)
          silenced.push({ key, choice, events: eventsOf(transcript(key), choice) });
      }
      if (abortedAt === step) loop.abort(key);
    });
    if (random.index(6) === 0) loop.dropAdapter(adapter.id);
    await loop.step();
  }
  assert.equal(loop.kvCacheBytes, 0, `seed ${seed}: nothing is left in the cache`);
  for (const { key, choice, events } of silenced) {
    assert.deepEqual(eventsOf(transcript(key), choice), events, `seed ${seed}: nothing comes after a stop`);
  }
  for (const [key, visit] of visits.entries()) {
    const twin = await subject.expectedOf(visit.number);
    const context = `seed ${seed}, request ${visit.number}`;
    checkVisit(subject, visit, { actual: transcript(key), twin, context });
  }
}

/** Returns the events of one choice that were emitted so far. */
function eventsOf({ events }: Transcript, choice: number): readonly GenerationEvent[] {
  return events.filter((event) => "choice" in event && event.choice === choice);
}

/** Checks that a result equals the naive engine's, or is a prefix of it if the request was ended early. */
function checkVisit(
  subject: Subject,
  { number, stops, abortedAt }: Visit,
  {
    actual,
    twin,
    context,
  }: { readonly actual: Transcript; readonly twin: Transcript; readonly context: string },
): void {
  assert.equal(actual.failure, null, context);
  const computedCount = actual.events.filter(({ kind }) => kind === "prompt-computed").length;
  const hasMore = actual.events.some(({ kind }) => kind !== "prompt-logprobs");
  assert.equal(computedCount, hasMore ? 1 : 0, context);
  const begin = actual.events.findIndex(({ kind }) => kind === "prompt-computed");
  actual.events.forEach(({ kind }, index) => {
    assert.equal(kind === "prompt-logprobs", begin < 0 || index < begin, `${context}: event ${index}`);
  });
  checkPrompt(actual, twin, context);
  for (const choice of requestChoices(subject, number)) {
    const ids = actual.ids(choice);
    assert.deepEqual(ids, twin.ids(choice).slice(0, ids.length), `${context}, choice ${choice}`);
    const finish = (transcript: Transcript): string | undefined =>
      transcript.finishes().find((text) => text.startsWith(`${choice} `));
    const mayBePart = stops.has(choice) || abortedAt !== null;
    if (!mayBePart) assert.equal(ids.length, twin.ids(choice).length, `${context}, choice ${choice}`);
    if (ids.length === twin.ids(choice).length) assert.equal(finish(actual), finish(twin), context);
    else assert.equal(finish(actual), undefined, context);
    const twinLogprobs = logprobsOf(twin, choice);
    logprobsOf(actual, choice).forEach((logprobs, index) => {
      logprobs.forEach((logprob, place) => {
        const difference = Math.abs(logprob - twinLogprobs[index][place]);
        assert.ok(
          difference <= tolerance,
          `${context}, choice ${choice}, token ${index}: off by ${difference}`,
        );
      });
    });
  }
}

/** Checks that the emitted log-probabilities of the prompt equal those of the naive engine. */
function checkPrompt(actual: Transcript, twin: Transcript, context: string): void {
  const tokens = actual.promptLogprobs();
  if (actual.ids().length > 0) assert.equal(tokens.length, twin.promptLogprobs().length, context);
  tokens.forEach((token, index) => {
    const expectedToken = twin.promptLogprobs()[index];
    assert.equal(token?.id, expectedToken?.id, context);
    if (token !== null) {
      const difference = Math.abs(token.logprob - (expectedToken?.logprob ?? NaN));
      assert.ok(difference <= tolerance, `${context}, token ${index} of the prompt: off by ${difference}`);
    }
  });
}

/** Returns for each token of a choice its log-probability, followed by those of its alternatives. */
function logprobsOf(transcript: Transcript, choice: number): readonly (readonly number[])[] {
  const alternatives = transcript.alternatives(choice);
  return transcript
    .logprobs(choice)
    .map((logprob, index) => [logprob, ...alternatives[index].map((other) => other.logprob)]);
}

const ofGoldens = (name: string) => {
  const folder = `test/fixtures/goldens/models/${name}`;
  return { name, folder, adapterOf: (t: TestContext) => writtenAdapter(folder, t) };
};

const qwen3 = { name: "qwen3", folder: modelFolder, adapterOf: () => goldenAdapter };
const others = ["lfm2", "qwen3.5", "qwen3.5-moe", "gemma4", "qwen3-moe", "granite4-hybrid", "nemotron-h"].map(
  ofGoldens,
);

for (const { name, folder, adapterOf } of [qwen3, ...searchedOf(others, 1)]) {
  test(`${name}: the loop and the naive twin agree on random schedules`, async (t) => {
    const adapter = adapterOf(t);
    const subject = await openSubject(folder, adapter, t);
    for (const seed of searchSeeds(5)) await runSchedule(subject, adapter, seed);
  });
}
