import assert from "node:assert/strict";
import { test } from "node:test";
import { pairLanes } from "./pair-lanes.ts";

const check = (lanes: string, gains: Readonly<Record<string, number>>, expected: string): void => {
  const calls = pairLanes(Array.from(lanes), (one, other) => gains[one + other] ?? 0);
  assert.equal(calls.map((call) => call.join("")).join(" "), expected);
};

test("lanes that gain nothing keep separate calls", () => {
  check("", {}, "");
  check("abc", {}, "a b c");
});

test("pairs the lanes that gain most, each at most once", () => {
  check("ab", { ab: 1 }, "ab");
  check("abc", { ab: 1, ac: 2, bc: 1 }, "ac b");
  check("abcd", { ab: 1, ac: 1, ad: 1, bc: 1, bd: 1, cd: 1 }, "ab cd");
  check("abcd", { ac: 1, bd: 2 }, "ac bd");
});
