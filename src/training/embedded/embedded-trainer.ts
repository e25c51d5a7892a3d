// Trains in this process: the model as a tensor program with a LoRA adapter, its gradients by reverse mode, AdamW.
// Computing blocks the thread, so it belongs in a process of its own. Programs are kept from job to job.
import { join } from "node:path";
import { present } from "../../domain/assert.ts";
import { ServiceError } from "../../domain/service-error.ts";
import { type Tensor, float32Data, float32Tensor } from "../../graph/tensor.ts";
import type { Graph } from "../../graph/graph.ts";
import type { ModelConfig } from "../../model/config.ts";
import { type LoraAdapter, createLoraAdapter } from "../../model/lora.ts";
import { type ProjectionName, loraParameters } from "../../model/parameters.ts";
import { readLoraAdapter, writeLoraAdapter } from "../../model/peft-folder.ts";
import type { WeightSource } from "../../graph/weight-source.ts";
import { type Session, createSession } from "../../runtime/session.ts";
import { trainedIndices } from "../../trajectories/sequences.ts";
import { type AdamWState, adamWStep, createAdamWState } from "../adamw.ts";
import { layoutOf } from "../packing/pack-layout.ts";
import { cutIntoPacks, packKinds } from "../packing/packs.ts";
import { groupByPrefix, ungrouped } from "../packing/prefix-groups.ts";
import {
  type ForwardBackwardResult,
  type ForwardOptions,
  type ForwardResult,
  type Loss,
  type OptimizerStep,
  type OptimizerStepResult,
  type SaveTarget,
  type SavedVersion,
  type Trainer,
  type TrainerCall,
  type TrainerProvider,
  type TrainerStart,
  type TrainingSequence,
  hasKlPenalty,
  requireFiniteAdapter,
  requireReference,
  requireTrainable,
} from "../trainer.ts";
import { SerialCalls, throwIfAborted } from "./calls.ts";
import {
  type Microbatch,
  lossFeeds,
  arePlacesDistinct,
  splitBySequence,
  tokenFeeds,
  wantedFeeds,
} from "./feeds.ts";
import { estimateMemory, largestOf, requireWithin } from "./memory-limit.ts";
import { optimizerFileName, readOptimizerState, writeOptimizerState } from "./optimizer-file.ts";
import { buildGradientGraph, buildLogprobGraph, gradientName } from "./training-graphs.ts";

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
  /** What the saved adapter names as its base. */
  readonly baseModelName: string;
  /** The root of all data, where versions lie. */
  readonly dataFolder: string;
  readonly sequenceLengthMax: number;
  /** Tokens that are computed at once; a longer sequence is computed alone. Memory grows with it. */
  readonly microbatchTokens: number;
  /** The resident memory that a job may need at most, as it is estimated before its first step; absent allows any. */
  readonly memoryBytes?: number;
  /** Whether what sequences begin with alike is computed once. */
  readonly sharesPrefixes: boolean;
  /** Compute threads. */
  readonly threads: number;
}

/** Programs differ by layout, places, loss and adapter shape; a job has eight at most, most have two that the next one shares. */
const SESSION_COUNT_MAX = 8;

/** Opens trainers over one base model; its programs stay loaded until the process ends or `close`. */
export class EmbeddedTrainers implements TrainerProvider {
  readonly capabilities = { losses: ["policy", "cross-entropy"] } as const;
  readonly sequenceLengthMax: number;
  readonly #options: EmbeddedTrainerOptions;
  /** In order of use, the longest unused first. */
  readonly #sessions = new Map<string, Session>();

  constructor(options: EmbeddedTrainerOptions) {
    this.#options = options;
    this.sequenceLengthMax = Math.min(options.sequenceLengthMax, options.config.contextLength);
  }

  requireMemory(batches: readonly (readonly TrainingSequence[])[], loss: Loss): void {
    const { config, lora, memoryBytes = Infinity } = this.#options;
    const microbatches = batches.flatMap((batch) => this.cut(batch));
    const adapter = { ...lora, scale: 1 };
    const uses = packKinds.flatMap((layout) => {
      const largest = largestOf(microbatches.filter(({ kind }) => kind === layout));
      if (largest.length === 0) return [];
      const options = { adapter, layout };
      return {
        graphs: [buildGradientGraph(config, { ...options, loss }), buildLogprobGraph(config, options)],
        largest,
      };
    });
    if (uses.length > 0) requireWithin(memoryBytes, estimateMemory({ config, adapter }, uses));
  }

  /** What is computed at once, one after another. */
  cut(data: readonly TrainingSequence[]): readonly Microbatch[] {
    const { microbatchTokens, sharesPrefixes } = this.#options;
    const groups = sharesPrefixes ? groupByPrefix(data) : ungrouped(data);
    return cutIntoPacks(groups, microbatchTokens).map((pack) => layoutOf(pack));
  }

  async open({ from, seed }: TrainerStart): Promise<Trainer> {
    const { config, lora, dataFolder } = this.#options;
    const adapter =
      from === null
        ? createLoraAdapter(config, { ...lora, seed })
        : readLoraAdapter(join(dataFolder, from.adapterFolder), config);
    const trainerState = from?.trainerState ?? null;
    const optimizerState =
      trainerState === null
        ? createAdamWState(adapter.matrices)
        : readOptimizerState(join(dataFolder, trainerState), adapter.matrices);
    return new EmbeddedTrainer(this, this.#options, adapter, optimizerState);
  }

  /** The session of a key, built by `build` when it is not at hand. */
  async session(key: string, build: () => Graph): Promise<Session> {
    const known = this.#sessions.get(key);
    this.#sessions.delete(key);
    const { weights, threads } = this.#options;
    // Without copies of the weights: they are mapped from the file that serving maps too, and large products gain little.
    const economy = { allowSpinning: false, prepackWeights: false, plansMemory: false };
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

/** One array per adapter matrix, by its name. */
type Gradients = ReadonlyMap<string, Float32Array>;

class EmbeddedTrainer implements Trainer {
  readonly #trainers: EmbeddedTrainers;
  readonly #options: EmbeddedTrainerOptions;
  /** Its matrices change with every optimizer step. */
  readonly #adapter: LoraAdapter;
  readonly #optimizerState: AdamWState;
  readonly #calls = new SerialCalls();
  /** Accumulated since the last optimizer step; null when there is none. */
  #gradients: Gradients | null = null;

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

  forward(
    data: readonly TrainingSequence[],
    call: TrainerCall,
    { hasAdapter = true }: ForwardOptions = {},
  ): Promise<ForwardResult> {
    return this.#calls.run("forward", call, async () => {
      requireTrainable(data, this.#trainers);
      const logprobs = new Map<TrainingSequence, Float32Array>();
      const feeds = hasAdapter ? this.#adapterFeeds() : this.#noAdapterFeeds();
      await this.#eachMicrobatch(this.#trainers.cut(data), call.signal, async (microbatch) => {
        const session = await this.#logprobSession(microbatch);
        const outputs = await session.run({ ...tokenFeeds(microbatch), ...feeds });
        collect(logprobs, microbatch, outputs);
      });
      return { logprobs: inOrderOf(data, logprobs) };
    });
  }

  forwardBackward(
    data: readonly TrainingSequence[],
    loss: Loss,
    call: TrainerCall,
  ): Promise<ForwardBackwardResult> {
    return this.#calls.run("forwardBackward", call, async () => {
      requireTrainable(data, this.#trainers);
      requireReference(data, loss);
      const microbatches = this.#trainers.cut(data);
      const klElsewhere = await this.#klElsewhere(microbatches, loss, call.signal);
      const tokenCount = data.reduce((count, sequence) => count + trainedIndices(sequence).length, 0);
      const logprobs = new Map<TrainingSequence, Float32Array>();
      const sums = { loss: 0, entropy: 0 };
      let gradients: Gradients | null = null;
      await this.#eachMicrobatch(microbatches, call.signal, async (microbatch, index) => {
        const hasDistinctPlaces = arePlacesDistinct(microbatch);
        const session = await this.#gradientSession(microbatch, loss, hasDistinctPlaces);
        const terms = { loss, tokenCount, klElsewhere: klElsewhere[index] };
        const feeds = {
          ...tokenFeeds(microbatch),
          ...(hasDistinctPlaces ? wantedFeeds(microbatch) : {}),
          ...lossFeeds(microbatch, terms),
        };
        const outputs = await session.run({ ...feeds, ...this.#adapterFeeds() });
        sums.loss += float32Data(outputs["loss"])[0];
        sums.entropy += float32Data(outputs["entropy"])[0];
        gradients = added(gradients, this.#gradientsOf(outputs));
        collect(logprobs, microbatch, outputs);
      });
      requireFinite(sums.loss, sums.entropy);
      // Only now, so that a call that was aborted or failed has added nothing.
      this.#gradients = added(this.#gradients, present<Gradients>(gradients, "a microbatch's gradient"));
      return {
        loss: sums.loss,
        logprobs: inOrderOf(data, logprobs),
        metrics: { entropy: sums.entropy },
      };
    });
  }

  optimStep(step: OptimizerStep, call: TrainerCall): Promise<OptimizerStepResult> {
    return this.#calls.run("optimStep", call, async () => {
      if (this.#gradients === null) {
        throw new ServiceError({
          code: "invalid",
          message: "There is no gradient to step with; call forwardBackward first.",
        });
      }
      const { matrices } = this.#adapter;
      const { gradientNorm } = adamWStep(this.#optimizerState, matrices, this.#gradients, step);
      this.#gradients = null;
      return { metrics: { gradient_norm: gradientNorm } };
    });
  }

  save({ folder, adapterFolder }: SaveTarget, call: TrainerCall): Promise<SavedVersion> {
    return this.#calls.run("save", call, async () => {
      const { config, baseModelName } = this.#options;
      requireFiniteAdapter(this.#adapter.matrices);
      writeLoraAdapter(folder, this.#adapter, { config, baseModelName });
      writeOptimizerState(join(folder, optimizerFileName), this.#optimizerState);
      return { trainerState: join(adapterFolder, optimizerFileName) };
    });
  }

  async close(): Promise<void> {
    await this.#calls.close();
    this.#gradients = null;
  }

  /** An abort is noticed between microbatches. */
  async #eachMicrobatch(
    microbatches: readonly Microbatch[],
    signal: AbortSignal,
    compute: (microbatch: Microbatch, index: number) => Promise<void>,
  ): Promise<void> {
    for (const [index, microbatch] of microbatches.entries()) {
      // Computing holds the thread: whoever aborts gets it here.
      await new Promise((resolve) => setImmediate(resolve));
      throwIfAborted(signal);
      await compute(microbatch, index);
    }
  }

  #logprobSession({ kind }: Microbatch): Promise<Session> {
    const options = { adapter: this.#adapter, layout: kind };
    const key = JSON.stringify(["logprobs", kind, this.#adapterShape()]);
    return this.#trainers.session(key, () => buildLogprobGraph(this.#options.config, options));
  }

  #gradientSession({ kind }: Microbatch, loss: Loss, hasDistinctPlaces: boolean): Promise<Session> {
    const options = { adapter: this.#adapter, layout: kind, loss, hasDistinctPlaces };
    const key = JSON.stringify(["gradient", kind, hasDistinctPlaces, this.#adapterShape(), lossKey(loss)]);
    return this.#trainers.session(key, () => buildGradientGraph(this.#options.config, options));
  }

  /**
   * For each microbatch, how far the tokens of all others are from the base model: the mean of a KL penalty is over the whole
   * batch, so that more than one microbatch costs a forward pass before the gradients.
   */
  async #klElsewhere(
    microbatches: readonly Microbatch[],
    loss: Loss,
    signal: AbortSignal,
  ): Promise<readonly number[]> {
    if (!hasKlPenalty(loss) || microbatches.length === 1) return microbatches.map(() => 0);
    const sums: number[] = [];
    await this.#eachMicrobatch(microbatches, signal, async (microbatch) => {
      const session = await this.#logprobSession(microbatch);
      const outputs = await session.run({ ...tokenFeeds(microbatch), ...this.#adapterFeeds() });
      sums.push(differenceFromReference(microbatch, float32Data(outputs["logprobs"])));
    });
    const total = sums.reduce((sum, each) => sum + each, 0);
    return sums.map((sum) => total - sum);
  }

  #gradientsOf(outputs: Readonly<Record<string, Tensor>>): Gradients {
    const names = [...this.#adapter.matrices.keys()];
    return new Map(names.map((name) => [name, float32Data(outputs[gradientName(name)])]));
  }

  #adapterShape(): readonly unknown[] {
    const { rank, scale, targets } = this.#adapter;
    return [rank, scale, targets];
  }

  #adapterFeeds(): Record<string, Tensor> {
    const { matrices } = this.#adapter;
    return this.#feedMatrices((name) => present(matrices.get(name), name));
  }

  /** Of matrices that add nothing: the base model in the same program. */
  #noAdapterFeeds(): Record<string, Tensor> {
    const { matrices } = this.#adapter;
    return this.#feedMatrices((name) => new Float32Array(present(matrices.get(name), name).length));
  }

  #feedMatrices(values: (name: string) => Float32Array): Record<string, Tensor> {
    return Object.fromEntries(
      loraParameters(this.#options.config, this.#adapter).map(({ name, shape }) => [
        name,
        float32Tensor(shape, values(name)),
      ]),
    );
  }
}

/** The sum over the trained tokens. */
function differenceFromReference({ sequences_S, trained_N }: Microbatch, logprobs_N: Float32Array): number {
  return trained_N.reduce(
    (sum, { sequence, index }, at) =>
      sum + logprobs_N[at] - (sequences_S[sequence].referenceLogprobs?.[index] ?? NaN),
    0,
  );
}

/** Their sum, in the arrays of the first; the second's where there is no first. */
function added(sum: Gradients | null, more: Gradients): Gradients {
  if (sum === null) return more;
  for (const [name, values] of sum) {
    const addends = present(more.get(name), name);
    for (let index = 0; index < values.length; index++) values[index] += addends[index];
  }
  return sum;
}

function collect(
  logprobs: Map<TrainingSequence, Float32Array>,
  microbatch: Microbatch,
  outputs: Readonly<Record<string, Tensor>>,
): void {
  splitBySequence(microbatch, float32Data(outputs["logprobs"])).forEach((values, index) =>
    logprobs.set(microbatch.sequences_S[index], values),
  );
}

function inOrderOf(
  data: readonly TrainingSequence[],
  logprobs: ReadonlyMap<TrainingSequence, Float32Array>,
): readonly Float32Array[] {
  return data.map((sequence) => present(logprobs.get(sequence), "log-probabilities of every sequence"));
}

/** The fields that decide the program, in a fixed order. */
function lossKey(loss: Loss): readonly unknown[] {
  if (loss.kind !== "policy") return [loss.kind];
  const { epsilon, epsilonHigh, importanceSamplingLevel, k2Tau, maskProbRatio, ppo } = loss.config;
  const { maxNegativeAdvantageImportanceSamplingWeight: cap, klPenaltyCoefficient: penalty } = loss.config;
  return [loss.kind, epsilon, epsilonHigh, importanceSamplingLevel, k2Tau, maskProbRatio, ppo, cap, penalty];
}

function requireFinite(loss: number, entropy: number): void {
  if (Number.isFinite(loss) && Number.isFinite(entropy)) return;
  throw new ServiceError({
    code: "unsupported",
    message: "The loss is not finite, so training stopped; lower the learning rate or check the rewards.",
  });
}
