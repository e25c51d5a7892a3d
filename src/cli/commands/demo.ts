// `hone demo`: shows the loop on a task that the model answers badly at first, and draws the reward as it climbs.
import type { Command } from "commander";
import { systemClock } from "../../domain/clock.ts";
import { freshSeed } from "../../domain/random.ts";
import { ServiceError } from "../../domain/service-error.ts";
import { HoneClient } from "../../client/hone-client.ts";
import { withTemporaryServer } from "../temporary-server.ts";
import { connect, type ConnectionFlags } from "../connection.ts";
import { createDemoScreen } from "../demo/demo-screen.ts";
import { runDemo } from "../demo/run-demo.ts";
import { words, type Word } from "../demo/task.ts";

interface DemoFlags extends ConnectionFlags {
  readonly teach: string;
  readonly seed?: string;
  readonly jobs: string;
  readonly learningRate: string;
  readonly baseModel: string;
  readonly json?: boolean;
}

export function addDemoCommand(program: Command): void {
  program
    .command("demo")
    .description(
      "Train the built-in model by reinforcement learning, over HTTP, until it answers a task well. Starts a server of its own unless --url names one.",
    )
    .option("--teach <word>", `the word to teach: ${words.join(", ")}`, "maybe")
    .option("--seed <number>", "repeats a run (default: a fresh one)")
    .option("--jobs <count>", "most training jobs", "12")
    .option("--learning-rate <number>", "of every job", "0.0001")
    .option("--base-model <name>", "the model to train", "hone-tiny")
    .option("--url <address>", "a running server")
    .option("--key <key>", "its API key")
    .option("--data <folder>", "its data folder, to find the admin key in")
    .option("--json", "print the curve as JSON instead of drawing it")
    .action(async (flags: DemoFlags) => {
      const taught = wordOf(flags.teach);
      if (flags.url !== undefined) await show(connect(flags), taught, flags);
      else
        await withTemporaryServer(({ url, apiKey }) =>
          show(new HoneClient({ baseUrl: url, apiKey }), taught, flags),
        );
    });
}

async function show(client: HoneClient, taught: Word, flags: DemoFlags): Promise<void> {
  const seed = flags.seed === undefined ? freshSeed() % 1_000_000 : Number(flags.seed);
  const jobCountMax = Number(flags.jobs);
  const screen = createDemoScreen({
    taught,
    seed,
    jobCountMax,
    output: process.stdout,
    isSilent: flags.json === true,
  });
  screen.begin();
  const name = `demo-${taught}-${seed}-${systemClock.now().getTime()}`;
  const result = await runDemo(
    client,
    systemClock,
    {
      baseModel: flags.baseModel,
      project: "demo",
      name,
      taught,
      seed,
      jobCountMax,
      learningRate: Number(flags.learningRate),
      groupSize: 8,
    },
    (event) => screen.show(event),
  );
  if (flags.json === true) process.stdout.write(`${JSON.stringify({ taught, seed, ...result }, null, 2)}\n`);
  else screen.end(result);
  if (!result.hasLearned) process.exitCode = 1;
}

function wordOf(text: string): Word {
  const word = words.find((candidate) => candidate === text);
  if (word === undefined)
    throw new ServiceError({
      code: "invalid",
      message: `--teach is ${JSON.stringify(text)}; it must be one of ${words.join(", ")}.`,
    });
  return word;
}
