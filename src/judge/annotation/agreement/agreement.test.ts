import assert from "node:assert/strict";
import { test } from "node:test";
import { agreementOf, type Ratings } from "./agreement.ts";

/** Returns ratings of items. Each argument has the answers about one item, by annotator. */
function ratings(...items: readonly Readonly<Record<string, string>>[]): Ratings {
  return new Map(items.map((answers, index) => [`item ${index}`, new Map(Object.entries(answers))]));
}

test("compares two annotators by Cohen's kappa, over the items that both have answered", () => {
  const both = [
    { ann: "a", bob: "a" },
    { bob: "b", ann: "b" },
    { ann: "a", bob: "b" },
    { ann: "b", bob: "b" },
  ];
  const agreement = agreementOf(ratings(...both, { ann: "a" }, {}));
  // The observed agreement p_o is 3/4, the agreement by chance p_e is 1/2 * 1/4 + 1/2 * 3/4.
  assert.deepEqual(agreement, {
    itemCount: 4,
    annotatorCount: 2,
    observed: 0.75,
    kappa: 0.5,
    statistic: "cohen",
    reason: null,
  });
});

test("compares three annotators by Fleiss' kappa, although all three never answered the same item", () => {
  const { kappa, statistic, itemCount, annotatorCount } = agreementOf(
    ratings({ ann: "a", bob: "a" }, { bob: "b", cas: "b" }, { cas: "a", ann: "b" }),
  );
  assert.deepEqual([statistic, itemCount, annotatorCount], ["fleiss", 3, 3]);
  // The observed agreement P is 2/3, the agreement by chance P_e is 1/4 + 1/4.
  assert.equal(kappa?.toFixed(9), (1 / 3).toFixed(9));
});

test("reports nothing if no item has two answers, and no kappa if all answers are equal", () => {
  assert.deepEqual(agreementOf(ratings({ ann: "a" }, { bob: "a" })), {
    itemCount: 0,
    annotatorCount: 0,
    observed: null,
    kappa: null,
    statistic: null,
    reason: "no item was answered by two people",
  });
  const { observed, kappa, reason } = agreementOf(ratings({ ann: "a", bob: "a" }, { ann: "a", bob: "a" }));
  assert.deepEqual([observed, kappa], [1, null]);
  assert.match(reason ?? "", /same answer everywhere.*undefined/);
});
