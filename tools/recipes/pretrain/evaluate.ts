// Evaluates a model with hone-tiny's layout on held-out exercises and on the demo's task before training. Prints a
// table or JSON; with --write, puts the table into the model card.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { DemoStart } from "./measuring/accuracy.ts";
import { accuracyTable, evaluate, meanAccuracy, ofContents, ofPrompts } from "./measuring/evaluation.ts";
import { putBetween } from "./model/model-card.ts";

const help = `usage: npm run evaluate -- [--model models/hone-tiny] [--count 200] [--seed evaluation] [--threads 2] [--json] [--mistakes] [--write]
Prints the greedy accuracy on held-out prompts and contents by kind, and the mean rewards on the demo's task before training
(temperature 1.2). --mistakes also prints wrong answers. --write replaces the table in the model's README.md.`;

function printDemo({ rewards, words, greedy }: DemoStart): void {
  for (const [task, reward] of Object.entries(rewards))
    console.log(`demo start, ${task}: ${reward.toFixed(3)}`);
  console.log(
    `sampled first words: ${Object.entries(words)
      .map(([word, count]) => `${word} ${count}`)
      .join(", ")}`,
  );
  for (const { prompt, answer } of greedy) console.log(`greedy: ${prompt} -> ${answer}`);
}

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "models/hone-tiny" },
    count: { type: "string", default: "200" },
    seed: { type: "string", default: "evaluation" },
    threads: { type: "string", default: "2" },
    json: { type: "boolean", default: false },
    mistakes: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

if (values.help) {
  console.log(help);
} else {
  const { model, seed } = values;
  const evaluation = await evaluate(model, {
    seed,
    count: Number(values.count),
    threads: Number(values.threads),
  });
  const { kinds } = evaluation;
  const table = accuracyTable(kinds);
  if (values.json) {
    const means = { mean: meanAccuracy(kinds, ofPrompts), meanOfContents: meanAccuracy(kinds, ofContents) };
    console.log(JSON.stringify({ ...evaluation, ...means }, null, 2));
  } else {
    console.log(table);
    if (values.mistakes)
      for (const mistake of kinds.flatMap(({ prompts, contents }) => [
        ...prompts.mistakes,
        ...(contents?.mistakes ?? []),
      ]))
        console.log(JSON.stringify(mistake));
    printDemo(evaluation.demo);
  }
  if (values.write) {
    const file = join(model, "README.md");
    writeFileSync(file, putBetween(readFileSync(file, "utf8"), "accuracy", table));
  }
}
