// What the trainer's contract runs against: a folder for versions, a start, and shorthands for calls and for looking at
// what a trainer holds through what it saves.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { projectionNames } from "../../domain/model.ts";
import { ServiceError } from "../../domain/service-error.ts";
import type { LoraAdapter } from "../../model/lora.ts";
import { readLoraAdapter, writeLoraAdapter } from "../../model/peft-folder.ts";
import { weightsInMemory } from "../../model/weights.ts";
import { reinforcementLearningAdamW } from "../adamw.ts";
import { EmbeddedTrainers, type EmbeddedTrainerOptions } from "../embedded/embedded-trainer.ts";
import type { OptimizerStep, Trainer, TrainerCall, TrainerProvider, TrainerStart } from "../trainer.ts";
import { tinyConfig, tinyLora, tinyWeights, trainedAdapter } from "./tiny-model.ts";

/** Makes trainers of the contract's tiny model, whose versions lie in `dataFolder`; cleaned up after the test. */
export type MakeTrainers = (dataFolder: string, context: TestContext) => TrainerProvider;

/** The embedded trainer of the contract's tiny model: in one thread, with prefixes shared, where nothing else is said. */
export function tinyTrainers(
  options: Pick<EmbeddedTrainerOptions, "dataFolder" | "microbatchTokens"> & Partial<EmbeddedTrainerOptions>,
): EmbeddedTrainers {
  return new EmbeddedTrainers({
    config: tinyConfig,
    weights: weightsInMemory(tinyConfig, tinyWeights),
    lora: { ...tinyLora, targets: projectionNames },
    baseModelName: "tiny",
    sequenceLengthMax: 10,
    sharesPrefixes: true,
    threads: 1,
    ...options,
  });
}

/** With moments that forget at once and an epsilon beside which they vanish, AdamW subtracts the gradient itself. */
export const plainStep: OptimizerStep = {
  learningRate: 1e4,
  beta1: 0,
  beta2: 0,
  epsilon: 1e4,
  weightDecay: 0,
  gradientNormMax: 0,
};

/** As jobs step. */
export const adamStep: OptimizerStep = { ...reinforcementLearningAdamW, learningRate: 0.01 };

export interface Saved {
  readonly from: NonNullable<TrainerStart["from"]>;
  readonly adapter: LoraAdapter;
  /** Of the adapter's file. */
  readonly bytes: Buffer;
}

/** Trainers of one test with their folder. */
export class TrainerBench {
  readonly trainers: TrainerProvider;
  readonly dataFolder: string;
  #count = 0;

  constructor(make: MakeTrainers, context: TestContext) {
    this.dataFolder = mkdtempSync(join(tmpdir(), "hone-trainer-"));
    context.after(() => rmSync(this.dataFolder, { recursive: true }));
    this.trainers = make(this.dataFolder, context);
    const options = { config: tinyConfig, baseModelName: "tiny" };
    writeLoraAdapter(join(this.dataFolder, "start"), trainedAdapter(), options);
  }

  /** A trainer on the adapter that every test starts from. */
  open(): Promise<Trainer> {
    return this.trainers.open({ from: { adapterFolder: "start", trainerState: null }, seed: "seed" });
  }

  /** A call that nothing aborts, with an id of its own. */
  call(): TrainerCall {
    this.#count += 1;
    return { id: `call ${this.#count}`, signal: new AbortController().signal };
  }

  async save(trainer: Trainer): Promise<Saved> {
    this.#count += 1;
    const adapterFolder = `version-${this.#count}`;
    const folder = join(this.dataFolder, adapterFolder);
    mkdirSync(folder);
    const { trainerState } = await trainer.save({ folder, adapterFolder }, this.call());
    return {
      from: { adapterFolder, trainerState },
      adapter: readLoraAdapter(folder, tinyConfig),
      bytes: readFileSync(join(folder, "adapter_model.safetensors")),
    };
  }

  /** The accumulated gradient in one array, in the order of the matrices; takes a plain step to see it. */
  async gradient(trainer: Trainer): Promise<readonly number[]> {
    const before = flat((await this.save(trainer)).adapter);
    await trainer.optimStep(plainStep, this.call());
    const after = flat((await this.save(trainer)).adapter);
    return before.map((value, index) => value - after[index]);
  }
}

/** All numbers of an adapter, in the order of its matrices. */
export function flat({ matrices }: LoraAdapter): readonly number[] {
  return [...matrices.values()].flatMap((values) => [...values]);
}

/** Equal within `tolerance` of the largest expected number. */
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
