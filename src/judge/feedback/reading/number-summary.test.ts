import assert from "node:assert/strict";
import { test } from "node:test";
import { NumberCollector, type NumberSummary } from "./number-summary.ts";

function check(values: readonly number[], room = Infinity): NumberSummary | null {
  const collector = new NumberCollector({ left: room });
  for (const value of values) collector.add(value);
  return collector.summary();
}

function near(actual: number | null | undefined, expected: number, relative: number): void {
  assert.ok(typeof actual === "number" && Math.abs(actual - expected) <= relative * expected, `${actual}`);
}

/** Difficult data sets, with certified results, from NIST's Statistical Reference Datasets. */
test("computes NIST's mean and standard deviation for sets on which naive sums lose all digits", () => {
  for (const { base, digits } of [
    { base: 1_000_000, digits: 1e-9 },
    { base: 10_000_000, digits: 1e-7 },
  ]) {
    // Data sets NumAcc3 and NumAcc4: base + 0.2, then 500 times base + 0.1 and base + 0.3.
    const values = [
      base + 0.2,
      ...Array.from({ length: 1000 }, (_, index) => base + (index % 2 === 0 ? 0.1 : 0.3)),
    ];
    const summary = check(values);
    near(summary?.mean, base + 0.2, 1e-14);
    near(summary?.standardDeviation, 0.1, digits);
  }
});

test("computes percentiles like NumPy", () => {
  // As in NumPy: numpy.percentile(range(1, 11), [50, 95]) is [5.5, 9.55].
  const spread = check([10, 1, 9, 2, 8, 3, 7, 4, 6, 5])?.spread;
  assert.equal(spread?.p50, 5.5);
  near(spread?.p95, 9.55, 1e-15);
  assert.deepEqual(check([7])?.spread?.p95, 7);
});

test("splits the range into bins of equal width, each number in exactly one", () => {
  const summary = check([0, 0, 1, 19, 20]);
  assert.deepEqual(summary?.spread?.histogram, [2, 1, ...Array.from({ length: 17 }, () => 0), 2]);
  assert.deepEqual(check([3, 3])?.spread?.histogram[0], 2);
  const wide = check([-Number.MAX_VALUE, Number.MAX_VALUE])?.spread?.histogram;
  assert.deepEqual([wide?.[0], wide?.at(-1)], [1, 1]);
});

test("computes exact moments, but no percentiles, if there are too many numbers to keep", () => {
  const { spread, ...rest } = check([1, 2, 3, 4], 3) ?? assert.fail();
  assert.equal(spread, null);
  near(rest.standardDeviation, Math.sqrt(5 / 3), 1e-15);
  assert.deepEqual([rest.count, rest.mean, rest.min, rest.max], [4, 2.5, 1, 4]);
  assert.equal(check([1])?.standardDeviation, null);
  assert.equal(check([]), null);
});
