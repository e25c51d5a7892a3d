// Runs the demo for one task with many seeds and reports each learning curve, to show that success does not depend on
// the seed. Exits with status 1 if a run did not learn or exceeded the time limit.
import { parseArgs } from "node:util";
import { systemClock } from "../../src/base/domain/clock.ts";
import { Hone } from "../../src/apps/client/hone.ts";
import { demoModel } from "../../src/apps/cli/demo/demo-model.ts";
import { runDemo, type DemoResult } from "../../src/apps/cli/demo/run-demo.ts";
import type { DemoTask } from "../../src/apps/cli/demo/tasks/task.ts";
import { taskOf } from "../../src/apps/cli/demo/tasks/tasks.ts";
import { withTemporaryServer } from "../../src/apps/cli/temporary-server.ts";

const help = `Usage: node dist/tools/bench/demo-seeds.js [--model path] [--task name] [--seeds 10] [--from 1] [--teach maybe,yes] [--jobs count]
  [--learning-rate x] [--quantize as-stored] [--base-precision float32] [--limit-seconds 90] [--json]
Runs the demo with this many seeds on one server, for each word if the task teaches words. Prints one learning curve per line.
Each run trains a new model. The first run also includes the server's one-time work.`;

interface Run {
  readonly task: string;
  readonly seed: number;
  readonly result: DemoResult;
}

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "hone-tiny" },
    task: { type: "string" },
    seeds: { type: "string", default: "10" },
    from: { type: "string", default: "1" },
    teach: { type: "string", default: "maybe,yes" },
    jobs: { type: "string" },
    quantize: { type: "string", default: "as-stored" },
    "base-precision": { type: "string", default: "float32" },
    "learning-rate": { type: "string" },
    "limit-seconds": { type: "string", default: "90" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

if (values.help) process.stdout.write(`${help}\n`);
else await runAll();

async function runAll(): Promise<void> {
  const model = demoModel(values.model, []);
  const name = values.task ?? model.task;
  const tasks = (name === "words" ? values.teach.split(",") : [""]).map((taught) => taskOf(name, taught));
  const runs: Run[] = [];
  await withTemporaryServer(
    async ({ url, apiKey }) => {
      const client = new Hone({ baseUrl: url, apiKey });
      for (const task of tasks) {
        for (let count = 0; count < Number(values.seeds); count++) {
          const seed = Number(values.from) + count;
          runs.push({ task: task.aim, seed, result: await runOne(client, model.baseModel, { task, seed }) });
        }
      }
    },
    {
      "log-level": "error",
      ...model.serverFlags,
      quantize: values.quantize,
      "training-base-precision": values["base-precision"],
    },
  );
  if (values.json) process.stdout.write(`${JSON.stringify(runs, null, 2)}\n`);
  else summarise(runs);
  const limit = Number(values["limit-seconds"]);
  if (runs.some(({ result }) => !result.hasLearned || secondsOf(result) > limit)) process.exitCode = 1;
}

async function runOne(
  client: Hone,
  baseModel: string,
  { task, seed }: { readonly task: DemoTask; readonly seed: number },
): Promise<DemoResult> {
  const { jobs, "learning-rate": rate } = values;
  const result = await runDemo(
    client,
    systemClock,
    {
      baseModel,
      project: "demo-seeds",
      name: `${task.name}-${seed}-${systemClock.now().getTime()}`,
      task,
      seed,
      jobCountMax: jobs === undefined ? task.training.jobCountMax : Number(jobs),
      learningRate: rate === undefined ? task.training.learningRate : Number(rate),
    },
    () => undefined,
  );
  if (!values.json) {
    const curve = (of: "sampledReward" | "testReward"): string =>
      result.points.map((point) => point[of].toFixed(2)).join(" ");
    process.stdout.write(
      `${task.name} seed ${String(seed).padStart(2)}  ${result.hasLearned ? "learned" : "NOT LEARNED"}  ${secondsOf(result).toFixed(1)} s  ` +
        `${task.testedOn} ${curve("testReward")}  sampled ${curve("sampledReward")}\n`,
    );
  }
  return result;
}

function summarise(runs: readonly Run[]): void {
  const learned = runs.filter(({ result }) => result.hasLearned).length;
  const jobs = runs.map(({ result }) => result.points.length - 1);
  const starts = runs.map(({ result }) => result.points[0]?.testReward ?? Number.NaN);
  const ends = runs.map(({ result }) => result.points.at(-1)?.testReward ?? Number.NaN);
  const seconds = runs.map(({ result }) => secondsOf(result));
  process.stdout.write(
    `learned ${learned} of ${runs.length}; jobs ${Math.min(...jobs)} to ${Math.max(...jobs)}; ` +
      `test reward ${rangeOf(starts)} at first, ${rangeOf(ends)} at the end; longest run ${Math.max(...seconds).toFixed(1)} s\n`,
  );
}

function rangeOf(numbers: readonly number[]): string {
  return `${Math.min(...numbers).toFixed(2)} to ${Math.max(...numbers).toFixed(2)}`;
}

function secondsOf(result: DemoResult): number {
  return (result.points.at(-1)?.elapsedMs ?? 0) / 1000;
}
