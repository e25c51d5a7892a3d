import assert from "node:assert/strict";
import { test } from "node:test";
import { tableText } from "./table-text.ts";

const jobs = [
  ["id", "model", "state", "left", "error"],
  [
    "019a7c11-0000-7000-8000-000000000001",
    "games/spelling",
    "failed",
    "-",
    "The disk was full for too long, and so on.",
  ],
  ["019b0000-0000-7000-8000-000000000002", "p/a", "running", "-", "-"],
];

const check = (width: number, lines: readonly string[]): void => {
  assert.equal(tableText(jobs, width).text, lines.map((line) => `${line}\n`).join(""));
};

test("never cuts values if the output has no width", () => {
  check(Infinity, [
    "id                                    model           state    left  error",
    "019a7c11-0000-7000-8000-000000000001  games/spelling  failed   -     The disk was full for too long, and so on.",
    "019b0000-0000-7000-8000-000000000002  p/a             running  -     -",
  ]);
});

test("fits a narrow terminal by dropping empty columns, then shortening ids, then cutting texts", () => {
  check(85, [
    "id             model           state    error",
    "019a7c11-0000  games/spelling  failed   The disk was full for too long, and so on.",
    "019b0000-0000  p/a             running  -",
  ]);
  check(65, [
    "id             model           state    error",
    "019a7c11-0000  games/spelling  failed   The disk was full for to…",
    "019b0000-0000  p/a             running  -",
  ]);
});

test("keeps lines within the terminal's width if it leaves each column at least ten characters", () => {
  for (let width = 46; width < 120; width++)
    assert.ok(
      tableText(jobs, width)
        .text.split("\n")
        .every((line) => line.length <= width),
      `${width}`,
    );
});

test("removes the seconds of times before it cuts texts", () => {
  assert.equal(
    tableText(
      [
        ["name", "created_at"],
        ["a", "2026-01-02T03:04:05.678Z"],
      ],
      25,
    ).text,
    "name  created_at\na     2026-01-02 03:04\n",
  );
});

test("leaves out the last columns if they do not fit otherwise, and names them", () => {
  const { text, left } = tableText(jobs, 40);
  assert.equal(
    text,
    "id             model           state\n019a7c11-0000  games/spelling  failed\n019b0000-0000  p/a             running\n",
  );
  assert.deepEqual(left, ["error"]);
  assert.equal(tableText(jobs, 5).text, "id\n019a7c11-0000\n019b0000-0000\n");
});

test("measures wide characters in cells", () => {
  const table = [
    ["name", "note"],
    ["日本語の名前", "👍👍👍👍👍👍👍👍"],
    ["b", "x"],
  ];
  const { text } = tableText(table, 24);
  assert.equal(text, "name          note\n日本語の名前  👍👍👍👍…\nb             x\n");
});
