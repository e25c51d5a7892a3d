// Equal values have equal texts, others do not.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Json } from "../domain/trajectory.ts";
import { canonicalJson, jsonHash } from "./canonical-json.ts";

test("keys are put in order at every depth, and lists are not", () => {
  const text = canonicalJson({ b: [2, 1, { d: null, c: "é\n" }], a: true });
  assert.equal(text, '{"a":true,"b":[2,1,{"c":"é\\n","d":null}]}');
  assert.deepEqual(JSON.parse(text), { a: true, b: [2, 1, { c: "é\n", d: null }] });
});

test("values that differ have different hashes", () => {
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
