// Measures the cost of comparing a policy with its base model during training. Times three kinds of step: one that
// compares no rows, one that compares the default share of its rows, and one that compares all rows, as a KL penalty
// requires. The three take turns in one process, and the best time of each counts.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../src/base/domain/clock.ts";
import { resolveTrainingConfig } from "../../src/base/domain/training-config.ts";
import { parseModelConfig, readModelConfig } from "../../src/inference/architectures/config/read-config.ts";
import {
  createRandomWeights,
  writeModelWeights,
} from "../../src/inference/architectures/testing/random-weights.ts";
import { reinforcementLearningAdamW } from "../../src/train/trainer/adamw.ts";
import { trainingSettings } from "../../src/train/trainer/settings.ts";
import { compareWithBase } from "../../src/train/trainer/steps/reference-logprobs.ts";
import type { Trainer, TrainingSequence } from "../../src/train/trainer/trainer.ts";
import { llama135mFile } from "./llama-135m.ts";
import { benchTrainers, randomRows } from "./random-training.ts";
import { measureEach, ownFolder, runBench } from "./run-bench.ts";

const help = `Usage: node dist/tools/bench/base-comparison.js [flags]
Times LoRA training steps with rows of 128 tokens. None, the default share or all of the rows are also computed with the base
model, for comparison with the policy.`;

interface Shape {
  readonly name: string;
  readonly size: "tiny" | "135m";
  readonly rows: number;
}

const shapes: readonly Shape[] = [
  { name: "hone-tiny, 20 x 128", size: "tiny", rows: 20 },
  { name: "llama-135m (random), 7 x 128", size: "135m", rows: 7 },
];
const length = 128;
const usualShare = trainingSettings.with().baseComparisonShare;

interface Measurement {
  readonly name: string;
  readonly stepMs: number;
  /**
   * Time of a step that compares the default share of its rows with the base model, divided by that of a plain step.
   */
  readonly usualRatio: number;
  /** Time of a step that compares all its rows with the base model, divided by that of a plain step. */
  readonly allRatio: number;
}

await runBench<Measurement>({
  script: import.meta.url,
  help,
  measure: async (options) => {
    const folder = mkdtempSync(join(tmpdir(), "base-comparison-"));
    try {
      return await measureEach(shapes, options, async (shape) => [
        await measure(shape, modelFolder(shape, folder), options),
      ]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
  textOf: ({ name, stepMs, usualRatio, allRatio }) =>
    `${name}: ${stepMs.toFixed(0)} ms per step; ${usualRatio.toFixed(2)} times as long with a share of ${usualShare} compared, ${allRatio.toFixed(2)} times with all rows`,
});

function modelFolder({ size }: Shape, folder: string): string {
  if (size === "tiny") return join(ownFolder, "models", "hone-tiny");
  writeFileSync(join(folder, "config.json"), JSON.stringify(llama135mFile));
  const config = parseModelConfig(llama135mFile, {}, folder);
  writeModelWeights(folder, config, { weights: createRandomWeights(config, { seed: 1 }), type: "F32" });
  return folder;
}

async function measure(
  { name, rows }: Shape,
  folder: string,
  { rounds, threads }: { readonly rounds: number; readonly threads: number },
): Promise<Measurement> {
  const trainers = await benchTrainers(folder, { rows, length }, { rank: 8, threads });
  const trainer = await trainers.open(
    { kind: "new", seed: "bench" },
    { id: "bench", signal: new AbortController().signal },
  );
  const batch = randomRows({ rows, length }, readModelConfig(folder).vocabularySize);
  const comparedCounts = [0, Math.floor(usualShare * rows), rows];
  const best = comparedCounts.map(() => Infinity);
  // Round 0 is the warm-up.
  for (let round = 0; round <= rounds; round++)
    for (const [index, count] of comparedCounts.entries()) {
      const startMs = systemClock.monotonicMs();
      await takeStep(trainer, batch, count, `${round} ${count}`);
      if (round > 0) best[index] = Math.min(best[index], systemClock.monotonicMs() - startMs);
    }
  await trainers.close();
  const [stepMs, usualMs, allMs] = best;
  return { name, stepMs, usualRatio: usualMs / stepMs, allRatio: allMs / stepMs };
}

async function takeStep(
  trainer: Trainer,
  batch: readonly TrainingSequence[],
  comparedCount: number,
  name: string,
): Promise<void> {
  const { signal } = new AbortController();
  const rows = Array.from({ length: comparedCount }, (_, row) => row);
  await compareWithBase(trainer, batch, rows, { id: `base ${name}`, signal });
  const loss = { kind: "policy", config: resolveTrainingConfig({}) } as const;
  await trainer.forwardBackward(batch, loss, { id: `gradient ${name}`, signal });
  await trainer.optimStep(
    { ...reinforcementLearningAdamW, learningRate: 1e-5 },
    { id: `step ${name}`, signal },
  );
}
