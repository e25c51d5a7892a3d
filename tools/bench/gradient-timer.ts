// Times gradient computations of the embedded trainer with LoRA of rank 8 on all seven projections, and returns the
// best time.
import { dataFolderAt } from "../../src/store/artifacts/testing/data-folder.ts";
import { projectionNames } from "../../src/base/domain/model.ts";
import { systemClock } from "../../src/base/domain/clock.ts";
import { resolveTrainingConfig } from "../../src/base/domain/training-config.ts";
import { EmbeddedTrainers } from "../../src/train/trainer/embedded/embedded-trainer.ts";
import type { TrainingSequence } from "../../src/train/trainer/trainer.ts";
import type { BenchOptions } from "./run-bench.ts";
import type { Subject } from "./subjects.ts";

/** Times the gradients of one trainer. */
export class GradientTimer {
  readonly #trainers: EmbeddedTrainers;
  #count = 0;
  bestMs = Infinity;

  constructor(
    { name, config, weights }: Subject,
    { threads }: BenchOptions,
    { sharesPrefixes }: { readonly sharesPrefixes: boolean },
  ) {
    this.#trainers = new EmbeddedTrainers({
      config,
      readWeights: () => weights,
      lora: { rank: 8, alpha: 16, targets: projectionNames },
      baseModelName: name,
      artifacts: dataFolderAt(".").artifacts,
      sequenceLengthMax: 1024,
      microbatchTokens: 2048,
      sharesPrefixes,
      threads,
    });
  }

  async time(batch: readonly TrainingSequence[]): Promise<void> {
    const trainer = await this.#trainers.open(
      { kind: "new", seed: "bench" },
      { id: "bench", signal: new AbortController().signal },
    );
    const call = { id: `${this.#count++}`, signal: new AbortController().signal };
    const startMs = systemClock.monotonicMs();
    await trainer.forwardBackward(batch, { kind: "policy", config: resolveTrainingConfig({}) }, call);
    this.bestMs = Math.min(this.bestMs, systemClock.monotonicMs() - startMs);
    await trainer.close();
  }

  /** Builds the programs by computing the smallest batch that needs all of them. */
  async warmUp(batch: readonly TrainingSequence[]): Promise<void> {
    await this.time(batch.slice(0, 3));
    this.bestMs = Infinity;
  }

  close(): Promise<void> {
    return this.#trainers.close();
  }
}

/** Times the sides alternately. */
export async function turnAbout(
  { rounds }: BenchOptions,
  sides: readonly (readonly [GradientTimer, readonly TrainingSequence[]])[],
): Promise<void> {
  for (const [timer, batch] of sides) await timer.warmUp(batch);
  for (let round = 0; round < rounds; round++) for (const [timer, batch] of sides) await timer.time(batch);
  for (const [timer] of sides) await timer.close();
}
