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

/** Of answers that are drawn, the share that is the preferred one. */
async function preferredShare(client: Hone, model: string): Promise<number> {
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
  return texts.filter((text) => text === preferred).length / texts.length;
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

test("a model that could say either comes to say what people preferred", async () => {
  const client = new Hone({ baseUrl: server().url, apiKey: server().apiKey });
  const { id } = await client.models.create({ project: "p", name: "answers", base_model: "hone-tiny" });
  const config = { batch_size: 8, learning_rate: 3e-3, epochs: 8 };
  const { id: lessonId } = await client.jobs.createSupervised({
    model_id: id,
    training_data: lessons,
    config,
  });
  await client.jobs.wait(lessonId);
  const before = await preferredShare(client, id);
  assert.ok(before > 0.1 && before < 0.9, `${before} before`);

  const dpo = { batch_size: 4, learning_rate: 1e-3, epochs: 6, beta: 0.1 };
  const taken = await steps(client, { model_id: id, pairs, config: dpo });
  assert.equal(taken.length, 12);
  const [first, last] = [taken[0], taken[taken.length - 1]];
  assert.ok(Math.abs(first["loss"] - Math.LN2) < 1e-3 && Math.abs(first["rewards/margins"]) < 1e-3);
  assert.ok(last["rewards/margins"] > 0.5, `a margin of ${last["rewards/margins"]}`);
  assert.ok(last["loss"] < 0.55 && last["rewards/accuracies"] === 1, JSON.stringify(last));
  const after = await preferredShare(client, id);
  assert.ok(after >= 0.9, `${before} before, ${after} after`);

  // Thumbs alone turn it the other way.
  const thumbs = pairs.flatMap(({ prompt, chosen, rejected }) => [
    { prompt, completion: chosen, label: false },
    { prompt, completion: rejected, label: true },
  ]);
  const kto = { loss: "kto" as const, batch_size: 8, learning_rate: 1e-3, epochs: 6 };
  const judged = await steps(client, { model_id: id, pairs: thumbs, config: kto });
  assert.ok(judged.every((step) => step["kl"] >= 0));
  assert.ok((judged.at(-1)?.["rewards/chosen"] ?? 0) > (judged.at(-1)?.["rewards/rejected"] ?? 0));
  const turned = await preferredShare(client, id);
  assert.ok(turned < after - 0.3, `${after} before thumbs, ${turned} after`);
});
