// Tests separate lanes that share calls. Rows get separate lanes if their lengths differ much or their adapters differ.
// Every request must get the same answer as by itself.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { GenerationRequest } from "../../../base/domain/generation.ts";
import { FakeRunner } from "../testing/fake-runner.ts";
import { requestOf, runTogether, smallLimits } from "../testing/run-loop.ts";

const limits = { ...smallLimits, lanePositions: 0 };

const tokens = (count: number, first: number): readonly number[] =>
  Array.from({ length: count }, (_, index) => (first + 5 * index) % 64);

/**
 * Runs requests together, and compares each answer with that of the request by itself.
 *
 * @returns for each call that two lanes shared, the number of rows in both lanes, such as "1 and 3"
 */
async function check(requests: readonly GenerationRequest[]): Promise<readonly string[]> {
  const runner = new FakeRunner();
  const together = await runTogether(runner, requests, limits);
  for (const [index, request] of requests.entries()) {
    const [alone] = await runTogether(new FakeRunner(), [request], limits);
    assert.deepEqual(together[index].ids(), alone.ids(), `request ${index}`);
    assert.deepEqual(together[index].logprobs(), alone.logprobs(), `request ${index}`);
  }
  return [
    ...new Set(runner.pairSizes.map((sizes) => sizes.toSorted((one, other) => one - other).join(" and "))),
  ];
}

test("a long prompt among short ones has a separate lane, in the same calls", async () => {
  const short = [1, 2, 3].map((first) => requestOf(tokens(8, first), { maxTokens: 30 }));
  const long = requestOf(tokens(300, 4), { maxTokens: 30 });
  assert.ok((await check([...short, long])).includes("1 and 3"));
  assert.ok((await check([long, ...short])).includes("1 and 3"));
});

test("a row that outgrows its lane moves to another, and rows that grow together stay together", async () => {
  const short = [1, 2, 3, 4].map((first) => requestOf(tokens(8, first), { maxTokens: 90 }));
  const longer = requestOf(tokens(40, 5), { maxTokens: 200 });
  assert.ok((await check([...short, longer])).includes("1 and 4"));
  assert.deepEqual(await check(short), []);
  // The longest row needs more room a few steps before the others do.
  const staggered = [8, 10, 12, 14].map((count) => requestOf(tokens(count, count), { maxTokens: 90 }));
  assert.deepEqual(await check(staggered), []);
});

test("two adapters share calls, and so do one and the base model", async () => {
  const of = (id: string | null) =>
    requestOf(tokens(8, 1), { adapter: id === null ? null : { id, folder: id }, maxTokens: 9 });
  assert.deepEqual(await check([of("a"), of("b")]), ["1 and 1"]);
  assert.deepEqual(await check([of("a"), of(null)]), ["1 and 1"]);
});
