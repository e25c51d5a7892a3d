// Tests a server whose disk is full for a while. Uses a small file system in memory, if this machine lets tests mount
// one.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { zippedTarOfOne } from "../src/lib/archives/testing/hostile-archives.ts";
import { call, eventually, startServer } from "./running-server.ts";
import { finish, firstStep, model, registerModel, submitJob } from "./served-jobs.ts";
import { mountSmallDisk } from "./small-disk.ts";

/** Small training batches, so that a job takes many steps. */
const flags = [...model, "--training-batch-tokens", "250"];

test("a full disk makes writes fail with a clear error and jobs wait, until there is space again", async (t) => {
  const disk = mountSmallDisk(24);
  if (disk === null) return t.skip("nothing can be mounted here");
  t.after(() => disk.remove());
  const dataFolder = join(disk.folder, "data");
  let server = await startServer({ dataFolder, flags });
  try {
    const modelId = await registerModel(server, "m");
    // The archive fits on the disk but its unpacked content does not, so the worker that unpacks it runs out of space.
    const imported = await fetch(`${server.url}/v1/preview/models/${modelId}/checkpoints`, {
      method: "POST",
      headers: { authorization: `Bearer ${server.apiKey}`, "content-type": "application/x-tar" },
      body: Buffer.concat([...zippedTarOfOne("adapter_model.safetensors", 100)]),
    });
    assert.equal(imported.status, 503);
    assert.match(await imported.text(), /disk .* is full/);
    const jobId = await submitJob(server, modelId, 10);
    await firstStep(server, jobId);
    disk.fill();
    const waiting = await eventually("the job waits", async () => {
      const { body } = await call(server, "GET", `/v1/preview/training-jobs/${jobId}`);
      return body.state === "queued" && body.waiting_for !== null ? body : null;
    });
    assert.match(waiting.waiting_for, /disk .* is full/);
    assert.deepEqual([waiting.attempts_lost, waiting.restarts], [0, 0]);
    // The files of the failed attempt have been removed.
    disk.fill();
    const red = await call(server, "GET", "/v1/system-check");
    assert.equal(red.status, 503);
    assert.match(red.body.disk, /full/);
    const chatted = await call(server, "POST", "/v1/chat/completions", {
      body: { model: "p/m", messages: [{ role: "user", content: "hi" }], max_tokens: 4 },
    });
    assert.equal(chatted.status, 200, "what needs no room is served");
    const body = {
      trajectory_groups: [{ trajectories: [{ reward: 1, metadata: { note: "x".repeat(200_000) } }] }],
    };
    // The database still accepts rows that fit into its free pages.
    const refused = await eventually("a log is refused", async () => {
      disk.fill();
      const answer = await call(server, "POST", `/v1/preview/models/${modelId}/log`, { body });
      return answer.status === 200 ? null : answer;
    });
    assert.equal(refused.status, 503);
    assert.match(refused.body.error.message, /disk .* is full/);
    assert.doesNotMatch(server.output(), /cannot rollback/);
    await server.kill();
    await assert.rejects(startServer({ dataFolder, flags }), (error: Error) => {
      const lines = error.message
        .split("\n")
        .filter((line) => line.startsWith("hone:") || /^ +at /.test(line));
      assert.equal(lines.length, 1, error.message);
      assert.match(lines[0] ?? "", /data is full, .* Free space on it, or name a folder on another disk/);
      return true;
    });
    disk.free();
    server = await startServer({ dataFolder, flags });
    assert.equal((await call(server, "GET", "/v1/system-check")).body.disk, "ok");
    await finish(server, jobId);
    const logged = await call(server, "POST", `/v1/preview/models/${modelId}/log`, { body });
    assert.equal(logged.status, 200, JSON.stringify(logged.body));
  } finally {
    await server.terminate();
  }
});
