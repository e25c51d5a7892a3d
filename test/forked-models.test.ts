// Tests that a model forked from another model's version gives the same answers, and continues training as the
// original would.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { commandProcess } from "../src/apps/cli/testing/command-process.ts";
import { Hone } from "../src/apps/client/hone.ts";
import { call, serverOfFile } from "./running-server.ts";
import { finish, model, registerModel, submitJob } from "./served-jobs.ts";

const server = serverOfFile({ flags: model });
const run = commandProcess();

async function answerOf(name: string) {
  const { status, body } = await call(server(), "POST", "/v1/chat/completions", {
    body: {
      model: name,
      messages: [{ role: "user", content: "hi" }],
      max_tokens: 8,
      temperature: 0,
      logprobs: true,
      return_token_ids: true,
    },
  });
  assert.equal(status, 200, JSON.stringify(body));
  const [{ token_ids: ids, logprobs }] = body.choices;
  return { ids, logprobs: logprobs.content.map(({ logprob }: { readonly logprob: number }) => logprob) };
}

/** Trains the model on the same rollouts; returns the version's matrices and the job. */
async function trainOn(modelId: string, groups: readonly unknown[]) {
  const { body: created } = await call(server(), "POST", "/v1/preview/training-jobs", {
    body: { model_id: modelId, trajectory_groups: groups, experimental_config: { learning_rate: 0.01 } },
  });
  await finish(server(), created.id);
  const { body: job } = await call(server(), "GET", `/v1/preview/training-jobs/${created.id}`);
  const file = join(
    server().dataFolder,
    "adapters",
    modelId,
    `${job.result_step}`,
    "adapter_model.safetensors",
  );
  return { job, matrices: readFileSync(file) };
}

test("a model forked from another's version gives the same answers and continues training with its optimizer state", async () => {
  const { url, apiKey } = server();
  const client = new Hone({ baseUrl: url, apiKey });
  const sourceId = await registerModel(server(), "source");
  await finish(server(), await submitJob(server(), sourceId, 1));
  const fork = await client.models.create({
    project: "p",
    name: "fork",
    base_model: "tiny",
    from: { model: "p/source" },
  });
  assert.deepEqual(await answerOf("p/fork"), await answerOf("p/source"));
  const [zero, first] = await client.checkpoints.list(fork.id).all();
  assert.equal(zero?.step, 0);
  const { body: own } = await call(server(), "GET", `/v1/preview/models/${fork.id}/checkpoints/1`);
  assert.equal(own.has_optimizer_state, true);
  const source = (await client.checkpoints.list(sourceId).all()).at(-1);
  assert.deepEqual([first?.base_hash, first?.adapter_hash], [source?.base_hash, source?.adapter_hash]);

  const choices = await Promise.all(
    [1, 2].map(async (seed) => {
      const messages = [{ role: "user", content: "hi" }];
      const body = { model: "p/source", messages, max_tokens: 6, temperature: 1, seed };
      return (await call(server(), "POST", "/v1/chat/completions", { body })).body.choices[0];
    }),
  );
  const trajectories = choices.map((choice: unknown, reward) => ({
    messages_and_choices: [{ role: "user", content: "hi" }, choice],
    reward,
  }));
  const [one, other] = [
    await trainOn(sourceId, [{ trajectories }]),
    await trainOn(fork.id, [{ trajectories }]),
  ];
  assert.deepEqual([one.job.result_step, other.job.result_step], [2, 2]);
  assert.deepEqual(other.job.warnings, one.job.warnings);
  assert.ok(one.matrices.equals(other.matrices), "the same job makes the same of both, byte for byte");
  assert.notDeepEqual(await answerOf("p/fork"), await answerOf("p/source:step1"));

  const words = ["models", "create", "p", "again", "--from", "p/source:step1", "--url", url, "--key", apiKey];
  const { status, errors } = await run(words);
  assert.equal(status, 0, errors);
  assert.deepEqual(await answerOf("p/again"), await answerOf("p/source:step1"));
});
