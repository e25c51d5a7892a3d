// Tests that equal dimensions are written in the same way, and that their arithmetic agrees with that of numbers.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import {
  canonicalDimension,
  dimensionDifference,
  dimensionProduct,
  dimensionSum,
  evaluateDimension,
  isSymbol,
} from "./dimension.ts";
import type { Dimension } from "./dimension.ts";
import { searching } from "../../base/domain/testing/search.ts";

test("equal sizes have one spelling", () => {
  assert.equal(canonicalDimension("T*B"), "B*T");
  assert.equal(canonicalDimension("1+T+1"), "T+2");
  assert.equal(dimensionProduct(["C+T", 3]), "3*C+3*T");
  assert.equal(dimensionProduct(["B+1", "B-1"]), "B*B-1");
  assert.equal(dimensionDifference("C+T", "C"), "T");
  assert.equal(dimensionDifference("T", "T"), 0);
  assert.equal(dimensionDifference(1, "T"), "-T+1");
  assert.equal(dimensionProduct([]), 1);
});

test("only a single symbol can be bound", () => {
  assert.deepEqual(["B", "B*T", 3, "2*B"].map(isSymbol), [true, false, false, false]);
  assert.throws(() => evaluateDimension("B*T", new Map([["B", 2]])), /no input binds the dimension symbol T/);
  assert.throws(() => canonicalDimension("B T"), /"B T" is not a dimension/);
});

test("arithmetic agrees with that of numbers", () => {
  const sizes = new Map([
    ["A", 3],
    ["B", 5],
    ["C", 7],
  ]);
  const dimension = fc.letrec<{ dimension: Dimension }>((tie) => ({
    dimension: fc.oneof(
      { maxDepth: 4 },
      fc.integer({ min: 0, max: 9 }),
      fc.constantFrom("A", "B", "C"),
      fc.tuple(tie("dimension"), tie("dimension")).map(dimensionSum),
      fc.tuple(tie("dimension"), tie("dimension")).map(dimensionProduct),
    ),
  })).dimension;
  fc.assert(
    fc.property(dimension, dimension, (left, right) => {
      const value = (size: Dimension) => evaluateDimension(size, sizes);
      assert.equal(value(dimensionSum([left, right])), value(left) + value(right));
      assert.equal(value(dimensionProduct([left, right])), value(left) * value(right));
      assert.equal(value(dimensionDifference(left, right)), value(left) - value(right));
      assert.equal(dimensionSum([left, right]), dimensionSum([right, left]));
      assert.equal(canonicalDimension(left), left);
    }),
    searching(100),
  );
});
