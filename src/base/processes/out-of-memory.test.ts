// Tests with recorded messages that V8 and the C++ library write when memory runs out.
import assert from "node:assert/strict";
import { test } from "node:test";
import { describeOutOfMemory } from "./child-health.ts";

const how = "was ended by SIGABRT";

test("reports a full heap with its size", () => {
  const words = [
    "<--- Last few GCs --->",
    "[20:0x5e]  3801 ms: Mark-Compact 380.1 (413.9) -> 379.0 (414.2) MB, 1.7 / 0.0 ms  (average mu = 0.9) allocation failure",
    "[20:0x5e]  3990 ms: Mark-Compact 399.9 (414.2) -> 397.6 (415.0) MB, 2.2 / 0.0 ms  (average mu = 0.1) allocation failure",
    "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory",
  ].join("\n");
  assert.equal(
    describeOutOfMemory(how, words),
    "ran out of memory (its JavaScript heap, full at 398 MB) and was ended by SIGABRT",
  );
  const short = "FATAL ERROR: invalid table size Allocation failed - JavaScript heap out of memory";
  assert.equal(
    describeOutOfMemory(how, short),
    "ran out of memory (its JavaScript heap) and was ended by SIGABRT",
  );
});

test("reports memory that the system refuses, and nothing else", () => {
  const words =
    "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n";
  assert.equal(describeOutOfMemory(how, words), "ran out of memory and was ended by SIGABRT");
  assert.equal(
    describeOutOfMemory(how, "terminate called after throwing an instance of 'std::logic_error'"),
    null,
  );
  assert.equal(describeOutOfMemory("was ended by SIGKILL", ""), null);
});
