// Costs on a running server with prices: of a recorded chat, a job, the usage of a key, and a job before it starts.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { Hone } from "../src/apps/client/hone.ts";
import { putHoneInto } from "./hone-command.ts";
import { eventually, newDataFolder, removeDataFolder, serverOfFile, startServer } from "./running-server.ts";
import { finish, registerModel, seenModel, submitJob } from "./served-jobs.ts";

const prices = "prompt=100,answer=300,tiny:training=5000";
const ofFile = serverOfFile({ flags: [...seenModel, "--costs-prices", prices, "--costs-currency", "EUR"] });
const price = { prompt: 100e-6, answer: 300e-6, training: 5000e-6 };

const isNear = (one: number | null, other: number): void =>
  assert.ok(one !== null && Math.abs(one - other) < 1e-9, `${one} is about ${other}`);

test("chats, jobs and usage have costs, and the commands print them", async () => {
  const server = ofFile();
  const hone = new Hone({ baseUrl: server.url, apiKey: server.apiKey });
  const modelId = await registerModel(server, "priced");
  const jobId = await submitJob(server, modelId, 2);
  await finish(server, jobId);
  const chats = await hone.recordings.list({ model: modelId }).all();
  for (const { usage, cost, currency } of chats) {
    isNear(cost, usage.prompt_tokens * price.prompt + usage.completion_tokens * price.answer);
    assert.equal(currency, "EUR");
  }
  const job = await hone.jobs.get(jobId);
  isNear(job.cost, (job.counts?.trainable_tokens ?? 0) * price.training);
  const ofChats = chats.reduce((sum, { cost }) => sum + (cost ?? 0), 0);
  const { cost: used } = await eventually("the usage is stored", async () => {
    const [row] = await hone.keys.usage().all();
    return row?.requests === 2 && row.training_tokens > 0 ? row : null;
  });
  isNear(used, ofChats + (job.cost ?? 0));
  const bin = putHoneInto(newDataFolder());
  const run = async (...words: string[]): Promise<string> => {
    const env = { ...process.env, HONE_URL: server.url, HONE_API_KEY: server.apiKey };
    return (await promisify(execFile)(resolve(bin, "hone"), words, { env })).stdout;
  };
  const usage = await run("usage");
  assert.match(usage, /^day +key_id +model +requests .* training_tokens +cost\n/);
  assert.match(usage, /\ntotal: 2 requests, [\d,]+ tokens, \d+\.\d\d EUR\n$/);
  assert.match(await run("jobs", "show", jobId), /\ncost +[\d.]+ EUR\n/);
  assert.equal(await run("usage", "--to", "2020-01-01", "--from", "2020-01-01"), "none\n");
  removeDataFolder(bin);
});

test("the preview of a job from feedback estimates its cost for all passes", async () => {
  const server = ofFile();
  const hone = new Hone({ baseUrl: server.url, apiKey: server.apiKey });
  const modelId = await registerModel(server, "rated");
  const { entity, project } = await hone.models.get(modelId);
  const projectId = `${entity}/${project}`;
  let answerTokens = 0;
  for (const [seed, emoji] of ["👍", "👎"].entries()) {
    const messages = [{ role: "user", content: "Which word?" }];
    const chat = await hone.chat.create({ model: modelId, max_tokens: 4, seed, messages });
    answerTokens += chat.usage.completion_tokens;
    await hone.feedback.create({
      project_id: projectId,
      weave_ref: `weave:///${projectId}/call/${chat.request_id}`,
      feedback_type: "vendor.reaction.1",
      payload: { emoji },
    });
  }
  const rule = { terms: [{ kind: "reaction", rewards: { "👍": 1, "👎": 0 } }] } as const;
  const asked = { model_id: modelId, rule, dry_run: true };
  const rewarded = await hone.jobs.createFromFeedback({ ...asked, experimental_config: { passes: 3 } });
  assert.equal(rewarded.counts.trained_tokens, answerTokens);
  isNear(rewarded.cost, 3 * answerTokens * price.training);
  const preferred = await hone.jobs.createPreferenceFromFeedback({ ...asked, config: { epochs: 2 } });
  assert.equal(preferred.counts.trained_tokens, answerTokens);
  isNear(preferred.cost, 2 * answerTokens * price.training);
});

test("a server refuses to start with a price for an unknown base model", async () => {
  const dataFolder = newDataFolder();
  const starting = startServer({ dataFolder, flags: [...seenModel, "--costs-prices", "tinny:prompt=1"] });
  await assert.rejects(starting, /costs\.prices has "tinny:prompt=1", but the base models are tiny/);
  removeDataFolder(dataFolder);
});
