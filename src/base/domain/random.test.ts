import assert from "node:assert/strict";
import { test } from "node:test";
import { randomFrom, seededRandom, shuffled } from "./random.ts";

test("draws the numbers of xoshiro128**, 53 bits at a time", () => {
  // Output of another implementation of xoshiro128**, from the state 1, 2, 3, 4.
  const words = [11520, 0, 5927040, 70819200, 2031721883, 1637235492, 1287239034, 3734860849];
  const random = randomFrom([1, 2, 3, 4]);
  for (let at = 0; at < words.length; at += 2) {
    const bits = (BigInt(words[at] >>> 5) << 26n) + BigInt(words[at + 1] >>> 6);
    assert.equal(random.uniform(), Number(bits) / 2 ** 53);
  }
});

test("returns the same stream for the same key, and an unrelated one for another key", () => {
  const first = (...key: readonly (string | number)[]): number => seededRandom(...key).uniform();
  assert.equal(first("a", 1), first("a", 1));
  assert.equal(new Set([first("a", 1), first("a", 2), first("b", 1), first("a1")]).size, 4);
});

test("shuffles to every order equally often and leaves its input unchanged", () => {
  const random = seededRandom("orders");
  const items = ["a", "b", "c"] as const;
  const counts = new Map<string, number>();
  for (let draw = 0; draw < 6000; draw++) {
    const order = shuffled(random, items).join("");
    counts.set(order, (counts.get(order) ?? 0) + 1);
  }
  assert.deepEqual([...counts.keys()].sort(), ["abc", "acb", "bac", "bca", "cab", "cba"]);
  // 173 is six standard deviations of the count, if all orders are equally probable.
  for (const [order, count] of counts) assert.ok(Math.abs(count - 1000) < 173, `${order}: ${count}`);
  assert.deepEqual(items, ["a", "b", "c"]);
});
