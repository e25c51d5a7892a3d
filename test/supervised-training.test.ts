// Tests supervised fine-tuning from end to end. Conversations teach a small model facts and an answer format; then it
// must answer correctly when asked in words that did not occur in training.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Hone } from "../src/apps/client/hone.ts";
import type { ExampleConversation, TrainingEvent } from "../src/apps/client/api.ts";
import { serverOfFile } from "./running-server.ts";
import { inProof } from "../src/base/domain/testing/search.ts";

const server = serverOfFile();

/** Made-up sounds of animals, which no model can have learned elsewhere. */
const sounds: Readonly<Record<string, string>> = {
  cat: "buzz",
  dog: "moo",
  cow: "meow",
  hen: "woof",
  fox: "moo",
  owl: "woof",
  pig: "buzz",
  wolf: "buzz",
};

const questions = [
  "Which sound does the A make?",
  "Tell me the sound of the A.",
  "How does the A sound?",
  "What sound has the A?",
  "Say how the A sounds.",
  "The A makes which sound?",
  "Sound of the A?",
  "Name the sound that the A makes.",
  "What noise does the A make?",
];

/** A wording that does not occur in training. */
const asked = "What does the A say?";

const answerTo = (animal: string): string => `The ${animal} says ${sounds[animal]}.`;

const examples: readonly ExampleConversation[] = Object.keys(sounds).flatMap((animal) =>
  questions.map((question) => ({
    messages: [
      { role: "user", content: question.replace("A", animal) },
      { role: "assistant", content: answerTo(animal) },
    ],
  })),
);

/** Returns the number of animals for which the model gives the taught answer. */
async function rightCount(client: Hone, model: string): Promise<number> {
  const answers = Object.keys(sounds).map(async (animal) => {
    const messages = [{ role: "user", content: asked.replace("A", animal) }];
    const { choices } = await client.chat.create({ model, messages, temperature: 0, max_tokens: 24 });
    return choices[0].message.content === answerTo(animal);
  });
  return (await Promise.all(answers)).filter(Boolean).length;
}

test("a model trained on conversations learns their answers", inProof, async () => {
  const client = new Hone({ baseUrl: server().url, apiKey: server().apiKey });
  const { id } = await client.models.create({ project: "p", name: "sounds", base_model: "hone-tiny" });
  assert.equal(await rightCount(client, id), 0);
  const config = { batch_size: 8, learning_rate: 3e-3, epochs: 4 };
  const { id: jobId } = await client.jobs.createSupervised({ model_id: id, training_data: examples, config });
  const losses: number[] = [];
  const onEvent = ({ type, data }: TrainingEvent): void =>
    void (type === "gradient_step" && losses.push(Number(data["loss"])));
  await client.jobs.wait(jobId, { onEvent });
  assert.equal(losses.length, 4 * Math.ceil(examples.length / 8));
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  const [first, last] = [mean(losses.slice(0, 5)), mean(losses.slice(-5))];
  assert.ok(last < first / 10, `the loss went from ${first} to ${last}`);
  // A model that learned only the format would guess among four sounds, and be right for only two of the eight animals.
  const count = await rightCount(client, id);
  assert.ok(count >= 4, `${count} of 8`);
  assert.equal(await rightCount(client, `${id}:step0`), 0);
});
