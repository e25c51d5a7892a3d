// Hone's side of `train-step`. Takes LoRA steps with the embedded trainer in a separate process, so that the memory can
// be measured. The first input line is JSON with the training job; each line "step" is answered with the duration of
// one step, and "end" with the peak memory, as in `tools/conformance/python/train_step.py`.
import { createInterface } from "node:readline";
import { systemClock } from "../../src/base/domain/clock.ts";
import { resolveTrainingConfig } from "../../src/base/domain/training-config.ts";
import { reinforcementLearningAdamW } from "../../src/train/trainer/adamw.ts";
import type { Trainer, TrainerCall, TrainingSequence } from "../../src/train/trainer/trainer.ts";
import { benchTrainers, randomRows } from "./random-training.ts";
import type { StepJob } from "./step-process.ts";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
// Safe cast: `StepProcess` writes this job.
const job = JSON.parse((await lines.next()).value as string) as StepJob;
const trainers = await benchTrainers(job.folder, job, job);
const trainer = await trainers.open(
  { kind: "new", seed: "bench" },
  { id: "bench", signal: new AbortController().signal },
);
const batch = randomRows(job, job.config.vocab_size);
let stepCount = 0;
for (let line = await lines.next(); line.value === "step"; line = await lines.next()) {
  const startMs = systemClock.monotonicMs();
  await takeStep(trainer, batch, `step ${stepCount++}`);
  answer({ ms: systemClock.monotonicMs() - startMs });
}
answer({ memoryBytes: process.resourceUsage().maxRSS * 1024 });
process.exit();

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
