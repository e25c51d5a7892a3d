// Tests OpenAI's fine-tuning API with the official client on a running server. Covers supervised and DPO jobs, from the
// upload of a file to a chat with the trained model.
import assert from "node:assert/strict";
import { test } from "node:test";
import OpenAI, { ConflictError, NotFoundError, toFile, UnprocessableEntityError } from "openai";
import { eventually, serverOfFile } from "./running-server.ts";

let openai: OpenAI;
serverOfFile({
  onStart: ({ url, apiKey }) => {
    openai = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
  },
});

async function upload(lines: readonly object[]): Promise<string> {
  const file = await toFile(Buffer.from(lines.map((line) => JSON.stringify(line)).join("\n")), "a.jsonl");
  return (await openai.files.create({ file, purpose: "fine-tune" })).id;
}

const conversation = (question: string, answer: string, more: object = {}) => ({
  messages: [
    { role: "user", content: question },
    { role: "assistant", content: answer, ...more },
  ],
});

async function ended(id: string): Promise<OpenAI.FineTuning.FineTuningJob> {
  return eventually(`${id} ends`, async () => {
    const job = await openai.fineTuning.jobs.retrieve(id);
    return ["succeeded", "failed", "cancelled"].includes(job.status) ? job : null;
  });
}

async function answerOf(model: string, question: string): Promise<string | null | undefined> {
  const messages = [{ role: "user" as const, content: question }];
  const answer = await openai.chat.completions.create({ model, messages, temperature: 0, max_tokens: 20 });
  return answer.choices[0]?.message.content;
}

const lesson = [
  conversation("Who are you?", "I am the lookup agent."),
  conversation("What do you do?", "I look things up."),
];

test("a supervised job trains a model that chats under the job's `fine_tuned_model`", async () => {
  const created = await openai.fineTuning.jobs.create({
    model: "hone-tiny",
    training_file: await upload(lesson),
    method: {
      type: "supervised",
      supervised: { hyperparameters: { n_epochs: 16, batch_size: 2, learning_rate_multiplier: 30 } },
    },
    suffix: "desk",
    seed: 7,
    metadata: { team: "A", run: "first" },
  });
  assert.equal(created.object, "fine_tuning.job");
  assert.equal(created.fine_tuned_model, null);
  const job = await ended(created.id);
  assert.equal(job.status, "succeeded", JSON.stringify(job.error));
  assert.deepEqual(job.hyperparameters, { n_epochs: 16, batch_size: 2, learning_rate_multiplier: 30 });
  assert.deepEqual([job.seed, job.metadata], [7, { team: "A", run: "first" }]);
  assert.match(job.fine_tuned_model ?? "", /^ft:hone-tiny:[^:]+:desk:[0-9a-f-]{36}$/);
  assert.ok((job.trained_tokens ?? 0) > 0 && (job.finished_at ?? 0) >= job.created_at);
  assert.equal(await answerOf(job.fine_tuned_model ?? "", "Who are you?"), "I am the lookup agent.");

  const events: OpenAI.FineTuning.FineTuningJobEvent[] = [];
  for await (const event of openai.fineTuning.jobs.listEvents(job.id, { limit: 7 })) events.push(event);
  assert.equal(new Set(events.map(({ id }) => id)).size, events.length);
  assert.deepEqual(
    [events.length, events.filter(({ type }) => type === "metrics").length],
    [19, 16],
    "one event for each step, and three others",
  );
  assert.match(events.at(-1)?.message ?? "", /^Created fine-tuning job/);
  assert.match(events[1]?.message ?? "", /^Step 16\/16: training loss=0\.\d+$/);
  const checkpoints = await openai.fineTuning.jobs.checkpoints.list(job.id);
  assert.deepEqual(
    checkpoints.data.map(({ step_number: step }) => step),
    [16],
  );
  const name = checkpoints.data[0]?.fine_tuned_model_checkpoint ?? "";
  assert.equal(await answerOf(name, "What do you do?"), "I look things up.");
  await assert.rejects(openai.fineTuning.jobs.cancel(job.id), ConflictError);
  const deleted = await openai.models.delete(`${job.fine_tuned_model}:ckpt-step-0`);
  assert.deepEqual([deleted.object, deleted.deleted], ["model", true]);
  assert.equal(await answerOf(name, "What do you do?"), "I look things up.");

  const listed = await openai.fineTuning.jobs.list({ metadata: { team: "A" } });
  assert.deepEqual(
    listed.data.map(({ id }) => id),
    [job.id],
  );
  assert.deepEqual((await openai.fineTuning.jobs.list({ metadata: { team: "B" } })).data, []);
});

test("a DPO job continues an earlier fine-tuned model without changing it", async () => {
  const question = "May I go out?";
  const base = await openai.fineTuning.jobs.create({
    model: "hone-tiny",
    training_file: await upload(
      ["Yes, of course.", "No, never."].map((text) => conversation(question, text)),
    ),
    hyperparameters: { n_epochs: 12, learning_rate_multiplier: 30 },
  });
  const first = (await ended(base.id)).fine_tuned_model ?? "";
  const pair = {
    input: { messages: [{ role: "user", content: question }], tools: [], parallel_tool_calls: true },
    preferred_output: [{ role: "assistant", content: "No, never." }],
    non_preferred_output: [{ role: "assistant", content: "Yes, of course." }],
  };
  const before = await answerOf(first, question);
  const created = await openai.fineTuning.jobs.create({
    model: first,
    training_file: await upload([pair, pair]),
    method: {
      type: "dpo",
      dpo: { hyperparameters: { n_epochs: 6, beta: 0.2, learning_rate_multiplier: 20 } },
    },
  });
  const job = await ended(created.id);
  assert.equal(job.status, "succeeded", JSON.stringify(job.error));
  assert.equal(await answerOf(job.fine_tuned_model ?? "", question), "No, never.");
  assert.equal(await answerOf(first, question), before);
  assert.equal((await openai.models.delete(first)).id, first);
  await assert.rejects(openai.models.retrieve(first), NotFoundError);
  assert.equal(await answerOf(job.fine_tuned_model ?? "", question), "No, never.");
});

for (const type of ["supervised", "dpo"] as const)
  test(`a ${type} job measures the loss on a \`validation_file\` after each epoch`, async () => {
    const answers = ["I am the lookup agent.", "I do not know."].map((content) => [
      { role: "assistant", content },
    ]);
    const pair = (content: string) => ({
      input: { messages: [{ role: "user", content }] },
      preferred_output: answers[0],
      non_preferred_output: answers[1],
    });
    const [training, validation] =
      type === "dpo"
        ? [[pair("Who are you?"), pair("And you?")], [pair("Who is there?")]]
        : [lesson, [conversation("Who are you, then?", "I am the lookup agent.")]];
    const training_file = await upload(training);
    const validation_file = await upload(validation);
    const hyperparameters = { n_epochs: 3, batch_size: 1, learning_rate_multiplier: 10 };
    const method = { type, [type]: { hyperparameters } };
    const order = { model: "hone-tiny", training_file, method, seed: 3 };
    const created = await openai.fineTuning.jobs.create({ ...order, validation_file });
    assert.equal(created.validation_file, validation_file);
    const job = await ended(created.id);
    assert.equal(job.status, "succeeded", JSON.stringify(job.error));
    const events = (await openai.fineTuning.jobs.listEvents(job.id, { limit: 50 })).data.toReversed();
    const measured = events.filter(({ data }) => Object(data).full_valid_loss !== undefined);
    assert.deepEqual(
      measured.map(({ data }) => Object(data).step),
      [2, 4, 6],
    );
    const losses = measured.map(({ data }) => Object(data).full_valid_loss);
    assert.ok(losses[2] < losses[0], `the loss fell: ${losses.join(", ")}`);
    assert.match(
      measured[0]?.message ?? "",
      /^Step 2\/6: training loss=\d\.\d+, full validation loss=\d\.\d+$/,
    );
    const [checkpoint] = (await openai.fineTuning.jobs.checkpoints.list(job.id)).data;
    assert.equal(checkpoint?.metrics.full_valid_loss, losses[2]);
    assert.equal(checkpoint.metrics.valid_loss, losses[2]);
    const plain = await ended((await openai.fineTuning.jobs.create(order)).id);
    assert.equal(job.trained_tokens, plain.trained_tokens, "the validation file does not train");
  });

test("a job can be cancelled, and then has no model", async () => {
  const created = await openai.fineTuning.jobs.create({
    model: "hone-tiny",
    training_file: await upload(lesson),
    method: { type: "supervised", supervised: { hyperparameters: { n_epochs: 1000 } } },
  });
  await openai.fineTuning.jobs.cancel(created.id);
  const job = await ended(created.id);
  assert.deepEqual([job.status, job.fine_tuned_model, job.error], ["cancelled", null, null]);
  await assert.rejects(openai.models.delete("hone-tiny"), /base model, which only the operator can remove/);
});

test("a wrong model, file or option is refused with its name", async () => {
  const training_file = await upload(lesson);
  const create = (body: object) =>
    openai.fineTuning.jobs.create({ model: "hone-tiny", training_file, ...body });
  await assert.rejects(create({ model: "gpt-4o-mini" }), (error: NotFoundError) => {
    assert.ok(error instanceof NotFoundError);
    return error.param === "model";
  });
  await assert.rejects(create({ training_file: "file-abc123" }), UnprocessableEntityError);
  await assert.rejects(create({ method: { type: "dpo" } }), /training_file\.line 1/);
  for (const suffix of ["a b", "a\u0001"])
    await assert.rejects(create({ suffix }), (error: UnprocessableEntityError) => error.param === "suffix");
  await assert.rejects(
    create({ integrations: [{ type: "wandb", wandb: { project: "p" } }] }),
    /integrations is not supported/,
  );
  const validation_file = await upload([{ messages: [{ role: "user", content: "Hi" }], wanted: "x" }]);
  await assert.rejects(create({ validation_file }), /validation_file\.line 1/);
  await assert.rejects(
    create({ method: { type: "supervised", supervised: { hyperparameters: { n_epochs: 0 } } } }),
  );
  await assert.rejects(openai.fineTuning.jobs.retrieve("ftjob-1"), NotFoundError);
});
