// Tests preemption: a preempted request gets the same answer as without preemption, to the last bit, and its slots and
// memory are freed.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AdapterReference } from "../../../base/domain/generation.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { searchedOf } from "../../../base/domain/testing/search.ts";
import { readModelConfig } from "../../architectures/config/read-config.ts";
import { readModelWeights } from "../../architectures/weights.ts";
import { adapter, modelFolder } from "../contract/engine-under-test.ts";
import { createGraphRunner } from "../graph-runner.ts";
import type { ModelRunner } from "../model-runner.ts";
import { FakeRunner } from "../testing/fake-runner.ts";
import { observedLoop, requestOf, runTogether, smallLimits } from "../testing/run-loop.ts";

const limits = { ...smallLimits, slotCountMax: 3, promptChunkTokens: 16 };
const prompt = Array.from({ length: 50 }, (_, index) => (index * 37 + 11) % 500);

async function openRunner(folder = modelFolder): Promise<ModelRunner> {
  const config = readModelConfig(folder);
  const weights = readModelWeights(folder, config, { cacheFolder: null });
  return createGraphRunner({ config, weights, threads: 1, adapterCountMax: 1 });
}

/** Models whose sequences have further states besides keys and values. */
const withStates = ["lfm2", "lfm2-biases", "qwen3.5", "qwen3.5-moe", "granite4-hybrid", "nemotron-h"];

test("a repeatedly preempted answer is the same to the last bit", async () => {
  await checkPreempted(await openRunner(), [null, adapter]);
});

for (const name of searchedOf(withStates, 1))
  test(`${name}: a repeatedly preempted answer is the same to the last bit`, async () => {
    await checkPreempted(await openRunner(`test/fixtures/goldens/models/${name}`), [null]);
  });

async function checkPreempted(
  runner: ModelRunner,
  adapters: readonly (AdapterReference | null)[],
): Promise<void> {
  for (const own of adapters) {
    const request = requestOf(prompt, {
      adapter: own,
      choiceCount: 3,
      maxTokens: 24,
      sampling: { temperature: 1, seed: 4 },
      topLogprobCount: 4,
      priority: 1,
    });
    const [alone] = await runTogether(runner, [request], limits);
    // Steps at which the answer is preempted: during its prompt, its answer and its recomputation. The third time, only
    // two of its choices are preempted.
    const interruptedAt = [2, 9, 17, 40, 44];
    const { loop, transcript } = observedLoop(runner, limits);
    loop.submit(0, request);
    let stepCount = 0;
    for (; loop.hasWork; stepCount++) {
      const index = interruptedAt.indexOf(stepCount);
      const choiceCount = index === 2 ? 2 : 3;
      if (index >= 0) loop.submit(1 + index, requestOf([5, index], { choiceCount, maxTokens: 3 }));
      await loop.step();
    }
    assert.ok(stepCount > 60, `it was interrupted: ${stepCount} steps`);
    for (let choice = 0; choice < 3; choice++) {
      const tokensOf = ({ events }: typeof alone) =>
        events.flatMap((event) => (event.kind === "tokens" && event.choice === choice ? event.tokens : []));
      assert.deepEqual(tokensOf(transcript(0)), tokensOf(alone));
    }
    assert.deepEqual(transcript(0).finishes().toSorted(), alone.finishes().toSorted());
    assert.equal(transcript(0).events.filter(({ kind }) => kind === "prompt-computed").length, 1);
    assert.equal(loop.kvCacheBytes, 0);
  }
  await runner.close();
}

test("an owner that fills every slot makes room for a newcomer, and its answers are unchanged", async () => {
  const runner = await openRunner();
  const flood = requestOf(prompt, {
    choiceCount: 9,
    maxTokens: 20,
    sampling: { temperature: 1, seed: 5 },
    topLogprobCount: 2,
    cacheOwner: "flood",
  });
  const [alone] = await runTogether(runner, [flood], limits);
  const { loop, transcript } = observedLoop(runner, limits);
  loop.submit(0, flood);
  while (transcript(0).ids().length < 8) await loop.step();
  loop.submit(1, requestOf([4, 5, 6], { maxTokens: 5, cacheOwner: "other" }));
  await loop.step();
  assert.equal(transcript(1).ids().length, 1, "its first token comes with the next step");
  while (loop.hasWork) await loop.step();
  assert.equal(transcript(1).ids().length, 5);
  for (let choice = 0; choice < 9; choice++) {
    assert.deepEqual(transcript(0).ids(choice), alone.ids(choice));
    assert.deepEqual(transcript(0).logprobs(choice), alone.logprobs(choice));
  }
  assert.equal(loop.kvCacheBytes, 0);
  await runner.close();
});

test("a preempted request waits until there is room, and precedes later arrivals", async () => {
  const finished: number[] = [];
  const { loop, transcript } = observedLoop(new FakeRunner(), limits);
  const worse = requestOf([1, 2], { choiceCount: 2, maxTokens: 30, priority: 3 });
  loop.submit(0, worse);
  await loop.step();
  loop.submit(1, requestOf([3], { choiceCount: 3, maxTokens: 30 }));
  loop.submit(2, worse);
  while (loop.hasWork) {
    await loop.step();
    for (const key of [0, 1, 2]) {
      if (transcript(key).finishes().length > 0 && !finished.includes(key)) finished.push(key);
    }
    if (!finished.includes(1)) assert.equal(transcript(0).ids().length, 1, "the worse one stands still");
  }
  assert.deepEqual(finished, [1, 0, 2]);
});

test("preempts nothing for the same priority", async () => {
  const { loop, transcript } = observedLoop(new FakeRunner(), limits);
  loop.submit(0, requestOf([1], { choiceCount: 3, maxTokens: 12, priority: 1 }));
  await loop.step();
  loop.submit(1, requestOf([2], { maxTokens: 2, priority: 1 }));
  for (let step = 1; step < 12; step++) await loop.step();
  assert.deepEqual([transcript(0).finishes().length, transcript(1).events.length], [3, 0]);
});

test("a preempted request can be aborted, in part and whole", async () => {
  const { loop, transcript } = observedLoop(new FakeRunner(), limits);
  loop.submit(0, requestOf([1, 2], { choiceCount: 3, maxTokens: 9, priority: 1 }));
  await loop.step();
  loop.submit(1, requestOf([3], { choiceCount: 3, maxTokens: 4 }));
  await loop.step();
  loop.stopChoice(0, 1);
  while (transcript(1).finishes().length < 3) await loop.step();
  loop.submit(2, requestOf([4], { choiceCount: 2, maxTokens: 4 }));
  await loop.step();
  loop.abort(2);
  while (loop.hasWork) await loop.step();
  const undisturbed = await runTogether(new FakeRunner(), [
    requestOf([1, 2], { choiceCount: 3, maxTokens: 9 }),
  ]);
  for (const choice of [0, 2]) assert.deepEqual(transcript(0).ids(choice), undisturbed[0].ids(choice));
  assert.equal(transcript(0).ids(1).length, 1);
  loop.submit(3, requestOf([1], { maxTokens: 9, priority: 1 }));
  await loop.step();
  loop.submit(4, requestOf([2], { choiceCount: 3, maxTokens: 3 }));
  await loop.step();
  loop.abort(3);
  while (loop.hasWork) await loop.step();
  assert.deepEqual([transcript(3).ids().length, loop.kvCacheBytes], [1, 0]);
});

test("an answer ends on the adapter that it began with, though it can no longer be read", async () => {
  class ForgetfulRunner extends FakeRunner {
    override loadAdapter(reference: { readonly id: string; readonly folder: string }) {
      if (this.droppedIds.includes(reference.id))
        throw new ServiceError({ code: "not_found", message: "It is gone." });
      return super.loadAdapter(reference);
    }
  }
  const request = requestOf([1], { adapter: { id: "own", folder: "" }, maxTokens: 8, priority: 1 });
  const [alone] = await runTogether(new FakeRunner(), [request]);
  const { loop, transcript } = observedLoop(new ForgetfulRunner(), limits);
  loop.submit(0, request);
  await loop.step();
  loop.submit(1, requestOf([2], { choiceCount: 3, maxTokens: 4 }));
  await loop.step();
  loop.dropAdapter("own");
  while (loop.hasWork) await loop.step();
  assert.equal(transcript(0).failure, null);
  assert.deepEqual(transcript(0).ids(), alone.ids());
});
