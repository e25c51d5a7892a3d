import assert from "node:assert/strict";
import { test } from "node:test";
import { bodyLimits, httpSettings } from "../http/settings.ts";
import { readLog } from "./read-log.ts";

const limits = bodyLimits(httpSettings.with());

const splitOf = (split: unknown): string =>
  readLog(Buffer.from(JSON.stringify({ split, trajectory_groups: [] })), limits).split;

test("accepts a split of 1 to 128 characters, and defaults to val", () => {
  for (const split of ["a", "x".repeat(128)]) assert.equal(splitOf(split), split);
  for (const split of [undefined, null]) assert.equal(splitOf(split), "val");
  for (const split of ["", "x".repeat(129), "a\u0000", "\ud800", 1])
    assert.throws(() => splitOf(split), { code: "invalid" }, JSON.stringify(split));
});
