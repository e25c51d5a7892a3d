// Tests a base model whose weights change under the same name, for example because its file was replaced. Chats and
// jobs with versions trained on the earlier weights are refused until an operator accepts the new weights.
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Hone } from "../src/apps/client/hone.ts";
import { readSafetensorsFolder } from "../src/lib/model-files/safetensors.ts";
import { readFloats } from "../src/lib/model-files/stored-tensor.ts";
import { writeSafetensors } from "../src/lib/model-files/write-safetensors.ts";
import {
  call,
  eventually,
  newDataFolder,
  removeDataFolder,
  startServer,
  type RunningServer,
} from "./running-server.ts";
import { finish, registerModel, submitJob } from "./served-jobs.ts";

const scratch = mkdtempSync(join(tmpdir(), "hone-base-"));
after(() => rmSync(scratch, { recursive: true }));

const base = join(scratch, "base");
cpSync("test/fixtures/small-model", base, { recursive: true, dereference: true });
const weightsFile = join(base, "model.safetensors");
const flags = ["--model", `tiny=${base}`, "--built-in-model", "off"];
flags.push("--engine-threads", "1");
const limits = { jobs: { backoffMs: 100 } };

function changeWeights(): void {
  const tensors = [...readSafetensorsFolder(base).values()].map((tensor) => ({
    name: tensor.name,
    shape: tensor.shape,
    data: readFloats(tensor).map((value) => value * 1.01),
  }));
  writeSafetensors(weightsFile, tensors, { type: "F32" });
}

function weightsHash(): string {
  return createHash("sha256").update(readFileSync(weightsFile)).digest("hex");
}

function chat(server: RunningServer, model: string) {
  const body = { model, messages: [{ role: "user", content: "hi" }], max_tokens: 4, temperature: 0 };
  return call(server, "POST", "/v1/chat/completions", { body });
}

test("if a base model's weights change, chats refuse its versions and jobs wait until the new weights are accepted", async () => {
  const dataFolder = newDataFolder();
  let server = await startServer({ dataFolder, flags, limits });
  try {
    const modelId = await registerModel(server, "m");
    await finish(server, await submitJob(server, modelId, 1));
    const before = weightsHash();
    const fine = await chat(server, "p/m");
    assert.equal(fine.status, 200);
    assert.ok(fine.body.system_fingerprint.startsWith(`tiny#${before.slice(0, 12)}@${modelId}:step1+`));
    const read = await call(server, "GET", `/v1/preview/models/${modelId}/checkpoints/1`);
    assert.equal(read.body.base_hash, before);
    const adapter = join(dataFolder, "adapters", modelId, "1", "adapter_config.json");
    assert.equal(JSON.parse(readFileSync(adapter, "utf8")).base_model_sha256, before);

    await server.terminate();
    changeWeights();
    const now = weightsHash();
    server = await startServer({ dataFolder, flags, limits });
    const refused = await chat(server, "p/m");
    assert.equal(refused.status, 409);
    for (const said of ['Version 1 of the model "p/m"', before.slice(0, 12), now.slice(0, 12)])
      assert.ok(refused.body.error.message.includes(said), refused.body.error.message);
    assert.deepEqual(refused.body.detail[0].loc, ["body", "model"]);
    const { status, body } = await call(server, "GET", "/v1/system-check");
    assert.equal(status, 503);
    assert.ok(body.bases.startsWith(`${modelId}:step1 (tiny)`), body.bases);
    assert.equal((await chat(server, "p/m:step0")).status, 200, "version 0 is the base itself");
    assert.equal((await call(server, "GET", "/v1/models/p%2Fm")).status, 200, "it can be described");

    const answer = await chat(server, "p/m:step0");
    const trajectories = [1, 0].map((reward) => ({
      messages_and_choices: [{ role: "user", content: "hi" }, answer.body.choices[0]],
      reward,
    }));
    const job = await call(server, "POST", "/v1/preview/training-jobs", {
      body: { model_id: modelId, trajectory_groups: [{ trajectories }] },
    });
    assert.equal(job.status, 200, JSON.stringify(job.body));
    const waitingFor = await eventually("the job waits", async () => {
      const found = await call(server, "GET", `/v1/preview/training-jobs/${job.body.id}`);
      return found.body.waiting_for;
    });
    assert.match(waitingFor, /^Version 1, which the job starts from, was trained over other weights/);

    const client = new Hone({ baseUrl: server.url, apiKey: server.apiKey });
    assert.deepEqual(await client.models.acceptBase(modelId), {
      model_id: modelId,
      base_model: "tiny",
      base_hash: now,
      accepted_steps: [1],
    });
    assert.equal((await chat(server, "p/m:step1")).status, 200);
    await finish(server, job.body.id);
    const { body: versions } = await call(server, "GET", `/v1/preview/models/${modelId}/checkpoints`);
    assert.deepEqual(
      versions.data.map((version: { base_hash: string | null }) => version.base_hash),
      [null, now, now],
    );
  } finally {
    await server.terminate();
    removeDataFolder(dataFolder);
  }
});
