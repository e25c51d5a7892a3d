// Runs the demo for many seeds and for several taught words, and reports every curve: whether learning does it, or luck.
// Ends with status 1 when a run has not learned or took longer than the limit.
import { parseArgs } from "node:util";
import { systemClock } from "../src/domain/clock.ts";
import { HoneClient } from "../src/client/hone-client.ts";
import { runDemo, type DemoResult } from "../src/cli/demo/run-demo.ts";
import { words, type Word } from "../src/cli/demo/task.ts";
import { withTemporaryServer } from "../src/cli/temporary-server.ts";

const help = `Usage: node dist/bench/demo-seeds.js [--seeds 10] [--teach maybe,yes] [--jobs 12] [--learning-rate 0.0001] [--json]
Runs the demo for seeds 1..N and each word on one server, and prints a curve a line.`;

interface Run {
  readonly taught: Word;
  readonly seed: number;
  readonly result: DemoResult;
}

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "10" },
    teach: { type: "string", default: "maybe,yes" },
    jobs: { type: "string", default: "12" },
    "learning-rate": { type: "string", default: "0.0001" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

if (values.help) process.stdout.write(`${help}\n`);
else await runAll();

async function runAll(): Promise<void> {
  const taught = words.filter((word) => values.teach.split(",").includes(word));
  const runs: Run[] = [];
  await withTemporaryServer(async ({ url, apiKey }) => {
    const client = new HoneClient({ baseUrl: url, apiKey });
    for (const word of taught) {
      for (let seed = 1; seed <= Number(values.seeds); seed++)
        runs.push({ taught: word, seed, result: await runOne(client, word, seed) });
    }
  });
  if (values.json) process.stdout.write(`${JSON.stringify(runs, null, 2)}\n`);
  else summarise(runs);
  if (runs.some(({ result }) => !result.hasLearned || secondsOf(result) > 60)) process.exitCode = 1;
}

async function runOne(client: HoneClient, taught: Word, seed: number): Promise<DemoResult> {
  const result = await runDemo(
    client,
    systemClock,
    {
      baseModel: "hone-tiny",
      project: "demo-seeds",
      name: `${taught}-${seed}`,
      taught,
      seed,
      jobCountMax: Number(values.jobs),
      learningRate: Number(values["learning-rate"]),
      groupSize: 8,
    },
    () => undefined,
  );
  if (!values.json) {
    const curve = result.points.map((point) => point.sampledReward.toFixed(2)).join(" ");
    const greedy = result.points.at(-1)?.greedyReward.toFixed(2);
    process.stdout.write(
      `${taught.padEnd(5)} seed ${String(seed).padStart(2)}  ${result.hasLearned ? "learned" : "NOT LEARNED"}  ${secondsOf(result).toFixed(1)} s  greedy ${greedy}  sampled ${curve}\n`,
    );
  }
  return result;
}

function summarise(runs: readonly Run[]): void {
  const learned = runs.filter(({ result }) => result.hasLearned).length;
  const jobs = runs.map(({ result }) => result.points.length - 1);
  const starts = runs.map(({ result }) => result.points[0]?.sampledReward ?? Number.NaN);
  const seconds = runs.map(({ result }) => secondsOf(result));
  process.stdout.write(
    `learned ${learned} of ${runs.length}; jobs ${Math.min(...jobs)} to ${Math.max(...jobs)}; ` +
      `start reward ${Math.min(...starts).toFixed(2)} to ${Math.max(...starts).toFixed(2)}; longest run ${Math.max(...seconds).toFixed(1)} s\n`,
  );
}

function secondsOf(result: DemoResult): number {
  return (result.points.at(-1)?.elapsedMs ?? 0) / 1000;
}
