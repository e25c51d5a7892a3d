// Checks that a seeded request gets the same tokens and log-probabilities, bit for bit, however Hone computes it.
// Measures no speed: `npm test` runs a sample of this check, and this program runs it for long.
import { join } from "node:path";
import { parseArgs } from "node:util";
import { precisions, checkExactness, type ExactnessReport } from "../../test/exactness/run-exactness.ts";
import { checkServed, type ServedReport } from "../../test/exactness/run-served.ts";
import { ownFolder } from "./run-bench.ts";

const help = `Usage: node dist/tools/bench/exact.js [flags]
Sends the same seeded requests in every way in which the engine may compute them (test/exactness/modes.ts): alone, in full and
in small batches, with prompts in chunks, with and without cached prefixes, together with adapters, interrupted and resumed.
Sends some of them over HTTP too (test/exactness/served-modes.ts). Compares tokens, log-probabilities and alternatives bit for
bit with those of each request alone. Exits with status 1 if any differ.

  --model <path>          model folder or GGUF file (default: the built-in model)
  --count <count>         number of requests (default 500)
  --prompt <tokens>       maximum length of a prompt: at least 40, and with an answer at most the model's context (default 256)
  --http <count>          number of chats over HTTP (default 24)
  --seed <seed>           seed that selects the requests (default 1)
  --only <name>           only modes whose name contains this text
  --precision <off|8|4>   only this value of --quantize
  --threads <count>       number of compute threads (default 2)
  --json                  print JSON
  --help                  print this help`;

const { values } = parseArgs({
  options: {
    model: { type: "string", default: join(ownFolder, "models", "hone-tiny") },
    count: { type: "string", default: "500" },
    prompt: { type: "string", default: "256" },
    http: { type: "string", default: "24" },
    seed: { type: "string", default: "1" },
    only: { type: "string", default: "" },
    precision: { type: "string" },
    threads: { type: "string", default: "2" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (values.help) process.stdout.write(`${help}\n`);
else await run();

async function run(): Promise<void> {
  const { model, only, precision: wanted, json } = values;
  const reports: (ExactnessReport | ServedReport)[] = [];
  const keep = (report: ExactnessReport | ServedReport): void => {
    reports.push(report);
    if (!json) process.stdout.write(`${textOf(report)}\n`);
  };
  for (const precision of precisions.filter((each) => wanted === undefined || each === wanted)) {
    const options = { model, precision, seed: Number(values.seed), threads: Number(values.threads), only };
    const sizes = { count: Number(values.count), promptLengthMax: Number(values.prompt) };
    for await (const report of checkExactness({ ...options, ...sizes })) keep(report);
    for await (const report of checkServed({ ...options, count: Number(values.http) })) keep(report);
  }
  if (json) process.stdout.write(`${JSON.stringify(reports, null, 2)}\n`);
  if (reports.some(({ differing }) => differing.length > 0)) process.exitCode = 1;
}

function textOf({
  precision,
  mode,
  requestCount,
  tokenCount,
  differing,
  ...counts
}: ExactnessReport | ServedReport): string {
  const equal = `${requestCount - differing.length} of ${requestCount} equal`;
  const more =
    "stepCount" in counts
      ? `, ${counts.stepCount} steps, ${counts.keptCount} prompt tokens from the cache, ${counts.draftedCount} drafted tokens accepted`
      : "";
  const wrong = differing.length === 0 ? "" : `; different: ${differing.join(", ")}`;
  return `--quantize ${precision}, ${mode}: ${equal}, ${tokenCount} tokens${more}${wrong}`;
}
