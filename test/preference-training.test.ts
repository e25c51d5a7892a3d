// The whole way of preference training, as its users go it: of two answers that a small model gives as readily, the one that
// people preferred comes to be the likelier one, and the one that it gives.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Hone } from "../src/client/hone.ts";
import type { PreferenceJobCreate, TrainingEvent } from "../src/client/api.ts";
import { serverOfFile } from "./running-server.ts";

const server = serverOfFile();

const questions = [
  "May I go out?",
  "Is it late?",
  "Can we start?",
  "Do you like tea?",
  "Should I wait?",
  "Is the door open?",
  "Are you well?",
  "Will it rain?",
];

/** Not among those that it is taught with. */
const asked = ["Is it far?", "May I ask?", "Do you know him?", "Will you come?"];

const [preferred, other] = ["Yes, of course.", "No, never."];

const conversation = (content: string) => [{ role: "user", content }];

/** Each question with one of the two answers: the model learns that both are given. */
const lessons = questions.flatMap((question) =>
  [preferred, other].map((content) => ({
    messages: [...conversation(question), { role: "assistant", content }],
  })),
);

const pairs = questions.map((prompt) => ({ prompt, chosen: preferred, rejected: other }));

/** Of answers that are drawn, the shares of the two. */
async function sharesOf(client: Hone, model: string): Promise<{ preferred: number; other: number }> {
  const answers = await Promise.all(
    asked.map((content, seed) =>
      client.chat.create({
        model,
        messages: conversation(content),
        n: 8,
        seed,
        temperature: 1,
        max_tokens: 16,
      }),
    ),
  );
  const texts = answers.flatMap(({ choices }) => choices.map(({ message }) => message.content));
  const shareOf = (wanted: string): number => texts.filter((text) => text === wanted).length / texts.length;
  return { preferred: shareOf(preferred), other: shareOf(other) };
}

/** Runs a job to its end. @returns its steps' numbers */
async function steps(
  client: Hone,
  body: PreferenceJobCreate,
): Promise<readonly Readonly<Record<string, number>>[]> {
  const { id } = await client.jobs.createPreference(body);
  const taken: Readonly<Record<string, number>>[] = [];
  const onEvent = ({ type, data }: TrainingEvent): void => {
    // Numbers, of a step.
    if (type === "gradient_step") taken.push(data as Readonly<Record<string, number>>);
  };
  await client.jobs.wait(id, { onEvent });
  return taken;
}

test("a model that could say either comes to say what people preferred, by pairs or by thumbs", async () => {
  const client = new Hone({ baseUrl: server().url, apiKey: server().apiKey });
  const model = { project: "p", base_model: "hone-tiny" };
  const { id } = await client.models.create({ ...model, name: "either" });
  const config = { batch_size: 8, learning_rate: 3e-3, epochs: 8 };
  const { id: lessonId } = await client.jobs.createSupervised({
    model_id: id,
    training_data: lessons,
    config,
  });
  await client.jobs.wait(lessonId);
  const before = await sharesOf(client, id);
  assert.ok(before.preferred > 0.1 && before.other > 0.05, JSON.stringify(before));
  const requireMoved = async (modelId: string): Promise<void> => {
    const after = await sharesOf(client, modelId);
    const shown = JSON.stringify({ before, after });
    assert.ok(after.preferred >= before.preferred + 0.2 && after.other < before.other, shown);
  };

  const { id: paired } = await client.models.create({ ...model, name: "pairs", from: { model: id } });
  const dpo = { batch_size: 4, learning_rate: 3e-4, epochs: 4 };
  const taken = await steps(client, { model_id: paired, pairs, config: dpo });
  assert.equal(taken.length, 8);
  const [first, last] = [taken[0], taken[taken.length - 1]];
  assert.ok(Math.abs(first["loss"] - Math.LN2) < 1e-3 && Math.abs(first["rewards/margins"]) < 1e-3);
  assert.ok(last["rewards/margins"] > 0.5 && last["rewards/accuracies"] === 1, JSON.stringify(last));
  assert.ok(last["logps/chosen"] - last["logps/rejected"] > first["logps/chosen"] - first["logps/rejected"]);
  await requireMoved(paired);

  const { id: judged } = await client.models.create({ ...model, name: "thumbs", from: { model: id } });
  const thumbs = pairs.flatMap(({ prompt, chosen, rejected }) => [
    { prompt, completion: chosen, label: true },
    { prompt, completion: rejected, label: false },
  ]);
  const kto = { loss: "kto" as const, learning_rate: 3e-4, epochs: 4 };
  const judgements = await steps(client, { model_id: judged, pairs: thumbs, config: kto });
  assert.ok(judgements.every((step) => step["kl"] >= 0));
  assert.ok(judgements[judgements.length - 1]["loss"] < judgements[0]["loss"]);
  await requireMoved(judged);
});
