import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { explainSkip } from "./skip-reasons.ts";

test("explains each reason in docs/concepts/training.md", () => {
  const [, section = ""] = readFileSync("docs/concepts/training.md", "utf8").split("## Skipped data\n");
  const [table = ""] = section.split("\n## ");
  const reasons = [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, reason = ""]) => reason);
  assert.ok(reasons.length >= 9);
  assert.deepEqual(
    reasons.filter((reason) => explainSkip(reason) === reason.replaceAll("_", " ")),
    [],
  );
  assert.equal(explainSkip("of_tomorrow"), "of tomorrow");
});
