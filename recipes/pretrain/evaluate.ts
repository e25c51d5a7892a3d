// Measures a model of this layout on held-out exercises and on the start of the demo's task, prints a table or JSON,
// and with --write puts the table into the model card.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { readModelConfig } from "../../src/model/config/read-config.ts";
import { readModelWeights } from "../../src/model/weights.ts";
import { loadTokenizer } from "../../src/tokenizer/load-tokenizer.ts";
import {
  type DemoStart,
  type KindAccuracy,
  measureAccuracy,
  measureDemoStart,
  type Score,
} from "./measuring/accuracy.ts";
import { createGenerator } from "./measuring/generate.ts";

const help = `usage: npm run evaluate -- [--model models/hone-tiny] [--count 200] [--seed evaluation] [--threads 2] [--json] [--mistakes] [--write]
Greedy accuracy on held-out prompts per kind, and mean rewards at the start of the demo's task (temperature 1.2).
--write replaces the table in the model's README.md.`;

interface Report {
  readonly kinds: readonly KindAccuracy[];
  readonly demo: DemoStart;
}

async function evaluate(options: {
  readonly model: string;
  readonly count: number;
  readonly seed: string;
  readonly threads: number;
}): Promise<Report> {
  const config = readModelConfig(options.model);
  const tokenizer = await loadTokenizer(options.model);
  const weights = readModelWeights(options.model, config, { cacheFolder: null });
  const generator = await createGenerator(config, weights, { threads: options.threads });
  const model = { tokenizer, generator };
  const kinds = await measureAccuracy(model, { seed: options.seed, count: options.count });
  const demo = await measureDemoStart(model, { seeds: 5, samplesPerPrompt: 16 });
  await generator.close();
  return { kinds, demo };
}

/** The part of right answers of the kinds that have a score; "other" accepts nearly everything, so it stays out. */
function meanAccuracy(kinds: readonly KindAccuracy[], scoreOf: (kind: KindAccuracy) => Score | null): number {
  const scores = kinds.filter(({ kind }) => kind !== "other").flatMap((kind) => scoreOf(kind) ?? []);
  return scores.reduce((sum, score) => sum + rate(score), 0) / scores.length;
}

const rate = ({ right, count }: Score): number => right / count;
const ofWordings = ({ wordings }: KindAccuracy): Score => wordings;
const ofContents = ({ contents }: KindAccuracy): Score | null => contents;

function table(kinds: readonly KindAccuracy[]): string {
  const rows = kinds.map(({ kind, wordings, heldOut, contents }) => {
    const unseen = contents === null ? "" : rate(contents).toFixed(3);
    return `| ${kind} | ${rate(wordings).toFixed(3)} | ${unseen} | ${heldOut ?? "none: unseen ones cannot be known"} |`;
  });
  const means = [meanAccuracy(kinds, ofWordings), meanAccuracy(kinds, ofContents)];
  return [
    "| kind | held-out prompts | held-out contents | which are |",
    "|---|---|---|---|",
    ...rows,
    `| mean without other | ${means.map((mean) => mean.toFixed(3)).join(" | ")} | |`,
  ].join("\n");
}

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

function writeIntoCard(folder: string, text: string): void {
  const file = join(folder, "README.md");
  const card = readFileSync(file, "utf8");
  const between = /(<!-- accuracy -->\n)[\s\S]*(<!-- end -->)/;
  if (!between.test(card))
    throw new Error(`${file} has no place for the table: <!-- accuracy --> ... <!-- end -->`);
  writeFileSync(
    file,
    card.replace(between, (_all, before: string, after: string) => `${before}${text}\n${after}`),
  );
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
  const report = await evaluate({
    model,
    seed,
    count: Number(values.count),
    threads: Number(values.threads),
  });
  if (values.json) {
    console.log(JSON.stringify({ ...report, mean: meanAccuracy(report.kinds, ofWordings) }, null, 2));
  } else {
    console.log(table(report.kinds));
    if (values.mistakes)
      for (const { wordings, contents } of report.kinds)
        for (const mistake of [...wordings.mistakes, ...(contents?.mistakes ?? [])])
          console.log(JSON.stringify(mistake));
    printDemo(report.demo);
  }
  if (values.write) writeIntoCard(model, table(report.kinds));
}
