// Tests that drafts never change an answer, to the last bit. The drafts, the number of accepted tokens and the other
// requests are arbitrary.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { GeneratedToken, GenerationRequest } from "../../../base/domain/generation.ts";
import type { Quantization } from "../../../base/domain/model.ts";
import { seededRandom, type Random } from "../../../base/domain/random.ts";
import { searchedOf, searchSeeds } from "../../../base/domain/testing/search.ts";
import { choice, regex } from "../../../lib/constraints/grammar/testing/make-constraints.ts";
import { buildTokenTrie } from "../../../lib/constraints/grammar/trie/token-trie.ts";
import { readModelConfig } from "../../architectures/config/read-config.ts";
import { readQuantizedWeights } from "../../architectures/weights.ts";
import { defaultGrammarLimits } from "../../../lib/constraints/regex/limits.ts";
import { adapter, bytesOf } from "../contract/engine-under-test.ts";
import { createGraphRunner } from "../graph-runner.ts";
import type { LoopOptions } from "../loop/engine-loop.ts";
import type { ModelRunner } from "../model-runner.ts";
import { FakeRunner, fakeShape } from "../testing/fake-runner.ts";
import { KnownDrafter } from "../testing/known-drafter.ts";
import { LateConstraints } from "../testing/late-constraints.ts";
import { observedLoop, requestOf, smallLimits, type Transcript } from "../testing/run-loop.ts";
import { integerKernels } from "../../onnx/integer-kernels.ts";

const constraints = [regex("[a-f]{3,12}"), regex("(ab|c)*z"), choice("abc", "abd", "xyz")];

interface Setting {
  readonly runner: ModelRunner;
  readonly bytes: readonly (Uint8Array | null)[];
  readonly adapters: readonly (typeof adapter | null)[];
}

function randomRequest(random: Random, { runner, adapters }: Setting): GenerationRequest {
  const pick = <T>(choices: readonly T[]): T => choices[random.index(choices.length)];
  const ids = (count: number): readonly number[] =>
    Array.from({ length: count }, () => random.index(runner.shape.vocabularySize));
  return requestOf(ids(1 + random.index(70)), {
    adapter: pick(adapters),
    sampling: {
      temperature: pick([0, 0.7, 1]),
      topK: pick([0, 5]),
      topP: pick([1, 0.9]),
      repetitionPenalty: pick([1, 1.3]),
      frequencyPenalty: pick([0, 0.5]),
      badWords: pick([[], [ids(1), ids(2)]]),
      seed: random.index(99),
    },
    choiceCount: pick([1, 1, 1, 2, 3]),
    beams: random.index(8) === 0 ? { width: 2, lengthPenalty: 1 } : undefined,
    maxTokens: 1 + random.index(30),
    minTokens: pick([0, 0, 4]),
    stopTokenIds: pick([[], ids(20)]),
    topLogprobCount: pick([0, 2]),
    constraint: pick([null, null, ...constraints]),
    priority: pick([0, 0, 1, 2]),
  });
}

/** Returns the tokens and the end of one choice of an answer. */
function answerOf({ events }: Transcript, which: number) {
  const tokens = events.flatMap((event): readonly GeneratedToken[] =>
    event.kind === "tokens" && event.choice === which ? event.tokens : [],
  );
  const end = events.find((event) => event.kind === "choice-finished" && event.choice === which);
  return { tokens, end };
}

/** @param lateness number of steps by which the masks of constraints come late, as in {@link LateConstraints} */
function loopOf({ runner, bytes }: Setting, limits: LoopOptions, lateness: () => number) {
  const trie = buildTokenTrie({ bytes });
  const late = new LateConstraints({ trie, limits: defaultGrammarLimits, lateness });
  return { ...observedLoop(runner, { ...limits, constraints: late }), late };
}

/** Waits until the loop has prepared all submitted requests. */
const prepared = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function runAlone(setting: Setting, request: GenerationRequest): Promise<Transcript> {
  const { loop, transcript } = loopOf(setting, smallLimits, () => 0);
  loop.submit(0, request);
  await prepared();
  while (loop.hasWork) await loop.step();
  return transcript(0);
}

/** @returns number of steps with drafts, and of accepted draft tokens */
async function checkSchedule(setting: Setting, seed: number): Promise<{ steps: number; accepted: number }> {
  const random = seededRandom("drafted", seed);
  const { runner } = setting;
  const requests = Array.from({ length: 5 }, () => randomRequest(random, setting));
  const alone: Transcript[] = [];
  for (const request of requests) alone.push(await runAlone(setting, request));
  const answers = new Map(
    requests.map((request, key) => [request, [0, 1, 2].map((which) => alone[key].ids(which))]),
  );
  const { vocabularySize } = runner.shape;
  const drafter = new KnownDrafter(random, vocabularySize, (request) => answers.get(request) ?? []);
  const limits = {
    ...smallLimits,
    slotCountMax: 3 + random.index(4),
    prefixCachePercent: [0, 50][random.index(2)],
    drafter,
  };
  const lateness = (): number => (random.index(2) === 0 ? 0 : random.index(4));
  const { loop, transcript, late } = loopOf(setting, limits, lateness);
  // The requests arrive far apart, because drafts are used only while one or two rows decode.
  const visits = requests.map((request, key) => {
    const arrivesAt = random.index(60);
    const abortedAt = random.index(5) === 0 ? arrivesAt + random.index(12) : null;
    return { request, key, arrivesAt, abortedAt };
  });
  for (let step = 0; loop.hasWork || step < 75; step++) {
    assert.ok(step < 2000, `seed ${seed}: the schedule ends`);
    for (const { request, key, arrivesAt, abortedAt } of visits) {
      if (arrivesAt === step) loop.submit(key, request);
      if (abortedAt === step) loop.abort(key);
    }
    await prepared();
    await loop.step();
  }
  for (const { key, abortedAt } of visits) {
    for (const which of [0, 1, 2]) {
      const context = `seed ${seed}, request ${key}, choice ${which}`;
      const [actual, expected] = [answerOf(transcript(key), which), answerOf(alone[key], which)];
      if (abortedAt === null) {
        assert.deepEqual(actual, expected, context);
        assert.equal(transcript(key).failure, alone[key].failure, context);
      } else assert.deepEqual(actual.tokens, expected.tokens.slice(0, actual.tokens.length), context);
    }
  }
  assert.deepEqual([loop.kvCacheBytes, late.openCount, late.preparedCount], [0, 0, 0], `seed ${seed}`);
  return { steps: drafter.stepCount, accepted: loop.draftCounts.accepted };
}

async function checkSchedules(setting: Setting, count: number): Promise<void> {
  let [steps, accepted] = [0, 0];
  for (const seed of searchSeeds(count)) {
    const drafted = await checkSchedule(setting, seed);
    steps += drafted.steps;
    accepted += drafted.accepted;
  }
  assert.ok(
    steps > 0 && accepted > 0,
    `${steps} steps had drafts, of which ${accepted} tokens were accepted`,
  );
}

test("answers are the same with drafts, over a model whose scores depend on every token", async () => {
  const bytes = Array.from({ length: fakeShape.vocabularySize }, (_, id) =>
    id === 0 ? null : Uint8Array.of(97 + (id % 26)),
  );
  const other = { id: "adapter", folder: "" };
  for (const hasStates of [false, true])
    await checkSchedules({ runner: new FakeRunner({ hasStates }), bytes, adapters: [null, null, other] }, 4);
});

const cases = [
  ["qwen3", "off", 1],
  ["qwen3", "off", 2],
  ["qwen3", "8", 2],
  ["qwen3", "4", 2],
  ["mistral-sliding", "off", 2],
  ["gemma3", "8", 1],
  ["qwen3.5", "off", 2],
  ["granite4-hybrid", "8", 1],
  ["nemotron-h", "off", 2],
] as const satisfies readonly (readonly [string, Quantization, number])[];

for (const [name, quantization, threads] of searchedOf(cases, 3)) {
  test(`${name}, ${quantization}, ${threads} threads: answers are the same with drafts`, async () => {
    const folder = `test/fixtures/goldens/models/${name}`;
    const config = readModelConfig(folder);
    const read = { cacheFolder: null, quantization, kernels: await integerKernels(null) };
    const { sources, forms } = readQuantizedWeights(folder, config, read);
    const options = { config, weights: sources, forms, threads, adapterCountMax: 1 };
    const runner = await createGraphRunner(options);
    const adapters = name === "qwen3" ? [null, null, adapter] : [null];
    const bytes = Array.from({ length: runner.shape.vocabularySize }, (_, id) => bytesOf[id] ?? null);
    await checkSchedules({ runner, bytes, adapters }, 2);
    await runner.close();
  });
}

test("drafts nothing next to prompts, or if more than two rows decode", async () => {
  const runner = new FakeRunner();
  const random = seededRandom("drafted", 0);
  const drafter = new KnownDrafter(random, fakeShape.vocabularySize, () => []);
  const { loop } = observedLoop(runner, { ...smallLimits, drafter });
  for (const key of [0, 1, 2]) loop.submit(key, requestOf([key], { maxTokens: 12 }));
  for (let step = 0; step < 10; step++) await loop.step();
  assert.equal(drafter.stepCount, 0);
  loop.abort(2);
  // The prompt below is computed in three parts, one per step, so each of the two steps below computes a part of it.
  loop.submit(3, requestOf(Array(90).fill(7), { maxTokens: 1 }));
  for (let step = 0; step < 2; step++) await loop.step();
  assert.equal(drafter.stepCount, 0);
  while (loop.hasWork) await loop.step();
});
