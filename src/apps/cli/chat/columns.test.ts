// Tests of side-by-side answers in several scripts and terminal widths.
import assert from "node:assert/strict";
import { test } from "node:test";
import { columnsFit, renderColumns } from "./columns.ts";
import { displayWidth, printable, wrapped } from "./display-width.ts";

test("counts wide characters and emoji as two cells", () => {
  for (const [text, width] of [
    ["abc", 3],
    ["日本語", 6],
    ["e\u0301", 1],
    ["👩‍👩‍👧", 2],
    ["✌️", 2],
    ["한글", 4],
    ["", 0],
  ] as const)
    assert.equal(displayWidth(text), width, text);
});

test("breaks lines at spaces, and breaks a word only if it is longer than a line", () => {
  assert.deepEqual(wrapped("one two three", 8), ["one two", "three"]);
  assert.deepEqual(wrapped("a\n\nbc", 8), ["a", "", "bc"]);
  assert.deepEqual(wrapped("abcdefgh ij", 4), ["abcd", "efgh", "ij"]);
  assert.deepEqual(wrapped("日本語です", 5), ["日本", "語で", "す"]);
  for (const width of [2, 5, 11])
    for (const line of wrapped("Ein längerer Satz 日本語 👩‍👩‍👧 with everything", width))
      assert.ok(displayWidth(line) <= width, `${width}: ${line}`);
});

test("removes terminal control codes", () => {
  assert.equal(printable("a\u001b[2Jb\u0007\tc\r\nd"), "a[2Jb    c\nd");
});

const answers = [
  { model: "p/m:step3", text: "Paris is the capital of France.", end: "stop, 0.4 s" },
  { model: "p/m:step5", text: "It is Paris.", end: null },
];

test("shows the model above each column and the finish reason below", () => {
  assert.deepEqual(renderColumns(answers, { columns: 60, rows: 20 }), [
    "p/m:step3                    │ p/m:step5",
    "─────────────────────────────┼─────────────────────────────".slice(0, 28) + "─┼─" + "─".repeat(28),
    "Paris is the capital of      │ It is Paris.",
    "France.                      │",
    "(stop, 0.4 s)                │ …",
  ]);
});

test("shows the end of a text that has more lines than the terminal", () => {
  const long = [{ model: "a", text: "1\n2\n3\n4\n5\n6", end: null }];
  assert.deepEqual(renderColumns(long, { columns: 30, rows: 5 }).slice(2), ["5", "6", "…"]);
  assert.equal(renderColumns(long, { columns: 30, rows: Infinity }).length, 9);
});

test("reports that columns would be too narrow", () => {
  assert.deepEqual(
    [columnsFit(2, 80), columnsFit(3, 80), columnsFit(4, 80), columnsFit(2, 0)],
    [true, true, false, false],
  );
});
