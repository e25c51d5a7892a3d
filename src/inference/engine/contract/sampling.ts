// Contract tests of sampling: the distribution from which tokens are drawn, their log-probabilities, and the random
// numbers.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TokenAlternative } from "../../../base/domain/generation.ts";
import type { SamplingParameters } from "../../../base/domain/sampling.ts";
import {
  answerOf,
  ask,
  checkSameTokens,
  greedyAnswer,
  sharedEngine,
  type EngineUnderTest,
} from "./engine-under-test.ts";

const vocabularySize = 512;

/**
 * Applies the definitions of the sampling parameters to the raw distribution. Returns normalised probabilities by id.
 */
const expectedDistribution = (
  raw: readonly TokenAlternative[],
  { temperature = 1, topK = 0, topP = 1 }: Partial<SamplingParameters>,
): ReadonlyMap<number, number> => {
  const weighed = raw.map(({ id, logprob }) => ({ id, weight: Math.exp(logprob / temperature) }));
  const first = weighed.slice(0, topK === 0 ? raw.length : topK);
  const total = first.reduce((sum, { weight }) => sum + weight, 0);
  let count = 1;
  for (let sum = first[0].weight; count < first.length && sum < topP * total; count++) {
    sum += first[count].weight;
  }
  const kept = first.slice(0, count);
  const keptTotal = kept.reduce((sum, { weight }) => sum + weight, 0);
  return new Map(kept.map(({ id, weight }) => [id, weight / keptTotal]));
};

export function checkSampling(under: EngineUnderTest): void {
  const { name } = under;
  const shared = sharedEngine(under);

  test(`${name}: log-probabilities are raw, whole, and in order`, async () => {
    const engine = await shared();
    const all = await answerOf(engine, ask({ maxTokens: 4, topLogprobCount: vocabularySize }));
    const sampling = { temperature: 0.3, topK: 4, topP: 0.6, seed: 3 };
    const sampled = await answerOf(engine, ask({ maxTokens: 4, topLogprobCount: vocabularySize, sampling }));
    for (const transcript of [all, sampled]) {
      transcript.alternatives().forEach((alternatives, index) => {
        const sum = alternatives.reduce((total, { logprob }) => total + Math.exp(logprob), 0);
        assert.ok(Math.abs(sum - 1) < 1e-6, `the probabilities add up to ${sum}`);
        assert.equal(new Set(alternatives.map(({ id }) => id)).size, vocabularySize);
        alternatives.slice(1).forEach(({ id, logprob }, place) => {
          const before = alternatives[place];
          assert.ok(before.logprob > logprob || (before.logprob === logprob && before.id < id));
        });
        const own = alternatives.find(({ id }) => id === transcript.ids()[index]);
        assert.equal(own?.logprob, transcript.logprobs()[index]);
      });
    }
    const [first] = all.alternatives();
    const [other] = sampled.alternatives();
    first.forEach(({ logprob }, place) => assert.ok(Math.abs(logprob - other[place].logprob) < 1e-5));
    assert.equal(all.ids()[0], first[0].id, "greedy takes the most probable token");

    const few = await answerOf(engine, ask({ maxTokens: 4, topLogprobCount: 3 }));
    checkSameTokens(engine, few, all);
    const whole = all.alternatives();
    few.alternatives().forEach((alternatives, index) => {
      const best = whole[index].slice(0, 3);
      assert.deepEqual(
        alternatives.map(({ id }) => id),
        best.map(({ id }) => id),
      );
    });
    const none = await answerOf(engine, ask({ maxTokens: 4, topLogprobCount: 0 }));
    checkSameTokens(engine, none, all);
  });

  test(`${name}: draws from the distribution that temperature, top-k and top-p define`, async () => {
    const engine = await shared();
    const [raw] = (
      await answerOf(engine, ask({ maxTokens: 1, topLogprobCount: vocabularySize }))
    ).alternatives();
    const drawCount = 512;
    for (const sampling of [
      {},
      { temperature: 0.4 },
      { topK: 3 },
      { topP: 0.5 },
      { temperature: 2, topK: 9, topP: 0.7 },
    ]) {
      const counts = new Map<number, number>();
      for (let seed = 0; seed < drawCount / 128; seed++) {
        const request = ask({
          maxTokens: 1,
          choiceCount: 128,
          sampling: { temperature: 1, ...sampling, seed },
        });
        const answer = await answerOf(engine, request);
        for (let choice = 0; choice < 128; choice++) {
          const [id] = answer.ids(choice);
          counts.set(id, (counts.get(id) ?? 0) + 1);
        }
      }
      const expected = expectedDistribution(raw, sampling);
      const context = JSON.stringify(sampling);
      for (const id of counts.keys()) assert.ok(expected.has(id), `${context}: ${id} was left out`);
      for (const [id, probability] of expected) {
        const deviation = Math.sqrt(drawCount * probability * (1 - probability));
        const difference = Math.abs((counts.get(id) ?? 0) - drawCount * probability);
        // The tolerance adds 2, because the count of a rare token has a longer tail than the normal distribution.
        assert.ok(difference <= 5 * deviation + 2, `${context}: ${id} was drawn ${counts.get(id)} times`);
      }
    }
  });

  test(`${name}: different seeds give different answers, and on an exact engine a seed gives the same in a crowd`, async () => {
    const engine = await shared();
    const request = (id: string, seed: number) =>
      ask({ id, maxTokens: 12, topLogprobCount: 0, sampling: { temperature: 1, topP: 0.95, seed } });
    const alone = await answerOf(engine, request("alone", 5));
    const crowd = await Promise.all([
      ...Array.from({ length: 5 }, (_, index) => answerOf(engine, request(`beside ${index}`, 100 + index))),
      answerOf(engine, request("in a crowd", 5)),
    ]);
    if (engine.capabilities.isExact) checkSameTokens(engine, crowd[5], alone);
    assert.equal(
      new Set(crowd.map((answer) => answer.ids().join())).size,
      6,
      "other seeds give other answers",
    );
  });

  test(`${name}: each choice has its own random stream, and on an exact engine for any number of choices`, async () => {
    const engine = await shared();
    const sampling = { temperature: 1.2, seed: 9 };
    const request = (choiceCount: number) =>
      ask({ maxTokens: 10, topLogprobCount: 0, choiceCount, sampling });
    const eight = await answerOf(engine, request(8));
    if (engine.capabilities.isExact) {
      const three = await answerOf(engine, request(3));
      for (let choice = 0; choice < 3; choice++) checkSameTokens(engine, three, eight, choice);
    }
    const answers = Array.from({ length: 8 }, (_, choice) => eight.ids(choice).join());
    assert.equal(new Set(answers).size, 8);
    const greedy = await answerOf(engine, ask({ maxTokens: 5, choiceCount: 3 }));
    for (let choice = 0; choice < 3; choice++)
      assert.deepEqual(greedy.ids(choice), greedyAnswer(under).slice(0, 5));
  });
}
