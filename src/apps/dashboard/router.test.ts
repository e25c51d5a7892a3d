import assert from "node:assert/strict";
import { test } from "node:test";

Object.assign(globalThis, { location: { hash: "" } });
const { addressOf, placeOf } = await import("./router.ts");

test("parses the URLs that it creates", () => {
  const address = addressOf("models", ["a/b", "ü ?#"], { after: "x&y", order: "" });
  const { view, parts, query } = placeOf(address);
  assert.deepEqual([view, parts, [...query]], ["models", ["a/b", "ü ?#"], [["after", "x&y"]]]);
  assert.equal(addressOf(""), "#/");
});

test("parses a malformed URL as far as possible", () => {
  assert.deepEqual(placeOf("#models//%E0%A4%A").parts, ["%E0%A4%A"]);
  assert.equal(placeOf("").view, "");
});
