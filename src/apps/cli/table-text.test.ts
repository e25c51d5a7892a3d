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
  assert.equal(tableText(jobs, width), lines.map((line) => `${line}\n`).join(""));
};

test("what reads a table of any width gets every value whole", () => {
  check(Infinity, [
    "id                                    model           state    left  error",
    "019a7c11-0000-7000-8000-000000000001  games/spelling  failed   -     The disk was full for too long, and so on.",
    "019b0000-0000-7000-8000-000000000002  p/a             running  -     -",
  ]);
});

test("a narrow terminal gets no empty columns, ids that still name something, and then texts that are cut", () => {
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

test("no line is longer than the terminal as long as each column has room for ten characters", () => {
  for (let width = 46; width < 120; width++)
    assert.ok(
      tableText(jobs, width)
        .split("\n")
        .every((line) => line.length <= width),
      `${width}`,
    );
});

test("times lose their seconds before texts are cut", () => {
  assert.equal(
    tableText(
      [
        ["name", "created_at"],
        ["a", "2026-01-02T03:04:05.678Z"],
      ],
      25,
    ),
    "name  created_at\na     2026-01-02 03:04\n",
  );
});
