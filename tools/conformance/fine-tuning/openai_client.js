// Runs the steps of OpenAI's guides with OpenAI's npm library: a supervised job on a file that was uploaded in parts, a DPO
// job, and a reinforcement job that is paused.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import OpenAI, { NotFoundError, toFile } from "openai";
import { VERSION } from "openai/version";

const openai = new OpenAI();
const { jobs, alpha } = openai.fineTuning;

const linesOf = (...rows) => rows.map((row) => `${JSON.stringify(row)}\n`).join("");
const upload = async (name, ...rows) =>
  (
    await openai.files.create({
      file: await toFile(Buffer.from(linesOf(...rows)), name),
      purpose: "fine-tune",
    })
  ).id;

async function ended(id) {
  for (;;) {
    const job = await jobs.retrieve(id);
    if (["succeeded", "failed", "cancelled"].includes(job.status)) return job;
    await sleep(500);
  }
}

const question = { role: "user", content: "Where is Paris?" };
const lesson = { messages: [question, { role: "assistant", content: "It is in France." }] };
const text = linesOf(lesson, lesson);
const begun = await openai.uploads.create({
  filename: "lessons.jsonl",
  purpose: "fine-tune",
  bytes: Buffer.byteLength(text),
  mime_type: "text/jsonl",
});
const parts = await Promise.all(
  [text.slice(0, 50), text.slice(50)].map(async (piece) =>
    openai.uploads.parts.create(begun.id, { data: await toFile(Buffer.from(piece), "part") }),
  ),
);
const { file } = await openai.uploads.complete(begun.id, { part_ids: parts.map(({ id }) => id) });
assert.ok(file);

let job = await jobs.create({
  model: "gpt-4.1-nano-2025-04-14",
  training_file: file.id,
  method: {
    type: "supervised",
    supervised: { hyperparameters: { n_epochs: 30, learning_rate_multiplier: 10 } },
  },
  metadata: { from: "node" },
});
assert.equal((await jobs.list({ metadata: { from: "node" } })).data[0]?.id, job.id);
job = await ended(job.id);
assert.equal(job.status, "succeeded", JSON.stringify(job.error));
const events = [];
for await (const event of jobs.listEvents(job.id, { limit: 5 })) events.push(event);
assert.ok(events.some(({ type }) => type === "metrics"));
const answer = await openai.chat.completions.create({
  model: job.fine_tuned_model,
  messages: [question],
  temperature: 0,
});
assert.equal(answer.choices[0].message.content, "It is in France.");
const [checkpoint] = (await jobs.checkpoints.list(job.id)).data;
const response = await openai.responses.create({
  model: checkpoint.fine_tuned_model_checkpoint,
  input: question.content,
  temperature: 0,
});
assert.equal(response.output_text, "It is in France.");

const pair = {
  input: { messages: [question] },
  preferred_output: [{ role: "assistant", content: "In Texas, too." }],
  non_preferred_output: [{ role: "assistant", content: "It is in France." }],
};
const preference = await jobs.create({
  model: job.fine_tuned_model,
  training_file: await upload("pairs.jsonl", pair, pair),
  method: { type: "dpo", dpo: { hyperparameters: { beta: 0.1, n_epochs: 2 } } },
});
assert.equal((await ended(preference.id)).status, "succeeded");

const grader = {
  type: "text_similarity",
  name: "similar",
  input: "{{ sample.output_text }}",
  reference: "{{ item.wanted }}",
  evaluation_metric: "fuzzy_match",
};
await alpha.graders.validate({ grader });
const { reward } = await alpha.graders.run({ grader, item: { wanted: "yes" }, model_sample: "yes" });
assert.equal(reward, 1);
const items = ["yes", "no"].map((wanted) => ({
  messages: [{ role: "user", content: `Say ${wanted}.` }],
  wanted,
}));
const reinforced = await jobs.create({
  model: "o4-mini-2025-04-16",
  training_file: await upload("items.jsonl", ...items),
  method: {
    type: "reinforcement",
    reinforcement: { grader, hyperparameters: { n_epochs: 2, batch_size: 2 } },
  },
});
assert.equal((await jobs.pause(reinforced.id)).status, "paused");
assert.notEqual((await jobs.resume(reinforced.id)).status, "paused");
assert.equal((await ended(reinforced.id)).status, "succeeded");

await assert.rejects(jobs.create({ model: "o3", training_file: file.id }), (error) => {
  assert.ok(error instanceof NotFoundError);
  return /hone-tiny/.test(error.message);
});
console.log(`openai ${VERSION} (npm): jobs, uploads in parts and graders work`);
