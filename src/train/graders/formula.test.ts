import assert from "node:assert/strict";
import { test } from "node:test";
import { parseFormula } from "./formula.ts";

const values = { accuracy: 0.5, style_2: 3 };
const compute = (text: string): number => parseFormula(text, Object.keys(values))(values);

test("computes formulas with the usual precedence and OpenAI's functions", () => {
  const table: readonly (readonly [string, number])[] = [
    ["0.8 * accuracy + 0.2 * style_2", 1],
    ["-2^2 + 2**3^2", 508],
    ["2^-1", 0.5],
    ["(1 + 2) * -3 / 4", -2.25],
    ["1 - 2 - 3", -4],
    ["8 / 4 / 2", 1],
    ["min(accuracy, 2, style_2) + max(1, -1)", 1.5],
    ["abs(-3) + floor(1.7) + ceil(1.2) + sqrt(16) + log(exp(2))", 12],
    [" 1e2 +.5 ", 100.5],
  ];
  for (const [text, result] of table) assert.ok(Math.abs(compute(text) - result) < 1e-12, text);
});

test("refuses everything that is no formula, and names the fault", () => {
  const table: readonly (readonly [string, RegExp])[] = [
    ["", /ends too early/],
    ["1 +", /ends too early/],
    ["1 2", /unexpected "2", at character 3/],
    ["other", /uses "other"; the graders are accuracy, style_2/],
    ["constructor(1)", /calls "constructor"/],
    ["abs(1, 2)", /takes one value/],
    ["accuracy.x", /unexpected ".x"/],
    [`${"(".repeat(65)}1${")".repeat(65)}`, /deeper than 64/],
    ["-".repeat(100) + "1", /deeper than 64/],
    [`1${" ".repeat(4096)}`, /at most 4096/],
  ];
  for (const [text, fault] of table) assert.throws(() => compute(text), fault, text);
});
