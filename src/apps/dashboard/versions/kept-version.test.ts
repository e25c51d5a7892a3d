// Tests of the reasons for which the server keeps a version.
import assert from "node:assert/strict";
import { test } from "node:test";
import { keptReason } from "./kept-version.ts";

test("explains why a version was not deleted", () => {
  const nothing = { pinned_steps: [], in_use_steps: [] };
  assert.equal(keptReason(nothing, 3), null);
  assert.match(keptReason({ ...nothing, pinned_steps: [3] }, 3) ?? "", /Version 3 is pinned/);
  assert.match(keptReason({ ...nothing, in_use_steps: [3] }, 3) ?? "", /Version 3 is in use/);
});
