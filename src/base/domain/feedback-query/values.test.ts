// Tests how queries interpret texts, numbers, paths and sort orders.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { searching } from "../testing/search.ts";
import { pathSteps, pathText } from "./feedback-field.ts";
import { timeOf } from "./time-literals.ts";
import { compareTexts, numberOfText, searchableText } from "./values.ts";

/** Texts of any code units, including unpaired surrogates. */
const anyText = fc.string({
  unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
});

test("orders texts by their UTF-8 bytes", () => {
  const texts = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom("\u{1f44d}", "\uffff", "\ud7ff", "é", ""),
  );
  fc.assert(
    fc.property(texts, texts, (a, b) => {
      const [first, second] = [searchableText(a), searchableText(b)];
      const expected = Buffer.compare(Buffer.from(first), Buffer.from(second));
      assert.equal(Math.sign(compareTexts(first, second)), expected);
    }),
    searching(300),
  );
});

test("makes every text representable in UTF-8", () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const searchable = searchableText(text);
      assert.equal(Buffer.from(searchable).toString(), searchable);
      assert.ok(!searchable.includes("\0"));
    }),
    searching(200),
  );
});

test("reads back the JSON of every number, and no other text as a number", () => {
  const longest = -0.0000010978034039405431;
  assert.equal(numberOfText(JSON.stringify(longest)), longest);
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
      assert.equal(numberOfText(JSON.stringify(number)), number + 0);
    }),
    searching(300),
  );
  for (const text of [
    "",
    " 1",
    "1 ",
    "+1",
    ".5",
    "1.",
    "01",
    "0x10",
    "1e999",
    "Infinity",
    "NaN",
    "1_0",
    "１",
    "[1]",
  ])
    assert.equal(numberOfText(text), null, text);
});

test("reads back the steps of a written path", () => {
  const step = fc.oneof(
    fc.nat({ max: 1 << 20 }),
    fc.string().filter((name) => !name.includes("\\")),
  );
  fc.assert(
    fc.property(fc.array(step, { minLength: 1 }), (steps) => {
      assert.deepEqual(pathSteps(pathText(steps)), steps);
    }),
    searching(300),
  );
  assert.deepEqual(pathSteps("a.0.b\\.c.\\0.007.-1.a\\b"), ["a", 0, "b.c", "0", "007", "-1", "a\\b"]);
  assert.equal(pathSteps("a.1048577"), null);
});

test("reads times in every notation as UTC", () => {
  const at = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
  for (const [literal, expected] of [
    ["2026-01-02T03:04:05.678Z", at],
    ["2026-01-02 03:04:05.678", at],
    ["2026-01-02T05:04:05.678+02:00", at],
    ["2026-01-02T01:04:05.678-0200", at],
    ["2026-01-02T03:04:05.678123Z", at + 0.123],
    ["2026-01-02", Date.UTC(2026, 0, 2)],
    ["2026-01-02T03:04", Date.UTC(2026, 0, 2, 3, 4)],
    ["0000-01-01", Date.parse("0000-01-01T00:00:00Z")],
    [at / 1000, at],
    [0, 0],
  ] as const)
    assert.equal(timeOf(literal), expected, String(literal));
  for (const literal of [
    "2026-02-30",
    "2026-13-01",
    "2026-1-2",
    "2026-01-02T24:00",
    "12:00",
    "",
    "0",
    1e12,
    -1e12,
    true,
  ])
    assert.equal(timeOf(literal), null, String(literal));
});
