// Tests that a server can train a finished job again for comparison, as `hone jobs replay` requests.
import assert from "node:assert/strict";
import { openSync, closeSync, readFileSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { commandProcess, type Ended } from "../src/apps/cli/testing/command-process.ts";
import { call, serverOfFile } from "./running-server.ts";
import { finish, model, registerModel, stepsOf, submitJob } from "./served-jobs.ts";

const server = serverOfFile({ flags: model });
const run = commandProcess();

/** Runs `hone jobs replay` until it ends. */
function replay(jobId: string, ...flags: readonly string[]): Promise<Ended> {
  const { url, apiKey } = server();
  return run(["jobs", "replay", jobId, "--url", url, "--key", apiKey, ...flags]);
}

/** Flips one bit of the last number in a version's adapter. */
function damage(modelId: string, step: number): void {
  const file = join(server().dataFolder, "adapters", modelId, `${step}`, "adapter_model.safetensors");
  const last = readFileSync(file)[statSync(file).size - 4];
  const descriptor = openSync(file, "r+");
  writeSync(descriptor, Uint8Array.of(last ^ 1), 0, 1, statSync(file).size - 4);
  closeSync(descriptor);
}

test("replaying a job reproduces its version byte for byte, even if the earlier optimizer state no longer exists, and adds no version", async () => {
  const modelId = await registerModel(server(), "replayed");
  const jobIds: string[] = [];
  for (const groupCount of [1, 2, 1]) {
    jobIds.push(await submitJob(server(), modelId, groupCount));
    await finish(server(), jobIds.at(-1) ?? "");
  }
  const [first = "", second = "", third = ""] = jobIds;
  const equal = await replay(first);
  assert.equal(equal.status, 0, equal.errors);
  assert.match(
    equal.output,
    /^equal, byte for byte: adapter_config\.json, adapter_model\.safetensors \(\d+ matrices\)/,
  );
  const newest = await replay(third, "--json");
  assert.equal(newest.status, 0, newest.errors);
  const job = JSON.parse(newest.output);
  assert.equal(job.replay_of, third);
  assert.equal(job.result_step, null);
  const { is_equal: isEqual, files, different } = job.replay;
  assert.deepEqual([isEqual, different], [true, 0]);
  assert.deepEqual(files, ["adapter_config.json", "adapter_model.safetensors", "optimizer.safetensors"]);
  assert.deepEqual(await stepsOf(server(), modelId), [0, 1, 2, 3]);

  damage(modelId, 3);
  const changed = await replay(third);
  assert.equal(changed.status, 2, changed.errors);
  assert.match(
    changed.output,
    /^different: 1 of \d+ matrices\n {2}adapter_model\.safetensors \S+: 1 values, by up to \S+\n$/,
  );

  const deleted = await call(server(), "DELETE", `/v1/preview/models/${modelId}/checkpoints`, {
    body: { steps: [1] },
  });
  assert.equal(deleted.status, 200, JSON.stringify(deleted.body));
  const refused = await replay(second);
  assert.equal(refused.status, 1);
  assert.match(refused.errors, /cannot be replayed\. Version 1, which it started from, was deleted/);
});
