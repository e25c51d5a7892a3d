// Tests that equal values have the same canonical text, and different values have different texts.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Json } from "../../base/domain/text/json.ts";
import { canonicalJson, jsonHash } from "./canonical-json.ts";

test("sorts keys at every depth, but keeps the order of lists", () => {
  const text = canonicalJson({ b: [2, 1, { d: null, c: "é\n" }], a: true });
  assert.equal(text, '{"a":true,"b":[2,1,{"c":"é\\n","d":null}]}');
  assert.deepEqual(JSON.parse(text), { a: true, b: [2, 1, { c: "é\n", d: null }] });
});

test("sorts numeric keys as text, and leaves sorted input unchanged", () => {
  assert.equal(canonicalJson({ 9: [], 10: { 2: 1, 10: 1 } }), '{"10":{"10":1,"2":1},"9":[]}');
  for (const value of [{ a: { b: 1, c: [{ d: "é\u2028" }, -0, 1e21] } }, [], "x", null] as readonly Json[])
    assert.equal(
      canonicalJson(value),
      canonicalJson([value, { b: 0, a: 0 }]).slice(1, -',{"a":0,"b":0}]'.length),
    );
});

test("hashes different values differently", () => {
  const values: readonly Json[] = [
    null,
    "null",
    0,
    "0",
    [],
    {},
    [[]],
    { a: null },
    { a: [] },
    "a:b",
    { a: "b" },
  ];
  assert.equal(new Set(values.map((value) => jsonHash(value))).size, values.length);
});
