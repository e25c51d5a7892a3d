// `hone demo`: train on a task that the model performs badly at first, and draw the rising reward.
import { resolve } from "node:path";
import type { Command } from "commander";
import { systemClock } from "../../../base/domain/clock.ts";
import { freshSeed } from "../../../base/domain/random.ts";
import { invalid, ServiceError } from "../../../base/domain/service-error.ts";
import { Hone } from "../../client/hone.ts";
import { readClientSettings } from "../../server/config.ts";
import { withTemporaryServer } from "../temporary-server.ts";
import { connect, type ConnectionFlags } from "../connection.ts";
import { createDemoScreen } from "../demo/demo-screen.ts";
import { demoModel, type AddedModel, type DemoModel } from "../demo/demo-model.ts";
import { keyRater, terminalKeyboard } from "../demo/feedback/key-rater.ts";
import { type Rater, simulatedRater } from "../demo/feedback/rater.ts";
import { feedbackTask, runFeedbackDemo } from "../demo/feedback/run-feedback-demo.ts";
import { type DemoEvent, runDemo } from "../demo/run-demo.ts";
import type { DemoTask } from "../demo/tasks/task.ts";
import { taskNames, taskOf } from "../demo/tasks/tasks.ts";
import { words } from "../demo/tasks/word-task.ts";
import { printJson } from "../json-output.ts";

interface DemoFlags extends ConnectionFlags {
  readonly model: string;
  readonly task?: string;
  readonly teach: string;
  readonly seed?: string;
  readonly jobs?: string;
  readonly learningRate?: string;
  readonly quantize?: string;
  readonly feedback?: boolean;
  readonly simulate?: boolean;
  readonly noise?: string;
  readonly json?: boolean;
}

export function addDemoCommand(program: Command): void {
  program
    .command("demo")
    .description(
      "Train a model by reinforcement learning, over HTTP, until it does a task well. The command starts its own server unless --url names one.",
    )
    .option(
      "--model <path or name>",
      "model to train: a folder, a GGUF file, a model that `hone models add` added, or with --url a base model of that server",
      "hone-tiny",
    )
    .option(
      "--task <name>",
      `task to teach: ${taskNames.join(", ")} (default: words for hone-tiny, sentiment for other models)`,
    )
    .option("--teach <word>", `word to teach, with the task words: ${words.join(", ")}`, "maybe")
    .option("--seed <number>", "seed for a reproducible run (default: a random one)")
    .option("--jobs <count>", "maximum number of training jobs (default: depends on the task, 12 to 21)")
    .option("--learning-rate <number>", "learning rate of all jobs (default: the task's)")
    .option(
      "--quantize <bits>",
      "weight precision of the demo's own server, as for `hone serve`: as-stored, 8, 4, off",
    )
    .option("--feedback", "train on your ratings: press + or - for each answer, and watch the model learn")
    .option("--simulate", "with --feedback: a simulated person rates the answers instead of you")
    .option("--noise <share>", "share of the simulated person's ratings that are wrong, from 0 to 0.5", "0.1")
    .option("--url <address>", "address of a running server")
    .option("--key <key>", "API key of that server")
    .option("--data <folder>", "data folder with the admin key and the added models")
    .option("--json", "print the reward curve as JSON instead of drawing it")
    .action(async (flags: DemoFlags) => {
      const model = demoModel(flags.model, flags.url === undefined ? await addedModels(flags) : null);
      const chosen = taskOf(flags.task ?? model.task, flags.teach);
      const task = flags.feedback === true ? feedbackTask(chosen) : chosen;
      if (flags.url !== undefined && flags.quantize !== undefined)
        throw new ServiceError({
          code: "invalid",
          message:
            "--quantize applies to the demo's own server; with --url, that server has its own setting.",
        });
      if (flags.url !== undefined) await show(connect(flags), task, model, flags);
      else
        await withTemporaryServer(
          ({ url, apiKey }) => show(new Hone({ baseUrl: url, apiKey }), task, model, flags),
          // Logs only errors: other log lines, such as a warning about a small job, would break up the curve.
          {
            "log-level": "error",
            ...model.serverFlags,
            ...(flags.quantize !== undefined && { quantize: flags.quantize }),
          },
        );
    });
}

/** Returns the added models that a server with this data folder would find. */
async function addedModels(flags: DemoFlags): Promise<readonly AddedModel[]> {
  const { addedBases } = await import("../../server/library/added-models.ts");
  return addedBases(resolve(flags.data ?? readClientSettings().data));
}

async function show(client: Hone, task: DemoTask, { baseModel }: DemoModel, flags: DemoFlags): Promise<void> {
  const seed = flags.seed === undefined ? freshSeed() % 1_000_000 : Number(flags.seed);
  const jobCountMax = flags.jobs === undefined ? task.training.jobCountMax : Number(flags.jobs);
  const screen = createDemoScreen({
    task,
    baseModel,
    seed,
    jobCountMax,
    output: process.stdout,
    isSilent: flags.json === true,
  });
  screen.begin();
  const options = {
    baseModel,
    project: "demo",
    name: `demo-${task.name}-${seed}-${systemClock.now().getTime()}`,
    task,
    seed,
    jobCountMax,
    learningRate: flags.learningRate === undefined ? task.training.learningRate : Number(flags.learningRate),
  };
  const emit = (event: DemoEvent): void => screen.show(event);
  const result =
    flags.feedback === true
      ? await withRater(flags, seed, (rater) =>
          runFeedbackDemo(client, systemClock, { ...options, rater }, emit),
        )
      : await runDemo(client, systemClock, options, emit);
  if (flags.json === true) printJson({ task: task.name, seed, ...result }, flags);
  else screen.end(result);
  if (!result.hasLearned) process.exitCode = 1;
}

/**
 * Calls `work` with a rater, and restores the terminal afterwards.
 *
 * @throws ServiceError `invalid` for an invalid --noise, or if the rater needs a keyboard but standard input is not a
 * terminal
 */
async function withRater<Result>(
  { simulate, noise }: DemoFlags,
  seed: number,
  work: (rater: Rater) => Promise<Result>,
): Promise<Result> {
  if (simulate === true) {
    const share = Number(noise);
    if (!(share >= 0 && share <= 0.5))
      throw invalid(`--noise is ${noise}; it must be a number from 0 to 0.5.`);
    return work(simulatedRater({ seed, noise: share }));
  }
  if (!process.stdin.isTTY)
    throw invalid(
      "--feedback reads keys from a terminal, and standard input is not one; use --simulate to rate automatically.",
    );
  const keyboard = terminalKeyboard(process.stdin);
  try {
    return await work(keyRater(keyboard, (text) => void process.stdout.write(text)));
  } finally {
    keyboard.close();
  }
}
