// Trains in this process: the model as a tensor program with a LoRA adapter, its gradients by reverse mode, AdamW.
// `trainStep` blocks the thread, so it belongs in a process of its own. Programs are kept from job to job.
import { present } from "../../domain/assert.ts";
import { ServiceError } from "../../domain/service-error.ts";
import { type Tensor, float32Data, float32Tensor } from "../../graph/tensor.ts";
import type { Graph } from "../../graph/graph.ts";
import type { ModelConfig } from "../../model/config.ts";
import { type LoraAdapter, createLoraAdapter } from "../../model/lora.ts";
import { type ProjectionName, loraParameters } from "../../model/parameters.ts";
import { readLoraAdapter, writeLoraAdapter } from "../../model/peft-folder.ts";
import type { WeightSource } from "../../model/weights.ts";
import { type Session, createSession } from "../../runtime/session.ts";
import { type AdamWOptions, type AdamWState, adamWStep, createAdamWState } from "../adamw.ts";
import type { Minibatch } from "../minibatch.ts";
import type { StepOptions, StepResult, Trainer, TrainerProvider, TrainerStart } from "../trainer.ts";
import { lossFeeds, splitBySequence, tokenFeeds } from "./minibatch-feeds.ts";
import { readOptimizerState, writeOptimizerState } from "./optimizer-file.ts";
import { buildLogprobGraph, buildStepGraph, gradientName } from "./policy-graph.ts";

export interface EmbeddedTrainerOptions {
  readonly config: ModelConfig;
  /** Of every parameter of the model; the frozen base. */
  readonly weights: ReadonlyMap<string, WeightSource>;
  /** What a new adapter is like; adapters that exist keep their own. */
  readonly lora: {
    readonly rank: number;
    readonly alpha: number;
    readonly targets: readonly ProjectionName[];
  };
  readonly optimizer: Omit<AdamWOptions, "learningRate">;
  /** What the saved adapter names as its base. */
  readonly baseModelName: string;
  readonly sequenceLengthMax: number;
  /** Compute threads. */
  readonly threads: number;
}

/** Programs differ by loss and adapter shape; jobs of one model mostly share one. */
const SESSION_COUNT_MAX = 3;

/** Opens trainers over one base model; its programs stay loaded until the process ends or `close`. */
export class EmbeddedTrainers implements TrainerProvider {
  readonly sequenceLengthMax: number;
  readonly #options: EmbeddedTrainerOptions;
  /** In order of use, the longest unused first. */
  readonly #sessions = new Map<string, Session>();

  constructor(options: EmbeddedTrainerOptions) {
    this.#options = options;
    this.sequenceLengthMax = Math.min(options.sequenceLengthMax, options.config.contextLength);
  }

  async open({ adapterFolder, seed }: TrainerStart): Promise<Trainer> {
    const { config, lora } = this.#options;
    if (adapterFolder === null) {
      const adapter = createLoraAdapter(config, { ...lora, seed });
      return new EmbeddedTrainer(this, this.#options, adapter, createAdamWState(adapter.matrices));
    }
    const adapter = readLoraAdapter(adapterFolder, config);
    const state = readOptimizerState(adapterFolder, adapter.matrices);
    return new EmbeddedTrainer(this, this.#options, adapter, state);
  }

  /** The session of a key, built by `build` when it is not at hand. */
  async session(key: string, build: () => Graph): Promise<Session> {
    const known = this.#sessions.get(key);
    this.#sessions.delete(key);
    const { weights, threads } = this.#options;
    // Without copies of the weights: they are mapped from the file that serving maps too, and large products gain little.
    const economy = { allowSpinning: false, prepackWeights: false };
    const session = known ?? (await createSession(build(), { weights, threads, ...economy }));
    this.#sessions.set(key, session);
    if (this.#sessions.size > SESSION_COUNT_MAX) {
      const [[longestUnused, released]] = this.#sessions;
      this.#sessions.delete(longestUnused);
      await released.release();
    }
    return session;
  }

  /** Frees every program. */
  async close(): Promise<void> {
    const sessions = [...this.#sessions.values()];
    this.#sessions.clear();
    for (const session of sessions) await session.release();
  }
}

class EmbeddedTrainer implements Trainer {
  readonly #trainers: EmbeddedTrainers;
  readonly #options: EmbeddedTrainerOptions;
  /** Its matrices change with every step. */
  readonly #adapter: LoraAdapter;
  readonly #optimizerState: AdamWState;

  constructor(
    trainers: EmbeddedTrainers,
    options: EmbeddedTrainerOptions,
    adapter: LoraAdapter,
    optimizerState: AdamWState,
  ) {
    this.#trainers = trainers;
    this.#options = options;
    this.#adapter = adapter;
    this.#optimizerState = optimizerState;
  }

  async trainStep(minibatch: Minibatch, { loss, learningRate }: StepOptions): Promise<StepResult> {
    const key = JSON.stringify(["step", this.#adapterShape(), lossKey(loss)]);
    const session = await this.#trainers.session(key, () =>
      buildStepGraph(this.#options.config, this.#adapter, loss),
    );
    const feeds = { ...tokenFeeds(minibatch), ...lossFeeds(minibatch, loss), ...this.#adapterFeeds() };
    const outputs = await session.run(feeds);
    const [lossValue] = float32Data(outputs["loss"]);
    const [entropy] = float32Data(outputs["entropy"]);
    requireFinite(lossValue, entropy);
    const gradients = new Map(
      [...this.#adapter.matrices.keys()].map((name) => [name, float32Data(outputs[gradientName(name)])]),
    );
    const { gradientNorm } = adamWStep(this.#optimizerState, this.#adapter.matrices, gradients, {
      ...this.#options.optimizer,
      learningRate,
    });
    const logprobs = splitBySequence(minibatch, float32Data(outputs["logprobs"]));
    return { loss: lossValue, entropy, gradientNorm, logprobs };
  }

  async logprobs(minibatch: Minibatch): Promise<readonly Float32Array[]> {
    const key = JSON.stringify(["logprobs", this.#adapterShape()]);
    const session = await this.#trainers.session(key, () =>
      buildLogprobGraph(this.#options.config, this.#adapter),
    );
    const outputs = await session.run({ ...tokenFeeds(minibatch), ...this.#adapterFeeds() });
    return splitBySequence(minibatch, float32Data(outputs["logprobs"]));
  }

  save(folder: string): Promise<void> {
    const { config, baseModelName } = this.#options;
    writeLoraAdapter(folder, this.#adapter, { config, baseModelName });
    writeOptimizerState(folder, this.#optimizerState);
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #adapterShape(): readonly unknown[] {
    const { rank, scale, targets } = this.#adapter;
    return [rank, scale, targets];
  }

  #adapterFeeds(): Record<string, Tensor> {
    const { matrices } = this.#adapter;
    return Object.fromEntries(
      loraParameters(this.#options.config, this.#adapter).map(({ name, shape }) => [
        name,
        float32Tensor(shape, present(matrices.get(name), name)),
      ]),
    );
  }
}

/** The fields that decide the program, in a fixed order. */
function lossKey(loss: StepOptions["loss"]): readonly unknown[] {
  const { epsilon, epsilonHigh, importanceSamplingLevel, k2Tau, maskProbRatio, ppo } = loss;
  const { maxNegativeAdvantageImportanceSamplingWeight: cap } = loss;
  return [epsilon, epsilonHigh, importanceSamplingLevel, k2Tau, maskProbRatio, ppo, cap];
}

function requireFinite(loss: number, entropy: number): void {
  if (Number.isFinite(loss) && Number.isFinite(entropy)) return;
  throw new ServiceError({
    code: "unsupported",
    message: "The loss is not finite, so training stopped; lower the learning rate or check the rewards.",
  });
}
