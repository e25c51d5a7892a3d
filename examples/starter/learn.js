// @ts-check
// The loop: ask, judge, train, and again. `npm run learn` runs it beside the server that `npm run serve` starts.
import { parseArgs } from "node:util";
import { Hone } from "hone-server/client";
import { findKey } from "./find-key.js";
import { questions, reward } from "./task.js";

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "starter/maybe" },
    base: { type: "string", default: "hone-tiny" },
    rounds: { type: "string", default: "6" },
  },
});
/** Answers to each question of a round, which are compared with each other. */
const groupSize = 8;

// The server is HONE_URL, or http://127.0.0.1:8000.
const hone = new Hone({ apiKey: findKey() });
const model = await hone.model(values.model, { base: values.base });
console.log(`${model.name}: ${questions.length} questions, ${groupSize} answers to each in a round`);

for (let round = 1; round <= Number(values.rounds); round++) {
  const groups = await Promise.all(questions.map(tryOften));
  const rewards = groups.flatMap(({ trajectories }) => trajectories.map((one) => one.reward));
  const mean = rewards.reduce((sum, one) => sum + one, 0) / rewards.length;
  console.log(`round ${round}  mean reward ${mean.toFixed(2)}  ${"█".repeat(Math.round(40 * mean))}`);
  // Every success is a version of the model, which answers at once.
  await hone.jobs.wait(await model.train(groups, { learning_rate: 1e-4 }));
}

for (const question of questions.slice(0, 2)) {
  const { choices } = await model.chat({
    messages: [{ role: "user", content: question }],
    temperature: 0,
    max_tokens: 5,
  });
  console.log(`${question}: ${choices[0]?.message.content}`);
}

/**
 * Several answers to a question, each with its reward. The choices go back as they came: they carry the exact tokens.
 *
 * @param {string} question
 */
async function tryOften(question) {
  const message = { role: /** @type {const} */ ("user"), content: question };
  const { choices } = await model.chat({
    messages: [message],
    n: groupSize,
    temperature: 1.2,
    max_tokens: 5,
  });
  return {
    trajectories: choices.map((choice) => ({
      messages_and_choices: [message, choice],
      reward: reward(choice.message.content ?? ""),
    })),
  };
}
