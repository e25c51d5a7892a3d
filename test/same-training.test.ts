// The same requests give the same adapter, byte for byte: on another server with other ids at another time, and after a
// crash on a server that was started again with other settings.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { HoneClient } from "../src/client/hone-client.ts";
import {
  call,
  eventually,
  newDataFolder,
  removeDataFolder,
  startServer,
  type RunningServer,
} from "./running-server.ts";

const flags = ["--model", "tiny=test/fixtures/goldens/models/qwen3", "--training-batch-tokens", "100"];

async function freshServer(t: TestContext): Promise<RunningServer> {
  const dataFolder = newDataFolder();
  const server = await startServer({ dataFolder, flags });
  t.after(async () => {
    await server.terminate();
    removeDataFolder(dataFolder);
  });
  return server;
}

function clientOf(server: RunningServer): HoneClient {
  return new HoneClient({ baseUrl: server.url, apiKey: server.apiKey });
}

/** Rolls out and submits a job; everything that is asked depends on the step alone. */
async function submit(server: RunningServer, modelId: string, step: number): Promise<string> {
  const client = clientOf(server);
  const groups = [];
  for (const index of [0, 1, 2, 3, 4, 5]) {
    const messages = [{ role: "user", content: `question ${index} of step ${step}` }];
    const request = { model: modelId, messages, n: 4, max_tokens: 60, temperature: 1, seed: index };
    const { choices } = await client.chat(request);
    groups.push({
      trajectories: choices.map((choice, place) => ({
        messages_and_choices: [...messages, choice],
        reward: (place * 7 + index) % 4,
      })),
    });
  }
  return client.createTrainingJob({
    model_id: modelId,
    trajectory_groups: groups,
    experimental_config: { learning_rate: 0.01 },
  });
}

/** Submits a supervised job, which shuffles. */
function teach(server: RunningServer, modelId: string): Promise<string> {
  const examples = [0, 1, 2, 3, 4].map((index) => ({
    messages: [
      { role: "user", content: `question ${index}` },
      { role: "assistant", content: `answer ${index}` },
    ],
  }));
  const config = { learning_rate: 0.01, epochs: 2 };
  return clientOf(server).createSupervisedJob({ model_id: modelId, training_data: examples, config });
}

async function register(server: RunningServer): Promise<string> {
  return (await clientOf(server).registerModel({ project: "p", name: "m", base_model: "tiny" })).id;
}

function hashesOf(server: RunningServer, modelId: string, step: number): readonly string[] {
  return ["adapter_model.safetensors", "optimizer.safetensors"].map((file) =>
    createHash("sha256")
      .update(readFileSync(join(server.dataFolder, "adapters", modelId, String(step), file)))
      .digest("hex"),
  );
}

test("the same requests on two fresh servers give the same adapter bytes", async (t) => {
  const outcomes: (readonly string[])[] = [];
  for (let each = 0; each < 2; each++) {
    const server = await freshServer(t);
    const modelId = await register(server);
    const hashes: string[] = [];
    for (const step of [1, 2]) {
      await clientOf(server).waitForTrainingJob(await submit(server, modelId, step));
      // Only the newest version keeps its optimizer's state.
      hashes.push(...hashesOf(server, modelId, step));
    }
    const jobId = await teach(server, modelId);
    await clientOf(server).waitForTrainingJob(jobId);
    const { warnings } = await clientOf(server).findTrainingJob(jobId);
    assert.match(warnings[0], /fresh optimizer: the version was made by a job of kind rl/);
    hashes.push(...hashesOf(server, modelId, 3));
    outcomes.push(hashes);
  }
  assert.deepEqual(outcomes[1], outcomes[0]);
  assert.equal(new Set(outcomes[0]).size, 6);
});

test("a job that a crash interrupted keeps its steps, whatever the settings are after the restart", async (t) => {
  const undisturbed = await freshServer(t);
  const expectedId = await register(undisturbed);
  await clientOf(undisturbed).waitForTrainingJob(await submit(undisturbed, expectedId, 1));
  const crashing = await freshServer(t);
  const modelId = await register(crashing);
  const jobId = await submit(crashing, modelId, 1);
  await eventually("a gradient step", async () => {
    const { body } = await call(crashing, "GET", `/v1/preview/training-jobs/${jobId}/events`);
    return body.data.some((event: { type: string }) => event.type === "gradient_step") ? true : null;
  });
  await crashing.kill();
  const { dataFolder } = crashing;
  const changed = ["--training-batch-tokens", "4096", "--training-lora-rank", "3"];
  const restarted = await startServer({ dataFolder, flags: [...flags.slice(0, 2), ...changed] });
  try {
    await clientOf(restarted).waitForTrainingJob(jobId);
    assert.deepEqual(hashesOf(restarted, modelId, 1), hashesOf(undisturbed, expectedId, 1));
  } finally {
    await restarted.terminate();
  }
});
