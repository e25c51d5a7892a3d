// Measures how well `train` learns small tasks with its default settings: six tasks for hone-tiny and three for a
// pretrained model, none of them used by the demo. Runs several seeds per task on a real server over HTTP. Exits with
// status 1 if fewer than five of six tasks reach 0.8 of the attainable reward on four of five seeds.
import { parseArgs } from "node:util";
import { demoModel } from "../../src/apps/cli/demo/demo-model.ts";
import { withTemporaryServer } from "../../src/apps/cli/temporary-server.ts";
import { Hone } from "../../src/apps/client/hone.ts";
import type { TrainingConfig } from "../../src/apps/client/training/train-options.ts";
import type { LearningTask } from "./tasks/learning-task.ts";
import { oneTurnTasks } from "./tasks/one-turn-tasks.ts";
import { pretrainedTasks } from "./tasks/pretrained-tasks.ts";
import { runTask, taughtReward, type OtherOptions, type TaskRun } from "./tasks/run-task.ts";
import { shopTask } from "./tasks/shop-task.ts";
import { outcomeOf, tableOf, type TaskOutcome } from "./tasks/table.ts";

const tinyTasks: readonly LearningTask[] = [...oneTurnTasks, shopTask];
const allTasks: readonly LearningTask[] = [...tinyTasks, ...pretrainedTasks];

const namesOf = (tasks: readonly LearningTask[]): string => tasks.map(({ name }) => name).join(", ");

const help = `Usage: node dist/tools/bench/tasks.js [options]
Trains a new model on each task and seed with the client's \`train\` and prints a table.

  --model <name or file>   hone-tiny, or the GGUF file or folder of a pretrained model (default hone-tiny)
  --task <a,b>             names of the tasks; default for hone-tiny: ${namesOf(tinyTasks)};
                           default for other models: ${namesOf(pretrainedTasks)}
  --seeds <count>          number of seeds (default 5)
  --from <seed>            first seed (default 1)
  --rounds <count>         number of training rounds (default 12)
  --config <json>          experimental_config of the jobs instead of the defaults, such as '{"steps": 4}'
  --options <json>         options of train instead of the defaults, such as '{"groupSize": 16, "request": {"temperature": 1.2}}'
  --reachable              only fine-tune on each task's answers, and print the reward that the model then earns
  --json                   print each run with the figures of each round as JSON; progress goes to standard error
  --help                   print this help

The attainable reward is 1 for every task: supervised fine-tuning reaches it (--reachable).
${allTasks.map(({ name, about }) => `  ${name.padEnd(10)} ${about}`).join("\n")}`;

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "hone-tiny" },
    task: { type: "string" },
    seeds: { type: "string", default: "5" },
    from: { type: "string", default: "1" },
    rounds: { type: "string", default: "12" },
    config: { type: "string" },
    options: { type: "string" },
    reachable: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

if (values.help) process.stdout.write(`${help}\n`);
else await runAll();

async function runAll(): Promise<void> {
  const tasks = chosenTasks(values.task);
  const model = demoModel(values.model, []);
  const flags = { "log-level": "error", "chat-tool-calls": `${model.baseModel}=auto`, ...model.serverFlags };
  await withTemporaryServer(async ({ url, apiKey }) => {
    const hone = new Hone({ baseUrl: url, apiKey });
    if (values.reachable) await teachAll(hone, tasks, model.baseModel);
    else await trainAll(hone, tasks, model.baseModel);
  }, flags);
}

function chosenTasks(names: string | undefined): readonly LearningTask[] {
  if (names === undefined) return values.model === "hone-tiny" ? tinyTasks : pretrainedTasks;
  return names.split(",").map((name) => {
    const task = allTasks.find((one) => one.name === name);
    if (task !== undefined) return task;
    throw new Error(`--task is ${JSON.stringify(name)}; it must be one of ${namesOf(allTasks)}.`);
  });
}

async function teachAll(hone: Hone, tasks: readonly LearningTask[], base: string): Promise<void> {
  for (const task of tasks) {
    const reward = await taughtReward(hone, task, { base, seed: Number(values.from) });
    process.stdout.write(`${task.name.padEnd(10)} ${reward.toFixed(2)}\n`);
  }
}

async function trainAll(hone: Hone, tasks: readonly LearningTask[], base: string): Promise<void> {
  const outcomes: TaskOutcome[] = [];
  for (const task of tasks) {
    const runs: TaskRun[] = [];
    for (let count = 0; count < Number(values.seeds); count++) {
      const run = await runTask(hone, task, {
        base,
        seed: Number(values.from) + count,
        rounds: Number(values.rounds),
        other: otherOptions(),
        onRound: (round, reward) =>
          process.stderr.write(
            `${task.name} seed ${Number(values.from) + count} round ${round + 1}: ${reward.toFixed(2)}\n`,
          ),
      });
      runs.push(run);
      if (!values.json) process.stdout.write(`${lineOf(run)}\n`);
    }
    outcomes.push(outcomeOf(task.name, runs));
  }
  if (values.json) process.stdout.write(`${JSON.stringify(outcomes, null, 2)}\n`);
  else process.stdout.write(`\n${tableOf(outcomes)}\n`);
  const learned = outcomes.filter(({ isLearned }) => isLearned).length;
  if (learned < Math.ceil((5 / 6) * outcomes.length)) process.exitCode = 1;
}

function otherOptions(): OtherOptions {
  // Safe casts: the server and `train` validate both values.
  const options = values.options === undefined ? {} : (JSON.parse(values.options) as OtherOptions);
  if (values.config === undefined) return options;
  return { ...options, config: JSON.parse(values.config) as TrainingConfig };
}

function lineOf({ task, seed, rewards, seconds }: TaskRun): string {
  const curve = rewards.map((reward) => reward.toFixed(2)).join(" ");
  return `${task.padEnd(10)} seed ${seed}  ${curve}  ${seconds.toFixed(0)} s`;
}
