// Tests reinforcement jobs of OpenAI's fine-tuning API with the official client on running servers. A model learns from
// a grader, and a job survives the death of its server.
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import OpenAI, { toFile } from "openai";
import {
  eventually,
  newDataFolder,
  removeDataFolder,
  startServer,
  type RunningServer,
} from "./running-server.ts";

type Job = OpenAI.FineTuning.FineTuningJob;

const clientOf = ({ url, apiKey }: RunningServer) =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });

async function upload(openai: OpenAI, words: readonly string[]): Promise<string> {
  const lines = words.map((word) =>
    JSON.stringify({ messages: [{ role: "user", content: `Say ${word}.` }], wanted: word }),
  );
  const file = await toFile(Buffer.from(lines.join("\n")), "items.jsonl");
  return (await openai.files.create({ file, purpose: "fine-tune" })).id;
}

async function create(openai: OpenAI, epochs: number, more: object = {}): Promise<Job> {
  return openai.fineTuning.jobs.create({
    model: "hone-tiny",
    training_file: await upload(openai, ["yes", "no", "cat", "dog"]),
    seed: 3,
    method: {
      type: "reinforcement",
      reinforcement: {
        grader: {
          type: "text_similarity",
          name: "short",
          input: "{{ sample.output_text }}",
          reference: "{{ item.wanted }}",
          evaluation_metric: "fuzzy_match",
        },
        hyperparameters: { n_epochs: epochs, batch_size: 4, eval_interval: 1, eval_samples: 1 },
      },
    },
    ...more,
  });
}

const until = (openai: OpenAI, id: string, is: (job: Job) => boolean): Promise<Job> =>
  eventually(`${id} changes`, async () => {
    const job = await openai.fineTuning.jobs.retrieve(id);
    return is(job) ? job : null;
  });

const hasEnded = ({ status }: Job) => ["succeeded", "failed", "cancelled"].includes(status);

async function stepRewards(openai: OpenAI, id: string): Promise<readonly number[]> {
  const rewards: number[] = [];
  for await (const { data } of openai.fineTuning.jobs.listEvents(id, { limit: 2 })) {
    const { train_reward_mean: reward, valid_reward_mean: valid } = (data ?? {}) as Record<string, number>;
    if (reward !== undefined && valid === undefined) rewards.unshift(reward);
  }
  return rewards;
}

test("a server runs reinforcement jobs, and continues them after a crash", async (t) => {
  const dataFolder = newDataFolder();
  t.after(() => removeDataFolder(dataFolder));
  const server = await startServer({ dataFolder });
  t.after(() => server.kill());
  await t.test("a job samples, grades and trains until its rewards are higher", () => learns(server));
  await t.test("a job can be paused, resumed on a new server after a crash, and cancelled", (t) =>
    continues(t, server),
  );
});

async function learns(server: RunningServer): Promise<void> {
  const openai = clientOf(server);
  const validation = await upload(openai, ["sun", "moon"]);
  const created = await create(openai, 5, { validation_file: validation });
  const job = await until(openai, created.id, hasEnded);
  assert.equal(job.status, "succeeded", JSON.stringify(job.error));
  const rewards = await stepRewards(openai, job.id);
  assert.equal(rewards.length, 5);
  assert.ok(rewards[4] > rewards[0] + 0.05, rewards.join(" "));
  const { data: checkpoints } = await openai.fineTuning.jobs.checkpoints.list(job.id);
  assert.deepEqual(
    checkpoints.map(({ step_number: step }) => step),
    [5, 4, 3, 2, 1],
  );
  const events = await openai.fineTuning.jobs.listEvents(job.id);
  assert.match(events.data[0].message, /^Step 5 trained, mean validation reward=0\.\d+$/);
  const model = checkpoints[0].fine_tuned_model_checkpoint;
  const answer = await openai.chat.completions.create({
    model,
    messages: [{ role: "user", content: "Say yes." }],
  });
  assert.equal(answer.choices.length, 1);
}

async function continues(t: TestContext, first: RunningServer): Promise<void> {
  const openai = clientOf(first);
  const { id } = await create(openai, 200);
  await until(openai, id, ({ status }) => status === "running");
  assert.equal((await openai.fineTuning.jobs.pause(id)).status, "paused");
  await assert.rejects(openai.fineTuning.jobs.pause(id), /The job is paused/);
  await openai.fineTuning.jobs.resume(id);
  await eventually("a step is trained", async () =>
    (await openai.fineTuning.jobs.checkpoints.list(id)).data.length > 0 ? true : null,
  );
  await first.kill();
  const second = await startServer({ dataFolder: first.dataFolder });
  t.after(() => second.terminate());
  const again = clientOf(second);
  const before = (await again.fineTuning.jobs.checkpoints.list(id)).data.length;
  await eventually("the job goes on", async () =>
    (await again.fineTuning.jobs.checkpoints.list(id)).data.length > before + 1 ? true : null,
  );
  const steps = (await again.fineTuning.jobs.checkpoints.list(id)).data.map(({ step_number: step }) => step);
  assert.deepEqual(
    steps,
    Array.from({ length: steps.length }, (_, index) => steps.length - index),
  );
  await again.fineTuning.jobs.cancel(id);
  assert.equal((await again.fineTuning.jobs.retrieve(id)).status, "cancelled");
}
