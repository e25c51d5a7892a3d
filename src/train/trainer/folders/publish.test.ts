// Tests where the files of a published version end up, and that a process publishes only if it still owns the job.
import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { present } from "../../../base/domain/assert.ts";

/**
 * Lets a child process publish version 1, which another process has already published. Returns the child's message and
 * the files that are in the folder afterwards.
 */
async function publishAsChild(t: TestContext, parent: "kept" | "lost"): Promise<readonly unknown[]> {
  const dataFolder = mkdtempSync(join(tmpdir(), "hone-publish-"));
  t.after(() => rmSync(dataFolder, { recursive: true }));
  const folder = join(dataFolder, "adapters/m/1");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "adapter_model.safetensors"), "of its successor");
  const script = fileURLToPath(new URL("../testing/publishing-child.js", import.meta.url));
  const child = fork(script, [dataFolder, parent], { stdio: ["ignore", "pipe", "inherit", "ipc"] });
  const said = text(present(child.stdout, "the child's output"));
  if (parent === "lost") {
    await once(child, "message");
    child.disconnect();
  }
  const ending = await said;
  const lying = readFileSync(join(folder, "adapter_model.safetensors"), "utf8");
  const unfinished = readdirSync(join(dataFolder, "work/server"));
  return [ending, lying, readdirSync(join(dataFolder, "adapters/m")), unfinished];
}

test("a training process whose server died publishes nothing and leaves nothing next to its successor's files", async (t) => {
  assert.deepEqual(await publishAsChild(t, "lost"), ["cancelled", "of its successor", ["1"], []]);
});

test("a training process that has its server replaces what a lost attempt left", async (t) => {
  assert.deepEqual(await publishAsChild(t, "kept"), ["published", "of an orphan", ["1"], []]);
});
