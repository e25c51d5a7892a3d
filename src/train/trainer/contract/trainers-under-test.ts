// Helpers of the trainer contract: a data folder, a starting point that every trainer supports, calls with new ids, and
// a way to read a trainer's adapter by exporting it.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { dataFolderAt } from "../../../store/artifacts/testing/data-folder.ts";
import { projectionNames } from "../../../base/domain/model.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { resolveTrainingConfig } from "../../../base/domain/training-config.ts";
import type { LoraAdapter } from "../../../inference/architectures/lora.ts";
import { readLoraAdapter } from "../../../inference/architectures/peft-folder.ts";
import { weightsInMemory } from "../../../inference/architectures/testing/weights-in-memory.ts";
import { reinforcementLearningAdamW } from "../adamw.ts";
import { ComputeThreads } from "../embedded/compute-threads.ts";
import { EmbeddedTrainers, type EmbeddedTrainerOptions } from "../embedded/embedded-trainer.ts";
import type { Loss, OptimizerStep, Trainer, TrainerCall, TrainerProvider, TrainerStart } from "../trainer.ts";
import { tinyBatch, tinyConfig, tinyLora, tinyWeights } from "./tiny-model.ts";

/**
 * Creates trainers for the contract's tiny model. The trainers store versions in `dataFolder`, and are freed after the
 * test.
 */
export type MakeTrainers = (dataFolder: string, context: TestContext) => TrainerProvider;

/** Programs of the tiny model, which trainers with one thread share: loading programs takes longer than most tests. */
const tinyPrograms = new ComputeThreads({
  config: tinyConfig,
  readWeights: () => weightsInMemory(tinyConfig, tinyWeights),
  threads: 1,
});

class TinyTrainers extends EmbeddedTrainers {
  override readonly threads = tinyPrograms;

  override async close(): Promise<void> {}
}

/**
 * Returns embedded trainers for the contract's tiny model. By default they use one thread and compute shared prefixes
 * once.
 */
export function tinyTrainers({
  dataFolder,
  ...options
}: Pick<EmbeddedTrainerOptions, "microbatchTokens"> &
  Partial<EmbeddedTrainerOptions> & { readonly dataFolder: string }): EmbeddedTrainers {
  const Trainers = options.threads === undefined ? TinyTrainers : EmbeddedTrainers;
  return new Trainers({
    config: tinyConfig,
    readWeights: () => weightsInMemory(tinyConfig, tinyWeights),
    lora: { ...tinyLora, targets: projectionNames },
    baseModelName: "tiny",
    sequenceLengthMax: 10,
    sharesPrefixes: true,
    threads: 1,
    artifacts: dataFolderAt(dataFolder).artifacts,
    ...options,
  });
}

/**
 * Optimizer settings with which AdamW subtracts nearly the gradient itself. With decay rates of 0, the moments contain
 * only the current gradient, and `epsilon` is far larger than the gradient.
 */
export const plainStep: OptimizerStep = {
  learningRate: 1e4,
  beta1: 0,
  beta2: 0,
  epsilon: 1e4,
  weightDecay: 0,
  gradientNormMax: 0,
};

export const policy: Loss = { kind: "policy", config: resolveTrainingConfig({}) };

/** Optimizer settings as jobs use them. */
export const adamStep: OptimizerStep = { ...reinforcementLearningAdamW, learningRate: 0.01 };

export interface Exported {
  readonly folder: string;
  readonly adapter: LoraAdapter;
  /** Content of the exported adapter's weight file. */
  readonly bytes: Buffer;
}

/** The trainers and the data folder of one test. */
export class TrainerBench {
  readonly trainers: TrainerProvider;
  readonly dataFolder: string;
  readonly #opened: Trainer[] = [];
  #count = 0;

  constructor(make: MakeTrainers, context: TestContext) {
    this.dataFolder = mkdtempSync(join(tmpdir(), "hone-trainer-"));
    context.after(async () => {
      // Closes all trainers, because an open remote trainer would continue to send heartbeats.
      for (const trainer of this.#opened) await trainer.close();
      rmSync(this.dataFolder, { recursive: true });
    });
    this.trainers = make(this.dataFolder, context);
  }

  /**
   * Opens a trainer with the tests' start adapter: a new adapter after one step. After that step, every matrix has a
   * gradient.
   */
  async open(): Promise<Trainer> {
    const trainer = await this.openAt({ kind: "new", seed: "seed" });
    await trainer.forwardBackward(tinyBatch(), policy, this.call());
    await trainer.optimStep(plainStep, this.call());
    return trainer;
  }

  /** Opens a trainer at the given starting point; it is closed after the test. */
  async openAt(start: TrainerStart, run: TrainerCall = this.call()): Promise<Trainer> {
    const trainer = await this.trainers.open(start, run);
    this.#opened.push(trainer);
    return trainer;
  }

  /** Opens a trainer that continues from a saved state. */
  reopen(state: string): Promise<Trainer> {
    return this.openAt({ kind: "state", state, keepsOptimizer: true });
  }

  /** Returns the options of a trainer call: a new id, and a signal that never aborts. */
  call(): TrainerCall {
    return { id: `call ${this.#next()}`, signal: new AbortController().signal };
  }

  /** Saves the trainer's state under a new name, and returns the state's key. */
  save(trainer: Trainer): Promise<string> {
    return trainer.saveState(`states/${this.#next()}`, this.call());
  }

  async export(trainer: Trainer): Promise<Exported> {
    const folder = mkdtempSync(join(this.dataFolder, "exported-"));
    await trainer.exportAdapter(folder, this.call());
    const bytes = readFileSync(join(folder, "adapter_model.safetensors"));
    return { folder, adapter: readLoraAdapter(folder, tinyConfig), bytes };
  }

  /**
   * Asserts that two exported adapters are equal: to the byte if the trainer's profile says that it is repeatable,
   * otherwise within a tolerance.
   */
  assertSame(actual: Exported, expected: Exported): void {
    if (this.trainers.profile.isRepeatable) assert.deepEqual(actual.bytes, expected.bytes);
    assertClose(flat(actual.adapter), flat(expected.adapter), 1e-4);
  }

  /**
   * Returns the accumulated gradient as one array, in the order of the adapter's matrices. To measure the gradient, it
   * takes an optimizer step with `plainStep`.
   */
  async gradient(trainer: Trainer): Promise<readonly number[]> {
    const before = flat((await this.export(trainer)).adapter);
    await trainer.optimStep(plainStep, this.call());
    const after = flat((await this.export(trainer)).adapter);
    const { learningRate, epsilon } = plainStep;
    // For a gradient g, the step is learningRate · g / (|g| + epsilon). It is slightly smaller than g if g is large, so
    // the formula is inverted here.
    return before.map((value, index) => {
      const moved = value - after[index];
      return (moved * epsilon) / (learningRate - Math.abs(moved));
    });
  }

  #next(): number {
    return (this.#count += 1);
  }
}

/** Returns all values of an adapter as one array, in the order of its matrices. */
export function flat({ matrices }: LoraAdapter): readonly number[] {
  return [...matrices.values()].flatMap((values) => [...values]);
}

/** Asserts that each value is within `tolerance` times the largest expected value. */
export function assertClose(actual: ArrayLike<number>, expected: ArrayLike<number>, tolerance: number): void {
  assert.equal(actual.length, expected.length);
  const largest = Array.from(expected).reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  Array.from(expected).forEach((value, index) => {
    const difference = Math.abs(actual[index] - value);
    assert.ok(difference <= tolerance * largest, `${index}: ${actual[index]} is not ${value}`);
  });
}

export async function assertRejects(promise: Promise<unknown>, ...codes: readonly string[]): Promise<void> {
  await assert.rejects(
    promise,
    (error) => error instanceof ServiceError && codes.includes(error.code),
    `rejects with ${codes.join(" or ")}`,
  );
}
