import assert from "node:assert/strict";
import { test } from "node:test";
import type { Fault } from "../../../base/domain/service-error.ts";
import { readMetricCondition } from "./metric-condition.ts";

test("reads the name, the comparison and the number of a condition", () => {
  const cases = [
    ["speed>=0.5", "speed", ">=", 0.5],
    ["right=1", "right", "=", 1],
    ["val/loss <-1e-3", "val/loss", "<", -0.001],
    ["a=b>=2", "a=b", ">=", 2],
    ["سرعة>.5", "سرعة", ">", 0.5],
  ] as const;
  for (const [text, name, comparison, value] of cases)
    assert.deepEqual(readMetricCondition(text, []), { name, comparison, value }, text);
});

test("refuses a condition without a name, a comparison or a finite number", () => {
  for (const text of ["speed", ">=1", "speed>=", "speed>=fast", "speed>=1e999", "speed>=0x10"]) {
    const faults: Fault[] = [];
    assert.equal(readMetricCondition(text, faults), null, text);
    assert.match(faults[0]?.message ?? "", /such as speed>=0\.5/);
  }
});
