// Contract tests of a prompt's log-probabilities. They equal those of the reference implementation, and those of the
// same tokens in answers, in combination with any other parameter.
import assert from "node:assert/strict";
import { test } from "node:test";
import { present } from "../../../base/domain/assert.ts";
import type { PromptLogprob } from "../../../base/domain/generation.ts";
import { choice } from "../../../lib/constraints/grammar/testing/make-constraints.ts";
import { requestOf, type Transcript } from "../testing/run-loop.ts";
import {
  adapter,
  answerOf,
  ask,
  logprobTolerance,
  offers,
  recorded,
  sharedEngine,
  type EngineUnderTest,
} from "./engine-under-test.ts";

const vocabularySize = 512;
const { tokenIds: scoredIds, logprobs: scoredLogprobs } = recorded.scored;

function checkClose(
  actual: number | undefined,
  expected: number,
  context: string,
  tolerance: number = 1e-4,
): void {
  const difference = Math.abs(present(actual, context) - expected);
  assert.ok(difference < tolerance, `${context}: ${actual} is not ${expected}`);
}

function checkSame(
  actual: readonly (PromptLogprob | null)[],
  expected: readonly (PromptLogprob | null)[],
): void {
  assert.deepEqual(
    actual.map((token) => [token?.id, token?.alternatives.length]),
    expected.map((token) => [token?.id, token?.alternatives.length]),
  );
  actual.forEach((token, index) => {
    if (token !== null) checkClose(token.logprob, expected[index]?.logprob ?? NaN, `token ${index}`);
  });
}

/** Checks that the events before `prompt-computed` are exactly those with the prompt's log-probabilities. */
function checkOrder({ events }: Transcript): void {
  const computed = events.findIndex(({ kind }) => kind === "prompt-computed");
  events.forEach(({ kind }, index) => assert.equal(kind === "prompt-logprobs", index < computed));
}

export function checkPromptLogprobs(under: EngineUnderTest): void {
  const { name, rounding } = under;
  const tolerance = logprobTolerance(under);
  const shared = sharedEngine(under);

  test(`${name}: a prompt's log-probabilities equal the reference implementation's`, async () => {
    const request = requestOf(scoredIds, { promptLogprobCount: 0, maxTokens: 2 });
    const answer = await answerOf(await shared(), request);
    checkOrder(answer);
    const tokens = answer.promptLogprobs();
    assert.deepEqual(
      tokens.map((token) => token?.id ?? null),
      [null, ...scoredIds.slice(1)],
    );
    const differences = tokens.map((token, index) => {
      assert.deepEqual(token?.alternatives ?? [], []);
      return token === null ? 0 : Math.abs(token.logprob - (scoredLogprobs[index] ?? NaN));
    });
    // Rounding changes the log-probabilities of a small model's improbable tokens greatly. For quantized engines, only
    // the mean difference must therefore be small.
    const mean = differences.reduce((sum, one) => sum + one, 0) / differences.length;
    const difference = rounding === undefined ? Math.max(...differences) : mean;
    assert.ok(difference < tolerance, `log-probabilities are ${difference} from the reference's`);
  });

  test(`${name}: a token's rank and alternatives match its position among all tokens`, async () => {
    const engine = await shared();
    const answer = await answerOf(engine, ask({ promptLogprobCount: vocabularySize, maxTokens: 1 }));
    const few = await answerOf(engine, ask({ promptLogprobCount: 3, maxTokens: 1 }));
    for (const [index, token] of answer.promptLogprobs().entries()) {
      if (token === null) continue;
      const { id, logprob, rank, alternatives } = token;
      const sum = alternatives.reduce((total, other) => total + Math.exp(other.logprob), 0);
      assert.ok(Math.abs(sum - 1) < 1e-6, `the probabilities add up to ${sum}`);
      assert.equal(new Set(alternatives.map((other) => other.id)).size, vocabularySize);
      assert.equal(alternatives.filter((other) => other.logprob >= logprob).length, rank);
      alternatives.forEach((other, place) => {
        assert.ok(place === 0 || alternatives[place - 1].logprob >= other.logprob);
        assert.ok(other.rank >= place + 1);
      });
      assert.deepEqual(
        alternatives.find((other) => other.id === id),
        { id, logprob, rank },
      );
      assert.deepEqual(
        few.promptLogprobs()[index]?.alternatives.map((other) => other.id),
        alternatives.slice(0, 3).map((other) => other.id),
      );
    }
  });

  test(`${name}: an answer's tokens have the same log-probabilities as a prompt's`, async () => {
    const engine = await shared();
    for (const own of [null, adapter]) {
      const answer = await answerOf(engine, ask({ maxTokens: 20, topLogprobCount: 0, adapter: own }));
      const whole = [...recorded.prompt, ...answer.ids()];
      const again = await answerOf(
        engine,
        requestOf(whole, { promptLogprobCount: 0, maxTokens: 1, adapter: own }),
      );
      const tokens = again.promptLogprobs().slice(recorded.prompt.length);
      answer
        .logprobs()
        .forEach((logprob, index) => checkClose(tokens[index]?.logprob, logprob, `${index}`, tolerance));
    }
  });

  test(`${name}: a prompt's log-probabilities do not depend on other parameters`, async () => {
    const engine = await shared();
    const plain = requestOf(scoredIds, { promptLogprobCount: 2, maxTokens: 3 });
    const expected = (await answerOf(engine, plain)).promptLogprobs();
    const sampling = { temperature: 1.2, topK: 3, seed: 4 };
    for (const request of [
      requestOf(scoredIds, { promptLogprobCount: 2, maxTokens: 4, choiceCount: 14, sampling }),
      requestOf(scoredIds, { promptLogprobCount: 2, maxTokens: 4, constraint: choice("yes", "no") }),
      requestOf(scoredIds, { promptLogprobCount: 2, maxTokens: 4, topLogprobCount: 5 }),
    ]) {
      if (!offers(under, request)) continue;
      const answer = await answerOf(engine, request);
      checkOrder(answer);
      checkSame(answer.promptLogprobs(), expected);
    }
    const crowd = await Promise.all(
      ["a", "b", "c"].map((id) => answerOf(engine, { ...plain, id: `crowd ${id}` })),
    );
    for (const answer of crowd) checkSame(answer.promptLogprobs(), expected);
    const silent = await answerOf(engine, requestOf(scoredIds, { maxTokens: 3 }));
    assert.deepEqual(silent.promptLogprobs(), []);
    assert.deepEqual(silent.ids(), (await answerOf(engine, plain)).ids());
  });

  test(`${name}: the first token of a prompt has none`, async () => {
    const answer = await answerOf(await shared(), requestOf([5], { promptLogprobCount: 1, maxTokens: 1 }));
    assert.deepEqual(answer.promptLogprobs(), [null]);
  });
}
