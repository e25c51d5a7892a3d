// A short run of mutated requests; tools/bench/fuzz.ts does long runs with more detailed reports.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fuzz } from "./fuzz/run-fuzz.ts";
import { searchCount, searchSeed } from "../src/base/domain/testing/search.ts";

test("answers every mutated request, and never with an internal error", async (t) => {
  const report = await fuzz({ seed: searchSeed, count: searchCount(120) });
  const { failures, logged, idleGauges, residentMebibytes, statuses, seconds } = report;
  t.diagnostic(JSON.stringify({ statuses, seconds, residentMebibytes }));
  assert.deepEqual({ failures, logged }, { failures: [], logged: [] });
  assert.ok(idleGauges.length > 4, "what was counted is counted out");
  assert.ok((residentMebibytes.at(-1) ?? Infinity) < 600, "memory is bounded");
  for (const status of ["200", "400", "401", "404", "405", "415", "422"])
    assert.ok((statuses[status] ?? 0) > 0, `${status} never came`);
});
