// Tests embeddings in the loop: other requests continue at every step, cached logits do not replace an embedding, and
// numbers that are not finite fail the request.
import assert from "node:assert/strict";
import { test } from "node:test";
import { embeddingOf } from "../../../base/domain/testing/feature-requests.ts";
import { fakeLogits, FakeRunner } from "../testing/fake-runner.ts";
import { observedLoop, requestOf, runTogether, smallLimits } from "../testing/run-loop.ts";

const idsFrom = (start: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, place) => (start + place) % 64);

test("a row gets a token at every step while many texts are embedded, one part at a time", async () => {
  const runner = new FakeRunner();
  const { loop, transcript } = observedLoop(runner, {
    ...smallLimits,
    tokensPerStepMax: 16,
    promptChunkTokens: 16,
  });
  loop.submit(0, requestOf([1, 2, 3], { maxTokens: 40 }));
  await loop.step();
  for (let key = 1; key <= 8; key++) loop.submit(key, embeddingOf(requestOf(idsFrom(key, 100))));
  const texts = Array.from({ length: 8 }, (_, index) => index + 1);
  for (let count = transcript(0).ids().length + 1; count <= 40; count++) {
    await loop.step();
    assert.equal(transcript(0).ids().length, count);
  }
  assert.ok(
    texts.some((key) => transcript(key).embedding() === null),
    "there was more than those steps took",
  );
  while (loop.hasWork) await loop.step();
  for (const key of texts)
    assert.deepEqual(transcript(key).embedding(), [...fakeLogits(idsFrom(key, 100), null)]);
});

test("a text whose scores and prefix are cached is still embedded", async () => {
  const limits = { ...smallLimits, prefixCachePercent: 100 };
  const { loop, transcript } = observedLoop(new FakeRunner(), limits);
  loop.submit(0, requestOf(idsFrom(0, 64), { maxTokens: 2 }));
  while (loop.hasWork) await loop.step();
  loop.submit(1, embeddingOf(requestOf(idsFrom(0, 64))));
  while (loop.hasWork) await loop.step();
  assert.ok(loop.cachedPrefixes.hits > 0);
  assert.deepEqual(transcript(1).embedding(), [...fakeLogits(idsFrom(0, 64), null)]);
  // The next request for an answer uses the prefix that the embedding request left in the cache.
  loop.submit(2, requestOf(idsFrom(0, 64), { maxTokens: 2 }));
  while (loop.hasWork) await loop.step();
  assert.deepEqual(transcript(2).ids(), transcript(0).ids());
});

test("non-finite numbers fail only their request", async () => {
  const runner = new FakeRunner();
  runner.isBroken = true;
  const [transcript] = await runTogether(runner, [embeddingOf(requestOf([1, 2]))]);
  assert.match(transcript.failure ?? "", /^unsupported: The model computed numbers that are not finite/);
  assert.equal(transcript.embedding(), null);
});
