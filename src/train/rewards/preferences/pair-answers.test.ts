import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../base/domain/random.ts";
import { searchCount } from "../../../base/domain/testing/search.ts";
import { pairAnswers } from "./pair-answers.ts";

/** Checks which rewards are paired; each pair begins with the preferred answer's reward. */
function check(rewards: readonly number[], expected: readonly (readonly number[])[], marginMin = 0): void {
  const pairs = pairAnswers(
    rewards.map((reward) => ({ reward })),
    marginMin,
  );
  assert.deepEqual(
    pairs.map((pair) => pair.map(({ reward }) => reward)),
    expected,
  );
}

test("pairs the best with the worst, the second best with the second worst", () => {
  check(
    [0.4, 1, 0, 0.6],
    [
      [1, 0],
      [0.6, 0.4],
    ],
  );
  check([], []);
  check([1], []);
});

test("pairs the middle answers with the best, or with the worst if they equal the best", () => {
  check(
    [1, 0, 0, 0],
    [
      [1, 0],
      [1, 0],
      [1, 0],
    ],
  );
  check(
    [1, 1, 1, 0],
    [
      [1, 0],
      [1, 0],
      [1, 0],
    ],
  );
  check(
    [0, 0.5, 1],
    [
      [1, 0],
      [1, 0.5],
    ],
  );
});

test("pairs neither equal rewards nor those that differ by less than the margin", () => {
  check([0.5, 0.5], []);
  check([0.1 + 0.2, 0.3], []);
  check(
    [1, 0.9, 0.1, 0],
    [
      [1, 0],
      [0.9, 0.1],
    ],
    0.8,
  );
  check([1, 0.9, 0.8], [], 0.5);
  check(
    [1, 0.5, 0],
    [
      [1, 0],
      [1, 0.5],
    ],
    0.5,
  );
  check([1, 0.5, 0], [[1, 0]], 0.6);
});

test("uses every answer that can be paired, in no more pairs than there are answers", () => {
  for (let run = 0; run < searchCount(100); run++) {
    const random = seededRandom("pairs of answers", run);
    const marginMin = Math.floor(random.uniform() * 4) / 4;
    const answers = Array.from({ length: Math.floor(random.uniform() * 9) }, () => ({
      reward: Math.floor(random.uniform() * 5) / 4,
    }));
    const pairs = pairAnswers(answers, marginMin);
    const paired = new Set(pairs.flat());
    const canBePaired = answers.filter(({ reward }) =>
      answers.some((other) => {
        const margin = Math.abs(other.reward - reward);
        return margin > 0 && margin >= marginMin;
      }),
    );
    assert.deepEqual(paired, new Set(canBePaired), `run ${run}`);
    assert.ok(pairs.length < Math.max(1, answers.length));
    for (const [preferred, other] of pairs)
      assert.ok(preferred.reward > other.reward && preferred.reward - other.reward >= marginMin);
  }
});
