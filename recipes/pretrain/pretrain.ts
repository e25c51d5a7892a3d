// Trains hone-tiny from nothing: seeded corpus, all weights, AdamW, on the CPU. It can be stopped at any moment and
// started again: it goes on from the newest checkpoint as if it had never stopped; an interrupt writes one first. `--help` says what there is to set.
import { mkdirSync } from "node:fs";
import { parseArgs } from "node:util";
import { assert } from "../../src/domain/assert.ts";
import { systemClock } from "../../src/domain/clock.ts";
import { resumeRandom, seededRandom } from "../../src/domain/random.ts";
import type { ModelConfig } from "../../src/model/config.ts";
import { isNormWeight } from "../../src/model/parameters.ts";
import { createRandomWeights } from "../../src/model/random-weights.ts";
import { readModelConfig } from "../../src/model/config/read-config.ts";
import { weightsInMemory, writeModelWeights } from "../../src/model/weights.ts";
import { loadTokenizer } from "../../src/tokenizer/load-tokenizer.ts";
import type { Tokenizer } from "../../src/tokenizer/tokenizer.ts";
import { type AdamWOptions, adamWStep, createAdamWState } from "../../src/training/adamw.ts";
import { measureAccuracy } from "./measuring/accuracy.ts";
import { type Checkpoint, readCheckpoint, writeCheckpoint } from "./checkpoint.ts";
import { writeConfiguration } from "./model/folder.ts";
import { createGenerator } from "./measuring/generate.ts";
import { createParallelLearner } from "./learner/parallel-learner.ts";
import { drawBatch } from "./learner/rows.ts";

const help = `usage: npm run pretrain -- [options]
Trains models/hone-tiny from nothing on a generated corpus, or goes on from the newest checkpoint.

  --model <folder>       where tokenizer.json lies and the model is written   (models/hone-tiny)
  --state <folder>       where checkpoints are kept                           (.hone-pretrain)
  --tokens <millions>    how much to train in all                             (18)
  --minutes <number>     stop after that long; the next start goes on         (no limit)
  --rows <number>        rows of a batch                                      (16)
  --length <number>      tokens of a row                                      (128)
  --learning-rate <x>    the greatest                                         (0.002)
  --decay <fraction>     the last part of the run, in which it falls to zero  (0.5)
  --factors <k=x,...>    draw these kinds of exercise x times as often        (none)
  --workers <number>     threads that compute, each on its share of the rows  (2)
  --seed <text>          of weights and corpus                                (hone-tiny)
  --help`;

interface Settings {
  readonly model: string;
  readonly state: string;
  readonly tokenCount: number;
  readonly durationMs: number;
  readonly rowCount: number;
  readonly length: number;
  readonly learningRate: number;
  readonly decay: number;
  readonly factors: ReadonlyMap<string, number>;
  readonly workers: number;
  readonly seed: string;
}

const warmUpSteps = 100;
const checkpointEveryMs = 120_000;
const measureEveryMs = 300_000;
const reportEveryMs = 10_000;

function readSettings(): Settings | null {
  const text = (value: string) => ({ type: "string", default: value }) as const;
  const { values } = parseArgs({
    options: {
      model: text("models/hone-tiny"),
      state: text(".hone-pretrain"),
      tokens: text("18"),
      minutes: text("Infinity"),
      rows: text("16"),
      length: text("128"),
      "learning-rate": text("0.002"),
      decay: text("0.5"),
      factors: text(""),
      workers: text("2"),
      seed: text("hone-tiny"),
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return null;
  const number = (
    name: "tokens" | "minutes" | "rows" | "length" | "learning-rate" | "decay" | "workers",
  ): number => {
    const value = Number(values[name]);
    if (!(value > 0)) throw new Error(`--${name} is ${values[name]}; it has to be a number above 0`);
    return value;
  };
  return {
    model: values.model,
    state: values.state,
    tokenCount: number("tokens") * 1e6,
    durationMs: number("minutes") * 60_000,
    rowCount: number("rows"),
    length: number("length"),
    learningRate: number("learning-rate"),
    decay: number("decay"),
    factors: readFactors(values.factors),
    workers: number("workers"),
    seed: values.seed,
  };
}

function readFactors(text: string): ReadonlyMap<string, number> {
  const pairs = text.split(",").filter((pair) => pair !== "");
  return new Map(
    pairs.map((pair) => {
      const [kind = "", factor] = pair.split("=");
      assert(Number(factor) >= 0, `--factors ${pair} has the form kind=number`);
      return [kind, Number(factor)];
    }),
  );
}

async function pretrain(settings: Settings): Promise<void> {
  mkdirSync(settings.state, { recursive: true });
  writeConfiguration(settings.model);
  const config = readModelConfig(settings.model);
  const tokenizer = await loadTokenizer(settings.model);
  const start = readCheckpoint(settings.state) ?? beginning(config, settings.seed);
  const weightCount = [...start.weights.values()].reduce((sum, { length }) => sum + length, 0);
  console.log(
    `${weightCount} weights; ${start.progress.stepCount === 0 ? "starting" : `going on after ${start.progress.stepCount} steps`}`,
  );
  await train(settings, { config, tokenizer, start });
}

function beginning(config: ModelConfig, seed: string): Checkpoint {
  const weights = createRandomWeights(config, { seed, deviation: 0.04 });
  // What writes into the residual stream begins smaller, the more layers do so (Radford et al., 2019).
  const shrink = 1 / Math.sqrt(2 * config.layers.length);
  for (const [name, values] of weights) {
    if (!/(o_proj|down_proj)\.weight$/.test(name)) continue;
    for (let index = 0; index < values.length; index++) values[index] *= shrink;
  }
  const random = seededRandom("corpus", seed).state();
  return {
    weights,
    optimizer: createAdamWState(weights),
    progress: { stepCount: 0, tokenCount: 0, elapsedMs: 0, random },
  };
}

interface Run {
  readonly config: ModelConfig;
  readonly tokenizer: Tokenizer;
  readonly start: Checkpoint;
}

/** The loop: a batch, its gradient, a step; now and then a line, a checkpoint, a measurement. */
async function train(settings: Settings, { config, tokenizer, start }: Run): Promise<void> {
  const { weights, optimizer } = start;
  const { rowCount, length, factors, workers } = settings;
  const learner = await createParallelLearner(config, { workers });
  const random = resumeRandom(start.progress.random);
  let { stepCount, tokenCount } = start.progress;
  const firstTokenCount = tokenCount;
  const startedMs = systemClock.monotonicMs();
  const passedMs = (): number => systemClock.monotonicMs() - startedMs;
  const save = (): void => {
    const progress = {
      stepCount,
      tokenCount,
      elapsedMs: start.progress.elapsedMs + passedMs(),
      random: random.state(),
    };
    writeCheckpoint(settings.state, config, { weights, optimizer, progress });
    writeModelWeights(settings.model, config, { weights, type: "BF16" });
  };
  const isReportDue = every(reportEveryMs);
  const isSaveDue = every(checkpointEveryMs);
  const isMeasureDue = every(measureEveryMs);
  let smoothLoss = Number.NaN;
  let norm = 0;
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stop.abort());
  while (tokenCount < settings.tokenCount && passedMs() < settings.durationMs && !stop.signal.aborted) {
    const batch = drawBatch(tokenizer, random, { rowCount, length, mixture: { factors, toolChats: 0.3 } });
    const { loss, gradients } = await learner.differentiate(weights, batch);
    norm = adamWStep(
      optimizer,
      weights,
      gradients,
      optimizerOptions(settings, stepCount, tokenCount),
    ).gradientNorm;
    stepCount += 1;
    tokenCount += rowCount * length;
    smoothLoss = Number.isNaN(smoothLoss) ? loss : 0.98 * smoothLoss + 0.02 * loss;
    if (isReportDue(passedMs())) {
      const speed = (tokenCount - firstTokenCount) / (passedMs() / 1000);
      report({
        stepCount,
        tokenCount,
        smoothLoss,
        norm,
        speed,
        leftMs: timeLeft(settings, tokenCount, speed, passedMs()),
      });
    }
    if (isSaveDue(passedMs())) save();
    if (isMeasureDue(passedMs())) await measure({ config, tokenizer }, weights, workers);
  }
  save();
  if (!stop.signal.aborted) await measure({ config, tokenizer }, weights, workers);
  await learner.close();
  console.log(tokenCount < settings.tokenCount ? "stopped; start again to go on" : "done");
}

/** Warm-up, a plateau, then a line to zero. */
function optimizerOptions(settings: Settings, stepCount: number, tokenCount: number): AdamWOptions {
  const rising = Math.min(1, (stepCount + 1) / warmUpSteps);
  const falling = Math.min(1, (1 - tokenCount / settings.tokenCount) / settings.decay);
  return {
    learningRate: settings.learningRate * Math.min(rising, falling),
    beta1: 0.9,
    beta2: 0.98,
    epsilon: 1e-8,
    weightDecay: 0.1,
    decays: (name) => !isNormWeight(name),
    gradientNormMax: 1,
  };
}

function timeLeft(settings: Settings, tokenCount: number, speed: number, passedMs: number): number {
  return Math.min(((settings.tokenCount - tokenCount) / speed) * 1000, settings.durationMs - passedMs);
}

/** True once per period. */
function every(periodMs: number): (passedMs: number) => boolean {
  let dueMs = periodMs;
  return (passedMs) => {
    if (passedMs < dueMs) return false;
    dueMs = passedMs + periodMs;
    return true;
  };
}

function report(line: {
  readonly stepCount: number;
  readonly tokenCount: number;
  readonly smoothLoss: number;
  readonly norm: number;
  readonly speed: number;
  readonly leftMs: number;
}): void {
  console.log(
    `step ${line.stepCount}  ${(line.tokenCount / 1e6).toFixed(2)} M tokens  loss ${line.smoothLoss.toFixed(4)}  ` +
      `gradient ${line.norm.toFixed(2)}  ${Math.round(line.speed)} tokens/s  ${(line.leftMs / 60_000).toFixed(1)} min left`,
  );
}

async function measure(
  { config, tokenizer }: Pick<Run, "config" | "tokenizer">,
  weights: ReadonlyMap<string, Float32Array>,
  threads: number,
): Promise<void> {
  const generator = await createGenerator(config, weightsInMemory(config, weights), { threads });
  const results = await measureAccuracy({ tokenizer, generator }, { seed: "progress", count: 32 });
  await generator.close();
  console.log(
    `held out: ${results.map(({ kind, wordings, contents }) => `${kind} ${wordings.right}/${contents?.right}`).join("  ")}`,
  );
  for (const {
    wordings: { mistakes },
  } of results) {
    const [mistake] = mistakes;
    if (mistake !== undefined) console.log(`  ${JSON.stringify(mistake)}`);
  }
}

const settings = readSettings();
if (settings === null) console.log(help);
else await pretrain(settings);
