// Tests the formulas with published examples from their authors, from textbooks and from another program.
import assert from "node:assert/strict";
import { test } from "node:test";
import { cohensKappa, fleissKappa } from "./kappa.ts";

/**
 * Returns the answer pairs that a contingency table counts. Rows are the first annotator's categories, columns the
 * second's.
 */
function pairsOf(table: readonly (readonly number[])[]): readonly (readonly [string, string])[] {
  return table.flatMap((row, one) =>
    row.flatMap((count, other) => Array.from({ length: count }, () => [`c${one}`, `c${other}`] as const)),
  );
}

const rounded = (value: number | null, digits: number): number | null =>
  value === null ? null : Number(value.toFixed(digits));

test("computes Cohen's kappa for the table in Cohen 1960: 200 patients, three diagnoses", () => {
  const { observed, expected, kappa } = cohensKappa(
    pairsOf([
      [88, 14, 18],
      [10, 40, 10],
      [2, 6, 12],
    ]),
  );
  assert.deepEqual([rounded(observed, 2), rounded(expected, 2), rounded(kappa, 3)], [0.7, 0.41, 0.492]);
});

test("computes Cohen's kappa for a textbook's 50 proposals, and for agreement below chance", () => {
  const proposals = cohensKappa(
    pairsOf([
      [20, 5],
      [10, 15],
    ]),
  );
  assert.deepEqual([rounded(proposals.observed, 9), rounded(proposals.expected, 9)], [0.7, 0.5]);
  assert.equal(rounded(proposals.kappa, 9), 0.4);
  assert.equal(
    cohensKappa(
      pairsOf([
        [0, 5],
        [5, 0],
      ]),
    ).kappa,
    -1,
  );
});

/** Table 1 of Fleiss 1971. For each of 30 patients, it says how many of 6 psychiatrists gave each of 5 diagnoses. */
const diagnoses = [
  "00060", "03003", "01401", "00006", "03030", "20400", "00402", "20310", "20040", "00006",
  "10050", "11040", "03300", "10050", "02031", "00501", "30012", "51000", "02040", "10203",
  "00006", "01050", "02013", "20040", "10041", "05010", "40002", "02040", "10500", "00006",
]; // prettier-ignore

function answersOf(counts: string): readonly string[] {
  return counts
    .split("")
    .flatMap((count, category) => Array.from({ length: Number(count) }, () => `c${category}`));
}

test("computes Fleiss' kappa for the table in Fleiss 1971: 30 patients, six psychiatrists, five diagnoses", () => {
  const items = diagnoses.map(answersOf);
  // Compares the totals with those printed below the table, to verify that the copy is correct.
  const totals = Array.from({ length: 5 }, (_, category) =>
    diagnoses.reduce((sum, counts) => sum + Number(counts[category]), 0),
  );
  assert.deepEqual(totals, [26, 26, 30, 55, 43]);
  const { observed, expected, kappa } = fleissKappa(items);
  assert.deepEqual([rounded(observed, 3), rounded(expected, 3), rounded(kappa, 3)], [0.556, 0.22, 0.43]);
});

test("computes Fleiss' kappa for fourteen raters, ten subjects and five categories", () => {
  const counts = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
  ]; // prettier-ignore
  const items = counts.map((row) =>
    row.flatMap((count, category) => Array.from({ length: count }, () => `c${category}`)),
  );
  const { observed, expected, kappa } = fleissKappa(items);
  assert.deepEqual([rounded(observed, 3), rounded(expected, 3), rounded(kappa, 3)], [0.378, 0.213, 0.21]);
});

test("computes Fleiss' kappa with missing answers as the package irrCAC of Gwet's book does", () => {
  // Data set raw_4raters of the program irrCAC: 12 units, each with the answers of the up to four annotators who saw
  // it. The expected values are from irrCAC 0.4.4.
  const units = [
    "111", "2232", "3333", "3333", "2222", "1234", "4444", "1121", "2222", "555", "11", "3",
  ].map((answers) => answers.split("")); // prettier-ignore
  const { observed, expected, kappa } = fleissKappa(units);
  assert.deepEqual(
    [rounded(observed, 5), rounded(expected, 5), rounded(kappa, 5)],
    [0.81818, 0.23872, 0.76117],
  );
});

test("leaves both kappas undefined if all answers are equal", () => {
  assert.deepEqual(
    cohensKappa([
      ["a", "a"],
      ["a", "a"],
    ]),
    { observed: 1, expected: 1, kappa: null },
  );
  const threeTimes = Array.from({ length: 7 }, () => ["a", "a", "a"]);
  assert.deepEqual(fleissKappa(threeTimes), { observed: 1, expected: 1, kappa: null });
});

test("returns zero, not undefined, as Cohen's kappa if one annotator always gives the same answer", () => {
  assert.equal(
    cohensKappa([
      ["a", "a"],
      ["a", "b"],
    ]).kappa,
    0,
  );
});
