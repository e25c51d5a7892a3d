// A short run of mutated requests; bench/fuzz.ts does long ones.
import assert from "node:assert/strict";
import { test } from "node:test";
import { freshSeed } from "../src/domain/random.ts";
import { fuzz } from "./fuzz/run-fuzz.ts";

test("whatever is sent, every request is answered, and none with a fault of the server", async (t) => {
  const seed = Number(process.env["TEST_SEED"] ?? freshSeed());
  t.diagnostic(`TEST_SEED=${seed}`);
  const report = await fuzz({ seed, count: 500 });
  const { failures, logged, idleGauges, residentMebibytes, statuses, seconds } = report;
  t.diagnostic(JSON.stringify({ statuses, seconds, residentMebibytes }));
  assert.deepEqual({ failures, logged }, { failures: [], logged: [] });
  assert.ok(idleGauges.length > 4, "what was counted is counted out");
  assert.ok((residentMebibytes.at(-1) ?? Infinity) < 600, "memory is bounded");
  for (const status of ["200", "400", "401", "404", "405", "415", "422"])
    assert.ok((statuses[status] ?? 0) > 0, `${status} never came`);
});
