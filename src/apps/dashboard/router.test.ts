import assert from "node:assert/strict";
import { test } from "node:test";

const replaceState = (_state: unknown, _title: string, address: string): void => {
  location.hash = address;
};
Object.assign(globalThis, { location: { hash: "" }, history: { replaceState } });
const { addressOf, place, placeOf, replaceQuery } = await import("./router.ts");

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

test("a late change of a query does not bring back the view that the user has left", () => {
  const write = (query: URLSearchParams): void => query.set("c", "text");
  place.value = placeOf((location.hash = "#/chat?k=1"));
  replaceQuery(write);
  assert.equal(location.hash, "#/chat?k=1&c=text");
  // The browser sets the address before it sends the event `hashchange`.
  location.hash = "#/models";
  replaceQuery(write);
  assert.equal(location.hash, "#/models");
});
