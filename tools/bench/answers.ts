// Checks over HTTP that every finished answer of the built-in model conforms to its schema, at temperatures 0, 1 and 2.
// The schemas are random or of the form that zod and pydantic generate. Measures no speed: `npm test` runs a sample of
// this check, and this program runs it for long.
import { parseArgs } from "node:util";
import { families } from "../../test/answers/schema-families.ts";
import { judgeAnswer, type Verdict } from "../../test/answers/judge-answers.ts";
import { join } from "node:path";
import { ownFolder } from "./run-bench.ts";
import { serveBuild } from "./served-build.ts";

const help = `Usage: node dist/tools/bench/answers.js [--count <schemas>] [--seed <number>] [--only <family>]
Requests answers from hone-tiny for --count schemas (default 500, spread over all families) at temperatures 0, 1 and 2, and
validates each finished answer with ajv. Prints how many answers finished, how many reached the limit of 700 tokens, and how
many requests were refused. Prints invalid answers in full and exits with status 1 if there are any.`;

const temperatures = [0, 1, 2] as const;
const atOnce = 16;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      count: { type: "string", default: "500" },
      seed: { type: "string", default: "1" },
      only: { type: "string", default: "" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return void process.stdout.write(`${help}\n`);
  const chosen = Object.entries(families).filter(([name]) => name.includes(values.only));
  const modelFolder = join(ownFolder, "models", "hone-tiny");
  const server = await serveBuild(ownFolder, { modelFolder, threads: 2 });
  try {
    for (const [name, family] of chosen) {
      const schemas = family(Number(values.seed), Math.ceil(Number(values.count) / chosen.length));
      for (const temperature of temperatures) {
        const verdicts = new Map<Verdict["kind"], number>();
        const left = [...schemas.entries()];
        const ask = async (): Promise<void> => {
          for (let next = left.shift(); next !== undefined; next = left.shift()) {
            const [seed, schema] = next;
            const verdict = await judgeAnswer(server, { schema, temperature, seed }, { model: "endless" });
            verdicts.set(verdict.kind, (verdicts.get(verdict.kind) ?? 0) + 1);
            if (verdict.kind !== "invalid") continue;
            process.exitCode = 1;
            process.stdout.write(`${JSON.stringify({ name, temperature, seed, schema, ...verdict })}\n`);
          }
        };
        await Promise.all(Array.from({ length: atOnce }, ask));
        const counts = ["valid", "cut", "refused", "invalid"] as const;
        const text = counts.map((kind) => `${kind} ${verdicts.get(kind) ?? 0}`).join(", ");
        process.stdout.write(`${name}, temperature ${temperature}: ${schemas.length} schemas, ${text}\n`);
      }
    }
  } finally {
    await server.stop();
  }
}

await main();
