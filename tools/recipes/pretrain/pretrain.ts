// Creates the built-in model from scratch in one run: vocabulary, training, export, evaluation and model card. The run
// can be stopped at any time, and the same command then continues as if it had never stopped. On an interrupt it first
// writes a checkpoint.
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
Creates models/hone-tiny from scratch by the recipe, or continues a run that was stopped.

  --out <folder>      folder for the finished model                            (models/hone-tiny)
  --state <folder>    folder for the state of an unfinished run                (.hone-pretrain)
  --minutes <number>  stop after this time; the next start continues the run   (no limit)
  --help              print this help`;

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
  if (!(minutes > 0)) throw new Error(`--minutes is ${values.minutes}; it must be a number above 0`);
  return { out: values.out, state: values.state, minutes };
}

async function pretrain(settings: Settings): Promise<void> {
  const run = await openRun(settings.state, honeTiny);
  const before = run.start.progress.stepCount;
  console.log(before === 0 ? "starting" : `continuing after ${before} steps`);
  const { stepCount, cost } = await trainPiece(run, settings);
  if (stepCount < stepCountOf(run.recipe)) {
    console.log("stopped; run the same command to continue");
    return;
  }
  console.log("training finished; evaluating the model");
  const evaluation = await evaluate(run.modelFolder, { count: 200, seed: "evaluation", threads: 2 });
  writeCard(run.modelFolder, { recipe: run.recipe, cost, evaluation });
  for (const name of readdirSync(run.modelFolder))
    cpSync(join(run.modelFolder, name), join(settings.out, name));
  console.log(`done: ${settings.out}`);
}

/**
 * Trains until the run is finished, the time limit is reached or an interrupt arrives. Writes a checkpoint
 * periodically and at the end.
 */
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

/** Returns the cost of the earlier pieces plus that of this piece so far. */
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
