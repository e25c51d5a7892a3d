// Our side of `train-step`: LoRA steps of the embedded trainer in a process of its own, so that its memory can be told.
// Reads one JSON line that says what to train, answers every line "step" with the time of one, and "end" with the most
// memory that the process has held. The other side, with the same lines, is `conformance/python/train_step.py`.
import { createInterface } from "node:readline";
import { systemClock } from "../src/domain/clock.ts";
import { seededRandom } from "../src/domain/random.ts";
import { resolveTrainingConfig } from "../src/domain/training-config.ts";
import { readModelConfig } from "../src/model/config/read-config.ts";
import { projectionNames } from "../src/model/parameters.ts";
import { readModelWeights } from "../src/model/weights.ts";
import { reinforcementLearningAdamW } from "../src/training/adamw.ts";
import { EmbeddedTrainers } from "../src/training/embedded/embedded-trainer.ts";
import type { Trainer, TrainerCall, TrainingSequence } from "../src/training/trainer.ts";
import type { StepJob } from "./step-process.ts";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
// What `StepProcess` writes.
const job = JSON.parse((await lines.next()).value as string) as StepJob;
const trainer = await openTrainer(job);
const batch = randomBatch(job);
let stepCount = 0;
for (let line = await lines.next(); line.value === "step"; line = await lines.next()) {
  const startMs = systemClock.monotonicMs();
  await takeStep(trainer, batch, `step ${stepCount++}`);
  answer({ ms: systemClock.monotonicMs() - startMs });
}
answer({ memoryBytes: process.resourceUsage().maxRSS * 1024 });
process.exit();

async function openTrainer({ folder, rank, rows, length, threads }: StepJob): Promise<Trainer> {
  const config = readModelConfig(folder);
  const trainers = new EmbeddedTrainers({
    config,
    weights: readModelWeights(folder, config, { cacheFolder: null }),
    lora: { rank, alpha: 16, targets: projectionNames },
    baseModelName: "bench",
    dataFolder: ".",
    sequenceLengthMax: length,
    microbatchTokens: rows * length,
    sharesPrefixes: false,
    threads,
  });
  return await trainers.open({ from: null, seed: "bench" });
}

function randomBatch({ rows, length, config }: StepJob): readonly TrainingSequence[] {
  const random = seededRandom("train-step bench");
  return Array.from({ length: rows }, (_, row) => ({
    tokenIds: Int32Array.from({ length }, () => random.index(config.vocab_size)),
    mask: Uint8Array.from({ length }, (_, index) => (index === 0 ? 0 : 1)),
    oldLogprobs: new Float32Array(length).fill(NaN),
    advantage: row % 2 === 0 ? 1 : -1,
    weight: 1,
    group: 0,
  }));
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

function answer(message: object): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}
