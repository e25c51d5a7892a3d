import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../base/domain/random.ts";
import { searchSeeds } from "../../../base/domain/testing/search.ts";
import { bradleyTerryStrengths, type Comparison, scoreOfStrength } from "./bradley-terry.ts";

/**
 * Returns the comparisons behind a table of wins. Each entry of the table says how often the row's answer was preferred
 * to the column's.
 */
function comparisonsIn(wins: readonly (readonly number[])[]): readonly Comparison[] {
  return wins.flatMap((row, winner) =>
    row.flatMap((count, loser) => Array.from({ length: count }, () => ({ winner, loser }))),
  );
}

test("reproduces the abilities of the baseball teams in Agresti's book", () => {
  // Baseball results of the American League East in 1987, from Agresti, Categorical Data Analysis (2nd ed. 2002), table
  // 10.10. The expected log-strengths are relative to Baltimore; R's BradleyTerry2 gives the same.
  const wins = [
    [0, 7, 9, 7, 7, 9, 11],
    [6, 0, 7, 5, 11, 9, 9],
    [4, 6, 0, 7, 7, 8, 12],
    [6, 8, 6, 0, 6, 7, 10],
    [6, 2, 6, 7, 0, 7, 12],
    [4, 4, 5, 6, 6, 0, 6],
    [2, 4, 1, 3, 1, 7, 0],
  ];
  const strengths = bradleyTerryStrengths(comparisonsIn(wins), 7, 1e-9);
  const abilities = strengths.map((strength) => Math.log(strength / strengths[6]));
  const printed = [1.5814, 1.4364, 1.2945, 1.2476, 1.1077, 0.6839, 0];
  abilities.forEach((ability, team) =>
    assert.ok(Math.abs(ability - printed[team]) < 1e-4, `${team}: ${ability}`),
  );
});

test("scores two answers in proportion to their wins with a negligible prior", () => {
  const [one, other] = bradleyTerryStrengths(
    comparisonsIn([
      [0, 6],
      [2, 0],
    ]),
    2,
    1e-9,
  );
  assert.ok(Math.abs(one / other - 3) < 1e-6);
});

test("scores symmetric results equally, and a cycle as a draw", () => {
  const scores = (comparisons: readonly Comparison[], count: number): readonly number[] =>
    bradleyTerryStrengths(comparisons, count, 1).map(scoreOfStrength);
  assert.deepEqual(scores([], 2), [0.5, 0.5]);
  const circle = [0, 1, 2].map((winner) => ({ winner, loser: (winner + 1) % 3 }));
  for (const score of scores(circle, 3)) assert.ok(Math.abs(score - 0.5) < 1e-9);
  // After a single comparison, winner and loser have scores symmetric around 0.5.
  const [winner, loser, apart] = scores([{ winner: 0, loser: 1 }], 3);
  assert.ok(winner > 0.6 && winner < 0.8);
  assert.ok(Math.abs(winner + loser - 1) < 1e-9);
  assert.equal(apart, 0.5);
  const [best, ...others] = scores(
    [
      { winner: 0, loser: 1 },
      { winner: 0, loser: 2 },
    ],
    3,
  );
  assert.ok(Math.abs(others[0] - others[1]) < 1e-12 && best > winner);
});

test("converges to the maximum likelihood, also for answers that always win or lose", () => {
  for (const seed of searchSeeds(5)) {
    const random = seededRandom("bradley-terry", seed);
    const count = 2 + random.index(8);
    const prior = 0.1 + random.uniform();
    const comparisons = Array.from({ length: random.index(40) }, () => {
      const winner = random.index(count);
      return { winner, loser: (winner + 1 + random.index(count - 1)) % count };
    });
    const strengths = bradleyTerryStrengths(comparisons, count, prior);
    // At the fitted strengths, the log-likelihood, which includes the prior's comparisons, has slope 0 for each
    // log-strength.
    strengths.forEach((strength, index) => {
      let slope = prior / 2 - prior * scoreOfStrength(strength);
      for (const { winner, loser } of comparisons) {
        const lost = strengths[loser] / (strengths[winner] + strengths[loser]);
        if (winner === index) slope += lost;
        if (loser === index) slope -= lost;
      }
      assert.ok(Math.abs(slope) < 1e-6, `seed ${seed}, ${index}: ${slope}`);
    });
  }
});
