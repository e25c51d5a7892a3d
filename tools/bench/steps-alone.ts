// Computes only the gradient steps of a training job, in this process.
import { dataFolderAt } from "../../src/store/artifacts/testing/data-folder.ts";
import { systemClock } from "../../src/base/domain/clock.ts";
import { projectionNames } from "../../src/base/domain/model.ts";
import { resolveTrainingConfig } from "../../src/base/domain/training-config.ts";
import { readModelConfig } from "../../src/inference/architectures/config/read-config.ts";
import { readModelWeights } from "../../src/inference/architectures/weights.ts";
import { reinforcementLearningAdamW } from "../../src/train/trainer/adamw.ts";
import { EmbeddedTrainers } from "../../src/train/trainer/embedded/embedded-trainer.ts";
import type { TrainerCall, TrainingSequence } from "../../src/train/trainer/trainer.ts";

/** Takes training steps; reuses the programs that the first steps load. */
export class StepsAlone {
  readonly #trainers: EmbeddedTrainers;
  #callCount = 0;

  constructor(modelFolder: string, threads: number) {
    const config = readModelConfig(modelFolder);
    this.#trainers = new EmbeddedTrainers({
      config,
      weights: readModelWeights(modelFolder, config, { cacheFolder: null }),
      lora: { rank: 8, alpha: 16, targets: projectionNames },
      baseModelName: "endless",
      artifacts: dataFolderAt(".").artifacts,
      sequenceLengthMax: 1024,
      microbatchTokens: 2048,
      sharesPrefixes: true,
      threads,
    });
  }

  /** Takes all steps of a job; returns their duration in seconds. */
  async take(sequences: readonly TrainingSequence[], stepSize: number): Promise<number> {
    const trainer = await this.#trainers.open({ kind: "new", seed: "bench" }, this.#call());
    const loss = { kind: "policy", config: resolveTrainingConfig({}) } as const;
    const beganMs = systemClock.monotonicMs();
    for (let start = 0; start < sequences.length; start += stepSize) {
      await trainer.forwardBackward(sequences.slice(start, start + stepSize), loss, this.#call());
      await trainer.optimStep({ ...reinforcementLearningAdamW, learningRate: 1e-5 }, this.#call());
    }
    const seconds = (systemClock.monotonicMs() - beganMs) / 1000;
    await trainer.close();
    return seconds;
  }

  close(): Promise<void> {
    return this.#trainers.close();
  }

  #call(): TrainerCall {
    return { id: `${this.#callCount++}`, signal: new AbortController().signal };
  }
}
