import assert from "node:assert/strict";
import { test } from "node:test";
import { extraBackOffMs } from "./back-off.ts";

test("probes a repeatedly failing server ever less often, up to a limit", () => {
  const pauses = [0, 1, 2, 3, 4, 5, 1000].map((count) => extraBackOffMs(1000, count, 0.5));
  assert.deepEqual(pauses, [0, 0, 1000, 3000, 7000, 7000, 7000]);
  assert.deepEqual([extraBackOffMs(1000, 3, 0), extraBackOffMs(1000, 3, 1)], [2250, 3750]);
});
