// Measures models at the sizes that people use, over HTTP on servers of their own, and compares the figures with their
// goals: time of starts, memory, a round of reinforcement learning, and steps of training jobs.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { quantizations, type Quantization } from "../../src/base/domain/model.ts";
import { ownFolder } from "./run-bench.ts";
import { tableOf, type Figure, type ModelFigures } from "./sizes/figure.ts";
import type { MeasurePart } from "./sizes/part.ts";
import { measureRound } from "./sizes/round-part.ts";
import { readSizedModel } from "./sizes/sized-model.ts";
import { measureStart } from "./sizes/start-part.ts";
import { measureSteps } from "./sizes/steps-part.ts";
import { measureStreams } from "./sizes/streams-part.ts";

const parts: Readonly<Record<string, MeasurePart>> = {
  start: measureStart,
  streams: measureStreams,
  round: measureRound,
  steps: measureSteps,
};
const partNames = Object.keys(parts).join(",");

const help = `Usage: node dist/tools/bench/sizes.js [flags]
Serves a model on the loopback address with a temporary data folder, and prints a table of figures with their goals.

Parts, each with a new server:
  start    first start (converts the weights) and second start until /health reports success: seconds and processor
           time; memory and disk space during the first start
  streams  private memory of the engine's process: idle, and the highest while it answers 8 streams of 1,000 tokens
  round    8 prompts with 8 sampled answers of 64 tokens, logged with rewards, and one job: its time and memory
  steps    a job with a step for each sequence of 64 tokens, compared with a job that packs 8 of them into a step

  --model <path>     GGUF file or model folder; can be repeated (default models/hone-tiny)
  --quantize <bits>  precision of the weights: ${quantizations.join(", ")} (default 8)
  --only <a,b>       only these parts of ${partNames}
  --threads <count>  number of compute threads; 0 for one per core (default 0)
  --json             print JSON
  --help             print this help`;

const { values } = parseArgs({
  options: {
    model: { type: "string", multiple: true, default: [join(ownFolder, "models", "hone-tiny")] },
    quantize: { type: "string", default: "8" },
    only: { type: "string", default: partNames },
    threads: { type: "string", default: "0" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
// Ends the process in the usual way, so that it stops its server and removes the data folder.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
if (values.help) process.stdout.write(`${help}\n`);
else await measureModels();

async function measureModels(): Promise<void> {
  const quantize = quantizations.find((one) => one === values.quantize);
  if (quantize === undefined)
    return refuse(`--quantize is ${values.quantize}; it must be one of ${quantizations.join(", ")}.`);
  const names = values.only.split(",");
  const unknown = names.find((name) => parts[name] === undefined);
  if (unknown !== undefined) return refuse(`--only names ${unknown}; the parts are ${partNames}.`);
  // Builds what is missing or out of date now, so that no start of a server does.
  execFileSync(process.execPath, [join(ownFolder, "bin", "hone.js"), "--version"], { stdio: "ignore" });
  const reports: ModelFigures[] = [];
  for (const path of values.model) reports.push(await measureModel(path, quantize, names));
  const text = values.json ? JSON.stringify(reports, null, 2) : reports.map(tableOf).join("\n\n");
  process.stdout.write(`${text}\n`);
}

async function measureModel(
  path: string,
  quantize: Quantization,
  names: readonly string[],
): Promise<ModelFigures> {
  const model = await readSizedModel(path, quantize);
  const dataFolder = mkdtempSync(join(tmpdir(), "hone-sizes-"));
  const remove = (): void => rmSync(dataFolder, { recursive: true, force: true });
  process.once("exit", remove);
  const figures: Figure[] = [];
  for (const name of names) {
    const say = (text: string): void => void process.stderr.write(`${model.name}, ${name}: ${text}\n`);
    const measured = await parts[name]({ model, dataFolder, threads: Number(values.threads), say });
    figures.push(...measured);
    // Shown at once, because a later part may fail.
    say(`done\n${tableOf({ model: model.name, quantize, figures: measured })}`);
  }
  process.removeListener("exit", remove);
  remove();
  return { model: model.name, quantize, figures };
}

function refuse(message: string): void {
  process.stderr.write(`${message}\n`);
  process.exitCode = 2;
}
