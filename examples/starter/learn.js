// @ts-check
// The training loop: ask, judge, train, repeat. `npm run learn` runs it against the server of `npm run serve`.
import { parseArgs } from "node:util";
import { Hone, HoneError, train } from "hone-server/client";
import { findKey } from "./find-key.js";
import { questions, reward } from "./task.js";

// Prints errors of the server and of the command line as one line. Any other error is a bug in this script, so it is
// printed with its stack.
process.once("uncaughtException", (error) => {
  const isOfFlags = String(Object(error).code).startsWith("ERR_PARSE_ARGS");
  console.error(error instanceof HoneError || isOfFlags ? error.message : error);
  process.exit(1);
});

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "starter/maybe" },
    base: { type: "string", default: "hone-tiny" },
    rounds: { type: "string", default: "6" },
  },
});
// Uses the server whose URL is in HONE_BASE_URL, by default http://127.0.0.1:8000.
const hone = new Hone({ apiKey: findKey() });
const model = await hone.model(values.model, { base: values.base });
await train(model, {
  tasks: questions,
  rounds: Number(values.rounds),
  // Trains as many more rounds at each run. With `resume`, a run would continue after the rounds that an earlier run
  // completed.
  resume: false,
  // Number of answers to each question. Training compares them with each other.
  groupSize: 8,
  request: { temperature: 1.2, max_tokens: 5 },
  config: { learning_rate: 1e-4 },
  rollout: async (question, { chat }) => {
    const { choices } = await chat({ messages: [{ role: "user", content: question }] });
    return reward(choices[0]?.message.content ?? "");
  },
  onRound: ({ round, reward: mean }) => {
    if (mean === null) return;
    console.log(`round ${round + 1}  mean reward ${mean.toFixed(2)}  ${"█".repeat(Math.round(40 * mean))}`);
  },
});

for (const question of questions.slice(0, 2)) {
  const { choices } = await model.chat({
    messages: [{ role: "user", content: question }],
    temperature: 0,
    max_tokens: 5,
  });
  console.log(`${question}: ${choices[0]?.message.content}`);
}
