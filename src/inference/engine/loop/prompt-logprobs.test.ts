import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../base/domain/random.ts";
import { plainLogprobs, rankedIds } from "../testing/plain-sampler.ts";
import { logprobTokensPerStep, scoreTokens } from "./prompt-logprobs.ts";

/** Compares the results with the definitions, which sort and count all logits anew for every token. */
function check(rows: readonly (readonly number[])[], ids: readonly number[], alternativeCount: number): void {
  const vocabularySize = rows[0].length;
  const scored = scoreTokens(Float32Array.from(rows.flat()), ids, { vocabularySize, alternativeCount });
  assert.equal(scored.length, ids.length);
  scored.forEach((token, row) => {
    const logits = Array.from(Float32Array.from(rows[row]));
    const logprobs = plainLogprobs(logits);
    const best = rankedIds(logits).slice(0, alternativeCount);
    assert.equal(token.id, ids[row]);
    assert.deepEqual(
      token.alternatives.map(({ id }) => id),
      best,
    );
    for (const { id, logprob, rank } of [token, ...token.alternatives]) {
      const isSame = logprob === logprobs[id] || Math.abs(logprob - logprobs[id]) < 1e-9;
      assert.ok(isSame, `${logprob} is not ${logprobs[id]}`);
      assert.equal(rank, logits.filter((logit) => logit >= logits[id]).length, `the rank of ${id}`);
    }
  });
}

test("matches the definitions of log-probabilities, ranks and alternatives", () => {
  const random = seededRandom("prompt-logprobs");
  for (let time = 0; time < 200; time++) {
    const vocabularySize = 1 + random.index(40);
    const rowCount = 1 + random.index(4);
    // Draws from few different values, so that many logits are equal.
    const rows = Array.from({ length: rowCount }, () =>
      Array.from({ length: vocabularySize }, () => random.index(8) / 2),
    );
    const ids = rows.map(() => random.index(vocabularySize));
    check(rows, ids, random.index(6));
  }
});

test("equal tokens share the rank of the last of them", () => {
  const [token] = scoreTokens(Float32Array.of(2, 5, 2, 5, 1), [0], {
    vocabularySize: 5,
    alternativeCount: 3,
  });
  assert.equal(token.rank, 4);
  assert.deepEqual(
    token.alternatives.map(({ id, rank }) => [id, rank]),
    [
      [1, 2],
      [3, 2],
      [0, 4],
    ],
  );
});

test("an impossible token has log-probability minus infinity, and the last rank", () => {
  const [token] = scoreTokens(Float32Array.of(1, -Infinity, 1), [1], {
    vocabularySize: 3,
    alternativeCount: 0,
  });
  assert.deepEqual(token, { id: 1, logprob: -Infinity, rank: 3, alternatives: [] });
});

test("non-finite scores are the model's fault", () => {
  for (const logits of [
    [NaN, 1],
    [1, NaN],
    [Infinity, 1],
    [-Infinity, -Infinity],
  ]) {
    const score = () =>
      scoreTokens(Float32Array.from(logits), [0], { vocabularySize: 2, alternativeCount: 1 });
    assert.throws(score, { code: "unsupported" });
  }
});

test("keeps the scores of one step within 64 MiB for any vocabulary", () => {
  assert.equal(logprobTokensPerStep(512), 32_768);
  assert.equal(logprobTokensPerStep(151_936), 110);
  assert.equal(logprobTokensPerStep(2 ** 30), 1);
});
