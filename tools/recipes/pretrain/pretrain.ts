// Makes the built-in model from nothing, in one run: vocabulary, training, export, evaluation, model card. The run can
// stop at any moment, and the same command then continues as if it had never stopped. An interrupt writes a checkpoint
// first.
import { cpSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { systemClock } from "../../../src/base/domain/clock.ts";
import { writeModelWeights } from "../../../src/inference/architectures/testing/random-weights.ts";
import { type Cost, writeCheckpoint } from "./checkpoint.ts";
import { evaluate } from "./measuring/evaluation.ts";
import { writeCard } from "./model/model-card.ts";
import { createProgressLine, every } from "./progress-line.ts";
import { honeTiny, stepCountOf } from "./recipe.ts";
import { type TrainingRun, openRun, takeSteps } from "./training-run.ts";

const help = `usage: npm run pretrain -- [options]
Makes models/hone-tiny from nothing by the recipe, or goes on where it was stopped.

  --out <folder>      where the finished model is put             (models/hone-tiny)
  --state <folder>    where the run lives until it is finished    (.hone-pretrain)
  --minutes <number>  stop after that long; the next start goes on  (no limit)
  --help`;

interface Settings {
  readonly out: string;
  readonly state: string;
  readonly minutes: number;
}

const checkpointEverySeconds = 120;
const reportEverySeconds = 10;

function readSettings(): Settings | null {
  const { values } = parseArgs({
    options: {
      out: { type: "string", default: "models/hone-tiny" },
      state: { type: "string", default: ".hone-pretrain" },
      minutes: { type: "string", default: "Infinity" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return null;
  const minutes = Number(values.minutes);
  if (!(minutes > 0)) throw new Error(`--minutes is ${values.minutes}; it has to be a number above 0`);
  return { out: values.out, state: values.state, minutes };
}

async function pretrain(settings: Settings): Promise<void> {
  const run = await openRun(settings.state, honeTiny);
  const before = run.start.progress.stepCount;
  console.log(before === 0 ? "starting" : `going on after ${before} steps`);
  const { stepCount, cost } = await trainPiece(run, settings);
  if (stepCount < stepCountOf(run.recipe)) {
    console.log("stopped; the same command goes on");
    return;
  }
  console.log("trained; measuring what it has learned");
  const evaluation = await evaluate(run.modelFolder, { count: 200, seed: "evaluation", threads: 2 });
  writeCard(run.modelFolder, { recipe: run.recipe, cost, evaluation });
  for (const name of readdirSync(run.modelFolder))
    cpSync(join(run.modelFolder, name), join(settings.out, name));
  console.log(`done: ${settings.out}`);
}

/** Trains until the end, the time limit or an interrupt, with a checkpoint now and then and one at the end. */
async function trainPiece(
  run: TrainingRun,
  { state, minutes }: Settings,
): Promise<{ readonly stepCount: number; readonly cost: Cost }> {
  const { recipe, config, start } = run;
  const seconds = stopwatch();
  const save = (stepCount: number): Cost => {
    const cost = addedCost(start.progress.cost, seconds());
    writeCheckpoint(state, config, { ...start, progress: { stepCount, cost } });
    writeModelWeights(run.modelFolder, config, { weights: start.weights, type: "BF16" });
    return cost;
  };
  const print = createProgressLine(recipe, start.progress.stepCount);
  const isReportDue = every(reportEverySeconds);
  const isSaveDue = every(checkpointEverySeconds);
  let isInterrupted = false;
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => (isInterrupted = true));
  const stepCount = await takeSteps(run, (report) => {
    const line = print(report, seconds());
    if (isReportDue(seconds())) console.log(line);
    if (isSaveDue(seconds())) save(report.stepCount);
    return !isInterrupted && seconds() < minutes * 60;
  });
  return { stepCount, cost: stepCount === start.progress.stepCount ? start.progress.cost : save(stepCount) };
}

function stopwatch(): () => number {
  const startedMs = systemClock.monotonicMs();
  return () => (systemClock.monotonicMs() - startedMs) / 1000;
}

/** The cost of the pieces before, and of this one so far. */
function addedCost(before: Cost, wallSeconds: number): Cost {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  return {
    pieces: before.pieces + 1,
    wallSeconds: before.wallSeconds + wallSeconds,
    processorSeconds: before.processorSeconds + (userCPUTime + systemCPUTime) / 1e6,
    memoryBytes: Math.max(before.memoryBytes, maxRSS * 1024),
  };
}

const settings = readSettings();
if (settings === null) console.log(help);
else await pretrain(settings);
