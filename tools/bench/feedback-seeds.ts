// Runs the demo with simulated thumbs for many seeds and reports each learning curve, to show that a model learns from
// feedback that is sometimes wrong, regardless of the seed. Exits with status 1 if a run did not learn or exceeded the
// time limit.
import { parseArgs } from "node:util";
import { systemClock } from "../../src/base/domain/clock.ts";
import { Hone } from "../../src/apps/client/hone.ts";
import { simulatedRater } from "../../src/apps/cli/demo/feedback/rater.ts";
import { feedbackTask, runFeedbackDemo } from "../../src/apps/cli/demo/feedback/run-feedback-demo.ts";
import type { DemoResult } from "../../src/apps/cli/demo/run-demo.ts";
import { taskOf } from "../../src/apps/cli/demo/tasks/tasks.ts";
import { withTemporaryServer } from "../../src/apps/cli/temporary-server.ts";

const help = `Usage: node dist/tools/bench/feedback-seeds.js [--seeds 10] [--from 1] [--teach maybe] [--noise 0.1] [--jobs 15]
  [--learning-rate x] [--limit-seconds 120] [--json]
Teaches the built-in model a word with simulated thumbs for this many seeds on one server. Prints one learning curve per line.`;

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "10" },
    from: { type: "string", default: "1" },
    teach: { type: "string", default: "maybe" },
    noise: { type: "string", default: "0.1" },
    jobs: { type: "string", default: "15" },
    "learning-rate": { type: "string" },
    "limit-seconds": { type: "string", default: "120" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

if (values.help) process.stdout.write(`${help}\n`);
else await runAll();

async function runAll(): Promise<void> {
  const results: DemoResult[] = [];
  await withTemporaryServer(
    async ({ url, apiKey }) => {
      const client = new Hone({ baseUrl: url, apiKey });
      for (let count = 0; count < Number(values.seeds); count++) {
        const seed = Number(values.from) + count;
        const result = await runOne(client, seed);
        results.push(result);
        if (!values.json) process.stdout.write(`${lineOf(seed, result)}\n`);
      }
    },
    { "log-level": "error" },
  );
  if (values.json) process.stdout.write(`${JSON.stringify(results, null, 2)}\n`);
  else summarise(results);
  const limit = Number(values["limit-seconds"]);
  if (results.some((result) => !result.hasLearned || secondsOf(result) > limit)) process.exitCode = 1;
}

function runOne(client: Hone, seed: number): Promise<DemoResult> {
  const task = feedbackTask(taskOf("words", values.teach));
  const { "learning-rate": rate } = values;
  const options = {
    baseModel: "hone-tiny",
    project: "feedback-seeds",
    name: `${values.teach}-${seed}-${systemClock.now().getTime()}`,
    task,
    seed,
    jobCountMax: Number(values.jobs),
    learningRate: rate === undefined ? task.training.learningRate : Number(rate),
    rater: simulatedRater({ seed, noise: Number(values.noise) }),
  };
  return runFeedbackDemo(client, systemClock, options, () => undefined);
}

function lineOf(seed: number, result: DemoResult): string {
  const curve = result.points.map((point) => point.sampledReward.toFixed(2)).join(" ");
  const outcome = result.hasLearned ? "learned" : "NOT LEARNED";
  return `seed ${String(seed).padStart(2)}  ${outcome}  ${secondsOf(result).toFixed(1)} s  sampled ${curve}`;
}

function summarise(results: readonly DemoResult[]): void {
  const learned = results.filter(({ hasLearned }) => hasLearned).length;
  const jobs = results.map(({ points }) => points.length - 1);
  const seconds = results.map(secondsOf);
  process.stdout.write(
    `learned ${learned} of ${results.length}; jobs ${Math.min(...jobs)} to ${Math.max(...jobs)}; longest run ${Math.max(...seconds).toFixed(1)} s\n`,
  );
}

function secondsOf(result: DemoResult): number {
  return (result.points.at(-1)?.elapsedMs ?? 0) / 1000;
}
