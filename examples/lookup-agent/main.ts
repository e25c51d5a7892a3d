// The example's command. Starts a temporary server unless --url names a running one, and prints the agent's progress.
import { parseArgs } from "node:util";
import { systemClock } from "../../src/base/domain/clock.ts";
import { Hone } from "../../src/apps/client/hone.ts";
import { withTemporaryServer } from "../../src/apps/cli/temporary-server.ts";
import { learn, type LearnOptions } from "./learn.ts";
import { linesOf, summaryLines } from "./screen.ts";

const help = `usage: npm run example -- [options]
Teaches an agent to look things up and to calculate with tools: first by written conversations (supervised fine-tuning), then by
what it earns on its own (reinforcement learning). Starts a server of its own unless --url names one; resumes nothing.

  --seed <number>            of market, questions and sampling        (1)
  --rounds <count>           of reinforcement learning                (16)
  --questions <count>        of a round                               (24)
  --tries <count>            of each question                         (16)
  --temperature <x>          at which they are sampled                (1)
  --demonstrations <count>   conversations to learn from; 0: none     (240)
  --epochs <count>           how often each of them is shown          (3)
  --supervised-rate <x>      learning rate of the supervised job      (0.002)
  --rate <x>                 learning rate of every round             (0.0002)
  --parallel <count>         conversations at once                    (32)
  --base-model <name>        whose template shows tools               (hone-tiny)
  --url <address>            a running server, started with --chat-tool-calls <base model>=auto
  --key <key>                its API key
  --json                     print points as JSON instead of drawing them
  --help`;

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    rounds: { type: "string", default: "16" },
    questions: { type: "string", default: "24" },
    tries: { type: "string", default: "16" },
    temperature: { type: "string", default: "1" },
    demonstrations: { type: "string", default: "240" },
    epochs: { type: "string", default: "3" },
    "supervised-rate": { type: "string", default: "0.002" },
    rate: { type: "string", default: "0.0002" },
    parallel: { type: "string", default: "32" },
    "base-model": { type: "string", default: "hone-tiny" },
    url: { type: "string" },
    key: { type: "string" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

/** Returns a flag's value as an integer. @throws Error if it is less than `min` */
function count(
  name: "seed" | "rounds" | "questions" | "tries" | "demonstrations" | "epochs" | "parallel",
  min: number,
): number {
  const value = Number(values[name]);
  if (!Number.isSafeInteger(value) || value < min)
    throw new Error(`--${name} is ${values[name]}; it has to be a whole number of at least ${min}`);
  return value;
}

function positive(name: "rate" | "supervised-rate" | "temperature"): number {
  const value = Number(values[name]);
  if (!(value > 0)) throw new Error(`--${name} is ${values[name]}; it has to be a number above 0`);
  return value;
}

function readOptions(): LearnOptions {
  const seed = count("seed", 0);
  return {
    baseModel: values["base-model"],
    project: "examples",
    name: `lookup-agent-${seed}-${systemClock.now().getTime()}`,
    seed,
    demonstrationCount: count("demonstrations", 0),
    demonstrationEpochs: count("epochs", 1),
    supervisedRate: positive("supervised-rate"),
    roundCount: count("rounds", 0),
    questionCount: count("questions", 1),
    groupSize: count("tries", 2),
    temperature: positive("temperature"),
    reinforcementRate: positive("rate"),
    parallel: count("parallel", 1),
  };
}

async function run(client: Hone, options: LearnOptions): Promise<void> {
  const print = (lines: readonly string[]): void => {
    if (!values.json) for (const line of lines) console.log(line);
  };
  print([
    `An agent on ${options.baseModel}: ${options.demonstrationCount} written conversations, then ${options.roundCount} rounds of ${options.questionCount} questions, ${options.groupSize} tries each (seed ${options.seed}).`,
    "",
  ]);
  const result = await learn(client, systemClock, options, (event) => print(linesOf(event)));
  if (values.json) console.log(JSON.stringify({ options, ...result }, null, 2));
  else print(summaryLines(result.points));
}

if (values.help) {
  console.log(help);
} else {
  const options = readOptions();
  if (values.url !== undefined)
    await run(new Hone({ baseUrl: values.url, apiKey: values.key ?? null }), options);
  else {
    const flags = { "chat-tool-calls": `${options.baseModel}=auto` };
    await withTemporaryServer(({ url, apiKey }) => run(new Hone({ baseUrl: url, apiKey }), options), flags);
  }
}
