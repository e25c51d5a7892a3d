// Tests rows whose constraint masks come late: only these rows wait, and their answers do not change.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { GenerationRequest } from "../../../base/domain/generation.ts";
import { seededRandom, type Random } from "../../../base/domain/random.ts";
import { choice, regex } from "../../../lib/constraints/grammar/testing/make-constraints.ts";
import { buildTokenTrie } from "../../../lib/constraints/grammar/trie/token-trie.ts";
import { defaultGrammarLimits } from "../../../lib/constraints/regex/limits.ts";
import { FakeRunner, fakeShape } from "../testing/fake-runner.ts";
import { LateConstraints } from "../testing/late-constraints.ts";
import { observedLoop, requestOf, smallLimits, type Transcript } from "../testing/run-loop.ts";
import { searchSeeds } from "../../../base/domain/testing/search.ts";

/** Vocabulary of the fake model: a letter for each token, except token 0, which ends texts. */
const trie = buildTokenTrie({
  bytes: Array.from({ length: fakeShape.vocabularySize }, (_, id) =>
    id === 0 ? null : Uint8Array.of(96 + (id % 26) + 1),
  ),
});
const constraints = [regex("[a-f]{3,12}"), regex("(ab|c)*z"), choice("abc", "abd", "xyz")];

function createLateConstraints(lateness: () => number): LateConstraints {
  return new LateConstraints({ trie, limits: defaultGrammarLimits, lateness });
}

/** Creates a loop with few slots, so that requests wait and preempt one another. */
function observe(late: LateConstraints, runner = new FakeRunner()) {
  return observedLoop(runner, { ...smallLimits, slotCountMax: 6, constraints: late });
}

/** Submits requests, waits until they are prepared, and runs steps until nothing is left to do. */
async function run(
  late: LateConstraints,
  requests: readonly GenerationRequest[],
): Promise<readonly Transcript[]> {
  const { loop, transcript } = observe(late);
  requests.forEach((request, key) => loop.submit(key, request));
  await prepared();
  for (let step = 0; loop.hasWork; step++) {
    assert.ok(step < 5000, "the requests come to their end");
    await loop.step();
  }
  assert.deepEqual([loop.kvCacheBytes, late.openCount, late.preparedCount], [0, 0, 0]);
  return requests.map((_, key) => transcript(key));
}

/** Waits until the loop has prepared all submitted requests. */
async function prepared(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

function randomRequest(random: Random): GenerationRequest {
  const pick = <T>(choices: readonly T[]): T => choices[random.index(choices.length)];
  return requestOf(
    Array.from({ length: 1 + random.index(70) }, () => random.index(fakeShape.vocabularySize)),
    {
      adapter: pick([null, null, { id: "adapter", folder: "" }]),
      sampling: {
        temperature: random.index(2),
        topK: pick([0, 5]),
        repetitionPenalty: pick([1, 1.3]),
        frequencyPenalty: pick([0, 0.5]),
        badWords: pick([[], [[5]], [[2, 3], [29]]]),
        seed: random.index(99),
      },
      choiceCount: 1 + random.index(4),
      maxTokens: 1 + random.index(20),
      minTokens: pick([0, 1, 4]),
      stopTokenIds: pick([[], [0]]),
      topLogprobCount: pick([null, 2]),
      constraint: pick([null, ...constraints]),
      priority: pick([0, 0, 1, 2]),
    },
  );
}

test("answers do not depend on the delay of masks", async () => {
  for (const seed of searchSeeds(4)) {
    const random = seededRandom("late masks", seed);
    const requests = Array.from({ length: 8 }, () => randomRequest(random));
    const inTime = await run(
      createLateConstraints(() => 0),
      requests,
    );
    const late = await run(
      createLateConstraints(() => (random.index(2) === 0 ? 0 : random.index(9))),
      requests,
    );
    for (const [index, transcript] of late.entries()) {
      const context = `seed ${seed}, request ${index}`;
      assert.equal(transcript.failure, inTime[index].failure, context);
      assert.deepEqual(transcript.finishes().toSorted(), inTime[index].finishes().toSorted(), context);
      for (let which = 0; which < 4; which++) {
        assert.deepEqual(transcript.ids(which), inTime[index].ids(which), context);
        assert.deepEqual(transcript.logprobs(which), inTime[index].logprobs(which), context);
      }
    }
  }
});

test("a waiting row is not computed, and delays no other", async () => {
  const runner = new FakeRunner();
  const late = createLateConstraints(() => Infinity);
  const { loop, transcript } = observe(late, runner);
  loop.submit(0, requestOf([1, 2], { constraint: constraints[0], choiceCount: 3 }));
  await prepared();
  loop.submit(1, requestOf([3], { maxTokens: 12 }));
  for (let step = 0; step < 20; step++) await loop.step();
  assert.equal(transcript(1).finishes().length, 1);
  assert.deepEqual(transcript(0).events, []);
  assert.deepEqual(new Set(runner.decodeSizes), new Set([1]));
  assert.ok(loop.hasWork && loop.kvCacheBytes > 0);
  loop.abort(0);
  await loop.step();
  assert.deepEqual([loop.kvCacheBytes, loop.hasWork, late.openCount, late.preparedCount], [0, false, 0, 0]);
});

test("a request aborted while its constraint is prepared leaves nothing behind", async () => {
  const late = createLateConstraints(() => 0);
  const { loop, transcript } = observe(late);
  loop.submit(0, requestOf([1], { constraint: constraints[0] }));
  loop.abort(0);
  await prepared();
  await loop.step();
  assert.deepEqual([transcript(0).events, transcript(0).failure], [[], null]);
  assert.deepEqual([loop.hasWork, late.openCount, late.preparedCount], [false, 0, 0]);
});
