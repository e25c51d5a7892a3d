// Tests that the same requests give the same adapter, byte for byte. Compares with another server (with other ids, at
// another time), and with a server that crashes and is restarted with other settings.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { inProof } from "../src/base/domain/testing/search.ts";
import { Hone } from "../src/apps/client/hone.ts";
import {
  call,
  eventually,
  newDataFolder,
  removeDataFolder,
  startServer,
  type RunningServer,
} from "./running-server.ts";
import { model } from "./served-jobs.ts";

// With two threads, the parts of a sum could be added in any order. Jobs do not pin the number of threads.
const twoThreads = [...model, "--engine-threads", "2"];
const flags = [...twoThreads, "--training-batch-tokens", "40"];

function clientOf(server: RunningServer): Hone {
  return new Hone({ baseUrl: server.url, apiKey: server.apiKey });
}

/** Makes rollouts and submits a job with them. Every request depends only on `step`. */
async function submit(server: RunningServer, modelId: string, step: number): Promise<string> {
  const client = clientOf(server);
  const rollOut = async (index: number) => {
    const messages = [{ role: "user", content: `question ${index} of step ${step}` }];
    const request = { model: modelId, messages, n: 4, max_tokens: 30, temperature: 1, seed: index };
    const { choices } = await client.chat.create(request);
    return {
      trajectories: choices.map((choice, place) => ({
        messages_and_choices: [...messages, choice],
        reward: (place * 7 + index) % 4,
      })),
    };
  };
  const groups = await Promise.all([0, 1, 2, 3, 4].map(rollOut));
  const { id } = await client.jobs.create({
    model_id: modelId,
    trajectory_groups: groups,
    experimental_config: { learning_rate: 0.01 },
  });
  return id;
}

/** Submits a supervised job, which shuffles its data. */
async function teach(server: RunningServer, modelId: string): Promise<string> {
  const examples = [0, 1, 2, 3, 4].map((index) => ({
    messages: [
      { role: "user", content: `question ${index}` },
      { role: "assistant", content: `answer ${index}` },
    ],
  }));
  const config = { learning_rate: 0.01, epochs: 2 };
  const { jobs } = clientOf(server);
  return (await jobs.createSupervised({ model_id: modelId, training_data: examples, config })).id;
}

async function register(server: RunningServer): Promise<string> {
  return (await clientOf(server).models.create({ project: "p", name: "m", base_model: "tiny" })).id;
}

function hashesOf(server: RunningServer, modelId: string, step: number): readonly string[] {
  return ["adapter_model.safetensors", "optimizer.safetensors"].map((file) =>
    createHash("sha256")
      .update(readFileSync(join(server.dataFolder, "adapters", modelId, String(step), file)))
      .digest("hex"),
  );
}

/** Returns the hashes of two versions that a new server trains. A supervised job trains the second one. */
async function hashesOfFreshServer(): Promise<readonly string[]> {
  const dataFolder = newDataFolder();
  const server = await startServer({ dataFolder, flags });
  try {
    const modelId = await register(server);
    const hashes: string[] = [];
    await clientOf(server).jobs.wait(await submit(server, modelId, 1));
    // Reads the files before the next job, because only the newest version keeps its optimizer state.
    hashes.push(...hashesOf(server, modelId, 1));
    const jobId = await teach(server, modelId);
    await clientOf(server).jobs.wait(jobId);
    const { warnings } = await clientOf(server).jobs.get(jobId);
    assert.match(warnings[0], /fresh optimizer: the version was made by a job of kind rl/);
    return [...hashes, ...hashesOf(server, modelId, 2)];
  } finally {
    await server.terminate();
    removeDataFolder(dataFolder);
  }
}

let undisturbed: Promise<readonly string[]> | undefined;
/** Returns the hashes with which every test compares its own; computed once. */
const hashesUndisturbed = (): Promise<readonly string[]> => (undisturbed ??= hashesOfFreshServer());

test("the same requests on two fresh servers give the same adapter bytes", inProof, async () => {
  const expected = await hashesUndisturbed();
  assert.deepEqual(await hashesOfFreshServer(), expected);
  assert.equal(new Set(expected).size, 4);
});

test(
  "a job interrupted by a crash keeps its steps, with any settings after the restart",
  inProof,
  async (t) => {
    const expected = (await hashesUndisturbed()).slice(0, 2);
    const dataFolder = newDataFolder();
    const crashing = await startServer({ dataFolder, flags });
    t.after(async () => {
      await crashing.kill();
      removeDataFolder(dataFolder);
    });
    const modelId = await register(crashing);
    const jobId = await submit(crashing, modelId, 1);
    await eventually("a gradient step", async () => {
      const { body } = await call(crashing, "GET", `/v1/preview/training-jobs/${jobId}/events`);
      return body.data.some((event: { type: string }) => event.type === "gradient_step") ? true : null;
    });
    await crashing.kill();
    const changed = ["--training-batch-tokens", "4096", "--training-lora-rank", "3"];
    const restarted = await startServer({ dataFolder, flags: [...twoThreads, ...changed] });
    try {
      await clientOf(restarted).jobs.wait(jobId);
      assert.deepEqual(hashesOf(restarted, modelId, 1), expected);
    } finally {
      await restarted.terminate();
    }
  },
);
