// Tests the system check of a running server that has broken or missing parts, and how features behave that depend on
// them. full-disk.test.ts covers full disks.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, rmSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  call,
  eventually,
  newDataFolder,
  removeDataFolder,
  serverOfFile,
  startServer,
  type RunningServer,
} from "./running-server.ts";
import { finish, model, registerModel, submitJob } from "./served-jobs.ts";

const serverOfTests = serverOfFile({ flags: model });

const systemCheck = (server: RunningServer) => call(server, "GET", "/v1/system-check");
const chat = (server: RunningServer, name: string) =>
  call(server, "POST", "/v1/chat/completions", {
    body: { model: name, messages: [{ role: "user", content: "hi" }], max_tokens: 2 },
  });

/** Returns for each version its step and whether it has an optimizer state. */
async function checkpointsOf(server: RunningServer, modelId: string): Promise<unknown> {
  const { body } = await call(server, "GET", `/v1/preview/models/${modelId}/checkpoints`);
  return body.data.map((item: { step: number; has_optimizer_state: boolean }) => [
    item.step,
    item.has_optimizer_state,
  ]);
}

test("only the newest version keeps its optimizer state, and a job that starts without one says so", async () => {
  const server = serverOfTests();
  const modelId = await registerModel(server, "kept");
  const fileOf = (step: number, name: string): string =>
    join(server.dataFolder, "adapters", modelId, `${step}`, name);
  for (let job = 0; job < 2; job++) await finish(server, await submitJob(server, modelId, 1));
  await eventually("the older state is gone", async () =>
    JSON.stringify(await checkpointsOf(server, modelId)).includes("[1,true]") ? null : true,
  );
  assert.ok(!existsSync(fileOf(1, "optimizer.safetensors")));
  assert.ok(existsSync(fileOf(1, "adapter_model.safetensors")));
  assert.ok(existsSync(fileOf(2, "optimizer.safetensors")));
  assert.deepEqual(await checkpointsOf(server, modelId), [
    [0, false],
    [1, false],
    [2, true],
  ]);
  await call(server, "DELETE", `/v1/preview/models/${modelId}/checkpoints`, { body: { steps: [2] } });
  const jobId = await submitJob(server, modelId, 1);
  await finish(server, jobId);
  const { body: job } = await call(server, "GET", `/v1/preview/training-jobs/${jobId}`);
  assert.match(job.warnings.join(), /fresh optimizer/);
  assert.deepEqual(await checkpointsOf(server, modelId), [
    [0, false],
    [1, false],
    [3, true],
  ]);
});

test("an unreadable adapter is named by the system check and by chats that need it, without internals", async () => {
  const server = serverOfTests();
  const { dataFolder } = server;
  const trained = await registerModel(server, "whole");
  await finish(server, await submitJob(server, trained, 1));
  // Uses a copy of the model, because the engine still has the version just trained in memory.
  const copy = { project: "p", name: "cut", base_model: "tiny", from: { model: "p/whole" } };
  const { id: modelId } = (await call(server, "POST", "/v1/preview/models", { body: copy })).body;
  for (const id of [trained, modelId])
    truncateSync(join(dataFolder, "adapters", id, "1", "adapter_model.safetensors"), 100);
  assert.equal((await chat(server, "p/whole")).status, 200, "it was prepared before it was the newest");
  const red = await systemCheck(server);
  assert.equal(red.status, 503);
  assert.match(red.body.adapters, new RegExp(`${modelId}:step1`));
  const failed = await chat(server, "p/cut");
  assert.equal(failed.status, 409);
  assert.match(
    failed.body.error.message,
    /^Version 1 of the model "p\/cut" cannot be used\. The adapter on disk/,
  );
  for (const body of [red.body, failed.body]) assert.ok(!JSON.stringify(body).includes(dataFolder));
  assert.equal((await chat(server, "p/cut:step0")).status, 200);
});

test("the system check names adapters that are missing in the database, as after a loss of recent data", async () => {
  const dataFolder = newDataFolder();
  const adapter = join(dataFolder, "adapters", "lost", "1");
  const lostJob = join(dataFolder, "jobs", "lost");
  for (const folder of [adapter, lostJob]) mkdirSync(folder, { recursive: true });
  const server = await startServer({ dataFolder, flags: model });
  try {
    const { status, body } = await systemCheck(server);
    assert.equal(status, 503);
    assert.match(body.data_folder, /the database does not know adapters\/lost\/1\./);
    assert.deepEqual([existsSync(adapter), existsSync(lostJob)], [true, false], "a job's is of no use alone");
    rmSync(adapter, { recursive: true });
    assert.equal((await systemCheck(server)).status, 200);
  } finally {
    await server.terminate();
    removeDataFolder(dataFolder);
  }
});
