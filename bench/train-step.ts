// How fast a LoRA gradient step is, and how much of the machine's matrix product rate it uses. Both are measured in one
// run, turn about, and the best of each counts, so that a busy machine disturbs the ratio little.
import { systemClock } from "../src/domain/clock.ts";
import { seededRandom } from "../src/domain/random.ts";
import { resolveTrainingConfig } from "../src/domain/training-config.ts";
import { loraProjections, modelParameters, projectionNames } from "../src/model/parameters.ts";
import { reinforcementLearningAdamW } from "../src/training/adamw.ts";
import { EmbeddedTrainers } from "../src/training/embedded/embedded-trainer.ts";
import type { Trainer, TrainerCall, TrainingSequence } from "../src/training/trainer.ts";
import { matMulRate } from "./limits.ts";
import { runBench, type BenchOptions } from "./run-bench.ts";
import { subjects, type Subject } from "./subjects.ts";

const help = `Usage: node dist/bench/train-step.js [flags]
Times LoRA steps (rank 8, all seven projections): 4 rows of 128 tokens on a 135 M Llama of random weights, and
16 rows of 128 tokens on models/hone-tiny where it is there. Reports tokens/s and FLOP/s beside the rate of a plain MatMul.

What counts as FLOPs, with P weights in products, N tokens, and every token trained but the first of each row:
  forward 2PN, gradient of inputs 2PN (the frozen weights have no gradient of their own);
  LoRA 6 rank (in + out) N per projection (forward, and both gradients);
  attention 4 T² heads headSize per row and layer forward, twice that backward (the causal half is not left out).`;

const rank = 8;

const length = 128;
const rowCounts = { tiny: 16, "135m": 4 } as const;

interface Measurement {
  readonly name: string;
  readonly rows: number;
  readonly tokensPerRow: number;
  readonly stepMs: number;
  readonly tokensPerSecond: number;
  readonly gflopPerStep: number;
  readonly gflopPerSecond: number;
  readonly matMulGflopPerSecond: number;
  /** Of the rate of a plain product. */
  readonly ratio: number;
  readonly memoryGb: number;
}

await runBench<Measurement>({
  script: import.meta.url,
  help,
  measure: async (options) => {
    const measurements: Measurement[] = [];
    for (const subject of subjects(options)) measurements.push(await measure(subject, options));
    return measurements;
  },
  textOf: lineOf,
});

async function measure(subject: Subject, { rounds, threads }: BenchOptions): Promise<Measurement> {
  const rowCount = rowCounts[subject.size];
  const trainers = new EmbeddedTrainers({
    config: subject.config,
    weights: subject.weights,
    lora: { rank, alpha: 16, targets: projectionNames },
    baseModelName: subject.name,
    dataFolder: ".",
    sequenceLengthMax: length,
    microbatchTokens: rowCount * length,
    sharesPrefixes: true,
    threads,
  });
  const trainer = await trainers.open({ from: null, seed: "bench" });
  const batch = randomBatch(subject);
  await takeStep(trainer, batch, "warm-up");
  let stepMs = Infinity;
  let matMulFlopsPerSecond = 0;
  for (let step = 0; step < rounds; step++) {
    matMulFlopsPerSecond = Math.max(matMulFlopsPerSecond, await matMulRate({ threads, seconds: 0.3 }));
    const startMs = systemClock.monotonicMs();
    await takeStep(trainer, batch, `step ${step}`);
    stepMs = Math.min(stepMs, systemClock.monotonicMs() - startMs);
  }
  await trainers.close();
  const gflopPerStep = flopCount(subject) / 1e9;
  const gflopPerSecond = gflopPerStep / (stepMs / 1000);
  const matMulGflopPerSecond = matMulFlopsPerSecond / 1e9;
  return {
    name: subject.name,
    rows: rowCount,
    tokensPerRow: length,
    stepMs,
    tokensPerSecond: (rowCount * length) / (stepMs / 1000),
    gflopPerStep,
    gflopPerSecond,
    matMulGflopPerSecond,
    ratio: gflopPerSecond / matMulGflopPerSecond,
    memoryGb: process.resourceUsage().maxRSS / 2 ** 20,
  };
}

async function takeStep(trainer: Trainer, batch: readonly TrainingSequence[], name: string): Promise<void> {
  const call = (part: string): TrainerCall => ({
    id: `${name}, ${part}`,
    signal: new AbortController().signal,
  });
  const config = resolveTrainingConfig({});
  await trainer.forwardBackward(batch, { kind: "policy", config }, call("gradient"));
  await trainer.optimStep({ ...reinforcementLearningAdamW, learningRate: 1e-5 }, call("optimizer"));
}

function randomBatch({ config, size }: Subject): readonly TrainingSequence[] {
  const random = seededRandom("train-step bench");
  return Array.from({ length: rowCounts[size] }, (_, row) => ({
    tokenIds: Int32Array.from({ length }, () => random.index(config.vocabularySize)),
    mask: Uint8Array.from({ length }, (_, index) => (index === 0 ? 0 : 1)),
    oldLogprobs: new Float32Array(length).fill(NaN),
    advantage: row % 2 === 0 ? 1 : -1,
    weight: 1,
    group: 0,
  }));
}

function flopCount({ config, size }: Subject): number {
  const rowCount = rowCounts[size];
  const tokenCount = rowCount * length;
  const trainedCount = rowCount * (length - 1);
  const projections = loraProjections(config, projectionNames);
  const layerWeights = projections.reduce(
    (sum, { inputSize, outputSize }) => sum + inputSize * outputSize,
    0,
  );
  const [embedding] = modelParameters(config);
  const outputWeights = embedding.shape[0] * embedding.shape[1];
  const adapterWeights = projections.reduce(
    (sum, { inputSize, outputSize }) => sum + rank * (inputSize + outputSize),
    0,
  );
  const { layers, headCount, headSize } = config;
  const attention = 3 * 4 * length * length * headCount * headSize * rowCount * layers.length;
  return (
    4 * layerWeights * tokenCount +
    4 * outputWeights * trainedCount +
    6 * adapterWeights * tokenCount +
    attention
  );
}

function lineOf(measurement: Measurement): string {
  const { name, rows, tokensPerRow, stepMs, tokensPerSecond, gflopPerStep, gflopPerSecond } = measurement;
  const { matMulGflopPerSecond, ratio, memoryGb } = measurement;
  return (
    `${name}: ${rows} x ${tokensPerRow} tokens in ${stepMs.toFixed(0)} ms, ${tokensPerSecond.toFixed(0)} tokens/s; ` +
    `${gflopPerStep.toFixed(0)} GFLOP, ${gflopPerSecond.toFixed(0)} GFLOP/s of ${matMulGflopPerSecond.toFixed(0)} ` +
    `(${ratio.toFixed(2)} of MatMul); ${memoryGb.toFixed(1)} GB`
  );
}
