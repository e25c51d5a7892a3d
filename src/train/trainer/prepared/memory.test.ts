// Tests that the memory needed to prepare a job does not grow with the job's data.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

test("prepares six million tokens and estimates their steps with 64 MB of heap", async () => {
  const script = fileURLToPath(new URL("../testing/prepare-much.js", import.meta.url));
  await assert.doesNotReject(promisify(execFile)(process.execPath, ["--max-old-space-size=64", script]));
});
