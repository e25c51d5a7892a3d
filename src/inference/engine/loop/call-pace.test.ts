import assert from "node:assert/strict";
import { test } from "node:test";
import { promptMsMax, type OwnerLoad } from "./call-pace.ts";

const load = (rowCount: number, prefillCount: number): OwnerLoad => ({ rowCount, prefillCount });

/**
 * Checks the time that prompts may take in a step whose rows take 10 ms.
 *
 * @param expected maximum time for prompts, as a multiple of 10 ms
 */
const check = (owners: readonly OwnerLoad[], expected: number): void =>
  assert.equal(promptMsMax(10, owners), 10 * expected);

test("gives prompts unlimited time if there are no rows", () => {
  check([], Infinity);
  check([load(0, 5)], Infinity);
});

test("rows wait for prompts little longer than for each other", () => {
  check([load(8, 0)], 1.5);
  check([load(8, 2)], 1.5);
});

test("an owner with few rows and many choices in prefill delays its own rows for them", () => {
  check([load(8, 4)], 6);
  check([load(8, 8)], 24);
});

test("does not delay an owner's rows for the demand of others", () => {
  check([load(8, 56), load(1, 0)], 1.5);
  check([load(0, 100), load(8, 1)], 1.5);
  check([load(1, 40), load(8, 8)], 24);
});
