import assert from "node:assert/strict";
import { test } from "node:test";
import { assert as assertProperty, constantFrom, jsonValue, property } from "fast-check";
import { searching } from "../../base/domain/testing/search.ts";
import { jsonPart, type PartStep } from "./json-part.ts";

/** Yields each part of a value, with the path to it. */
function* placesIn(
  value: unknown,
  steps: readonly PartStep[] = [],
): Generator<[readonly PartStep[], unknown]> {
  yield [steps, value];
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    yield* placesIn(inner, [...steps, Array.isArray(value) ? { index: Number(key) } : { name: key }]);
  }
}

test("finds each part of a value, with any whitespace", () => {
  assertProperty(
    property(jsonValue({ maxDepth: 4 }), constantFrom(0, 1, "\t"), (value, space) => {
      const text = JSON.stringify(value, null, space);
      const read: unknown = JSON.parse(text);
      for (const [steps, there] of placesIn(read)) {
        const part = jsonPart(text, steps);
        assert.ok(part !== null, text);
        assert.deepEqual(JSON.parse(part), there);
        assert.equal(jsonPart(text, [...steps, { name: "\0 none" }]), null);
        assert.equal(jsonPart(text, [...steps, { index: 1000 }]), null);
      }
    }),
    searching(300),
  );
});

test("keeps all digits of numbers, and handles escapes and brackets in strings", () => {
  const text = String.raw`{"a\\": "]}\"", "\u0062": [1.0, "\\", [], 12345678901234567890 ], "c": {}}`;
  assert.equal(jsonPart(text, [{ name: "b" }, { index: 0 }]), "1.0");
  assert.equal(jsonPart(text, [{ name: "b" }, { index: 3 }]), "12345678901234567890");
  assert.equal(jsonPart(text, [{ name: "b" }, { index: 4 }]), null);
  assert.equal(jsonPart(text, [{ name: "a\\" }]), String.raw`"]}\""`);
  assert.equal(jsonPart(text, [{ name: "c" }]), "{}");
  assert.equal(jsonPart(text, [{ index: 0 }]), null);
});
