// A reference for the embedded trainer, written to be obviously correct, for tests with tiny models. The reference
// interpreter computes one sequence at a time in double precision; loss and AdamW follow their formulas. There is no
// packing, padding or caching.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { assert, present, unreachable } from "../../../base/domain/assert.ts";
import { ServiceError, notFound } from "../../../base/domain/service-error.ts";
import type { TrainerProfile } from "../../../base/domain/trainer/profile.ts";
import { GraphBuilder } from "../../../lib/graph/builder.ts";
import type { Dense } from "../../../lib/graph/testing/dense.ts";
import { gradient } from "../../../lib/graph/gradient.ts";
import type { Graph } from "../../../lib/graph/graph.ts";
import { interpret } from "../../../lib/graph/testing/interpret.ts";
import type { ModelConfig } from "../../../inference/architectures/config.ts";
import { type LoraAdapter, createLoraAdapter } from "../../../inference/architectures/lora.ts";
import { loraParameters } from "../../../inference/architectures/parameters.ts";
import { readLoraAdapter, writeLoraAdapter } from "../../../inference/architectures/peft-folder.ts";
import { addTrainingForward } from "../../../inference/architectures/training/forward.ts";
import { weightsInMemory } from "../../../inference/architectures/testing/weights-in-memory.ts";
import { trainedIndices } from "../../trajectories/sequences.ts";
import { batchLoss } from "../losses/batch-loss.ts";
import {
  type ForwardBackwardResult,
  type ForwardOptions,
  type ForwardResult,
  type Loss,
  type OptimizerStep,
  type OptimizerStepResult,
  type Trainer,
  type TrainerCall,
  type TrainerProvider,
  type TrainerStart,
  type TrainingSequence,
  requireFiniteAdapter,
  requireLossInputs,
  requireTrainable,
  targetsOf,
} from "../trainer.ts";
import { type Matrices, type NaiveState, steppedState, sumOf } from "./naive-adamw.ts";
import { recurrenceOf } from "../../../inference/architectures/recurrent/recurrence.ts";

export interface NaiveTrainerOptions {
  readonly config: ModelConfig;
  readonly weights: ReadonlyMap<string, Float32Array>;
  readonly lora: { readonly rank: number; readonly alpha: number };
  readonly dataFolder: string;
  readonly sequenceLengthMax: number;
}

const stateFileName = "naive-state.json";

/** State from which a trainer continues. `adapter` gives only the shape; the values are in `state`. */
interface Kept {
  readonly adapter: LoraAdapter;
  readonly state: NaiveState;
}

/** Trainers without a memory check, because tiny models do not need one. */
export class NaiveTrainers implements TrainerProvider {
  readonly profile: TrainerProfile = {
    name: "naive",
    losses: ["policy", "cross-entropy", "preference"],
    hasBasePass: true,
    isRepeatable: true,
    basePrecisions: ["float32"],
    takesAdapters: true,
  };
  readonly sequenceLengthMax: number;
  readonly #options: NaiveTrainerOptions;

  constructor(options: NaiveTrainerOptions) {
    this.#options = options;
    this.sequenceLengthMax = options.sequenceLengthMax;
  }

  async open(start: TrainerStart, { signal }: TrainerCall): Promise<Trainer> {
    if (signal.aborted) throw cancelled();
    return new NaiveTrainer(this.#options, this.#startOf(start));
  }

  async discard(state: string): Promise<void> {
    rmSync(join(this.#options.dataFolder, state), { force: true });
  }

  #startOf(start: TrainerStart): Kept {
    const { config, lora, dataFolder } = this.#options;
    const anew = (adapter: LoraAdapter): Kept => ({ adapter, state: newState(doublesOf(adapter.matrices)) });
    switch (start.kind) {
      case "new":
        return anew(createLoraAdapter(config, { ...lora, seed: start.seed }));
      case "adapter":
        return anew(readLoraAdapter(start.folder, config));
      case "state": {
        const { adapter, state } = readState(join(dataFolder, start.state));
        return { adapter, state: start.keepsOptimizer ? state : newState(state.matrices) };
      }
      default:
        return unreachable(start);
    }
  }
}

class NaiveTrainer implements Trainer {
  readonly #options: NaiveTrainerOptions;
  /** Gives only the adapter's shape; its current values are in `#state`. */
  readonly #adapter: LoraAdapter;
  readonly #graphs: NaiveGraphs;
  readonly #weightFeeds: Readonly<Record<string, Dense>>;
  #state: NaiveState;
  #gradient: Matrices | null = null;
  #isClosed = false;
  readonly #results = new Map<string, unknown>();

  constructor(options: NaiveTrainerOptions, { adapter, state }: Kept) {
    this.#options = options;
    this.#adapter = adapter;
    this.#graphs = buildGraphs(options.config, adapter);
    this.#weightFeeds = weightFeeds(Object.values(this.#graphs), options);
    this.#state = state;
  }

  forward(
    data: readonly TrainingSequence[],
    call: TrainerCall,
    { hasAdapter = true }: ForwardOptions = {},
  ): Promise<ForwardResult> {
    return this.#once("forward", call, () => {
      requireTrainable(data, this.#options);
      const matrices = hasAdapter ? this.#state.matrices : zerosLike(this.#state.matrices);
      const logprobsOf = (sequence: TrainingSequence): readonly number[] =>
        this.#logprobsOf(sequence, matrices);
      return { logprobs: data.map((sequence) => Float32Array.from(logprobsOf(sequence))) };
    });
  }

  forwardBackward(
    data: readonly TrainingSequence[],
    loss: Loss,
    call: TrainerCall,
  ): Promise<ForwardBackwardResult> {
    return this.#once("forwardBackward", call, () => {
      requireTrainable(data, this.#options);
      requireLossInputs(data, loss);
      const inputs = data.map((sequence) => ({ sequence, logprobs: this.#logprobsOf(sequence) }));
      const { loss: lossValue, slopes } = batchLoss(inputs, loss);
      if (!Number.isFinite(lossValue)) throw notFinite("loss");
      const gradients = inputs.map(({ sequence }, row) => this.#gradientOf(sequence, slopes[row]));
      this.#gradient = gradients.reduce(sumOf, this.#gradient);
      const logprobs = inputs.map((input) => Float32Array.from(input.logprobs));
      return { loss: lossValue, logprobs, metrics: {} };
    });
  }

  optimStep(step: OptimizerStep, call: TrainerCall): Promise<OptimizerStepResult> {
    return this.#once("optimStep", call, () => {
      if (this.#gradient === null)
        throw new ServiceError({ code: "invalid", message: "There is no gradient to step with." });
      const squares = [...this.#gradient.values()].flatMap((values) => [...values].map((each) => each ** 2));
      const norm = Math.sqrt(squares.reduce((sum, square) => sum + square, 0));
      if (!Number.isFinite(norm)) throw notFinite("gradient");
      this.#state = steppedState(this.#state, this.#gradient, norm, step);
      this.#gradient = null;
      return { metrics: { gradient_norm: norm } };
    });
  }

  saveState(name: string, call: TrainerCall): Promise<string> {
    return this.#once("saveState", call, () => {
      mkdirSync(join(this.#options.dataFolder, name), { recursive: true });
      const { matrices: _matrices, ...shape } = this.#adapter;
      const plain = (named: Matrices): unknown =>
        Object.fromEntries([...named].map(([matrix, values]) => [matrix, [...values]]));
      const { stepCount, matrices, firstMoments, secondMoments } = this.#state;
      const moments = { firstMoments: plain(firstMoments), secondMoments: plain(secondMoments) };
      const file = join(name, stateFileName);
      const kept = { shape, stepCount, matrices: plain(matrices), ...moments };
      writeFileSync(join(this.#options.dataFolder, file), JSON.stringify(kept));
      return file;
    });
  }

  exportAdapter(folder: string, call: TrainerCall): Promise<void> {
    return this.#once("exportAdapter", call, () => {
      const rounded = [...this.#state.matrices].map(
        ([name, values]) => [name, Float32Array.from(values)] as const,
      );
      const matrices = new Map(rounded);
      requireFiniteAdapter(matrices);
      const { config } = this.#options;
      writeLoraAdapter(folder, { ...this.#adapter, matrices }, { config, baseModelName: "naive" });
    });
  }

  close(): Promise<void> {
    this.#isClosed = true;
    return Promise.resolve();
  }

  /**
   * Runs a call. If a call with the same id was run before, returns its result instead. A call begins only after the
   * previous one has ended, so calls take effect in order.
   */
  async #once<Result>(method: string, { id, signal }: TrainerCall, compute: () => Result): Promise<Result> {
    if (this.#isClosed) throw new ServiceError({ code: "unavailable", message: "The trainer is closed." });
    if (signal.aborted) throw cancelled();
    const key = `${method} ${id}`;
    if (!this.#results.has(key)) this.#results.set(key, compute());
    return this.#results.get(key) as Result; // Safe cast: a result of the same method.
  }

  #logprobsOf(sequence: TrainingSequence, matrices = this.#state.matrices): readonly number[] {
    const outputs = interpret(this.#graphs.logprobs, this.#feedsOf(sequence, { matrices, slopes: [] }));
    return [...outputs["logprobs"].data];
  }

  /** Computes the gradient of the sum of a sequence's log-probabilities, each multiplied by its value in `slopes`. */
  #gradientOf(sequence: TrainingSequence, slopes: readonly number[]): Matrices {
    const { matrices } = this.#state;
    const outputs = interpret(this.#graphs.gradient, this.#feedsOf(sequence, { matrices, slopes }));
    return new Map([...matrices.keys()].map((name) => [name, outputs[`gradient.${name}`].data]));
  }

  #feedsOf(
    sequence: TrainingSequence,
    { matrices, slopes }: { readonly matrices: Matrices; readonly slopes: readonly number[] },
  ): Readonly<Record<string, Dense>> {
    const indices = trainedIndices(sequence);
    const row = (values: readonly number[]): Dense => ({
      dims: [values.length],
      data: Float64Array.from(values),
    });
    return {
      ...this.#weightFeeds,
      ...Object.fromEntries(
        loraParameters(this.#options.config, this.#adapter).map(({ name, shape }) => [
          name,
          { dims: shape, data: present(matrices.get(name), name) },
        ]),
      ),
      tokens: { dims: [1, sequence.tokenIds.length], data: Float64Array.from(sequence.tokenIds) },
      chunks: row([0]),
      places: row(indices.map((index) => index - 1)),
      targets: row(indices.map((index) => targetsOf(sequence)[index])),
      slopes: row(indices.map((_, at) => slopes[at] ?? 0)),
    };
  }
}

/**
 * Graphs that compute the log-probabilities of one sequence, and the gradient of their sum, in which each is multiplied
 * by its value in the input `slopes`.
 */
interface NaiveGraphs {
  readonly logprobs: Graph;
  readonly gradient: Graph;
}

function buildGraphs(config: ModelConfig, { targets, rank, scale }: LoraAdapter): NaiveGraphs {
  const builder = new GraphBuilder();
  const inputs = {
    layout: {
      kind: "rows",
      tokens_BT: builder.input("tokens", "int64", ["B", "T"]),
      ...(recurrenceOf(config) !== null && { chunks_U: builder.input("chunks", "int64", ["U"]) }),
    } as const,
    places_N: builder.input("places", "int64", ["N"]),
    targets_N: builder.input("targets", "int64", ["N"]),
  };
  const { logprobs_N, learned } = addTrainingForward(builder, config, inputs, {
    learns: { kind: "lora", targets, rank, scale },
    hasEntropy: false,
  });
  const slopes_N = builder.input("slopes", "float32", ["N"]);
  const weighted = builder.reduceSum(builder.multiply(logprobs_N, slopes_N));
  const gradients = gradient(builder, weighted, [...learned.values()]);
  const named = [...learned.keys()].map((name, index) => [`gradient.${name}`, gradients[index]]);
  return {
    logprobs: builder.build({ logprobs: logprobs_N }),
    gradient: builder.build(Object.fromEntries(named)),
  };
}

function weightFeeds(graphs: readonly Graph[], { config, weights }: NaiveTrainerOptions) {
  const sources = weightsInMemory(config, weights);
  return Object.fromEntries(
    graphs
      .flatMap(({ parameters }) => parameters)
      .map(({ name, value }) => {
        const source = present(sources.get(name), name);
        assert("data" in source, `${name} is in memory`);
        return [name, { dims: value.shape.map(Number), data: Float64Array.from(source.data) }];
      }),
  );
}

function newState(matrices: Matrices): NaiveState {
  const [firstMoments, secondMoments] = [zerosLike(matrices), zerosLike(matrices)];
  return { stepCount: 0, matrices, firstMoments, secondMoments };
}

function doublesOf(matrices: LoraAdapter["matrices"]): Matrices {
  return new Map([...matrices].map(([name, values]) => [name, Float64Array.from(values)]));
}

function zerosLike(matrices: ReadonlyMap<string, ArrayLike<number>>): Matrices {
  return new Map([...matrices].map(([name, values]) => [name, new Float64Array(values.length)]));
}

type StoredState = Record<"matrices" | "firstMoments" | "secondMoments", Record<string, number[]>> & {
  readonly shape: Omit<LoraAdapter, "matrices">;
  readonly stepCount: number;
};

function readState(file: string): Kept {
  if (!existsSync(file)) throw notFound("trainer state", stateFileName);
  let stored: StoredState;
  try {
    stored = JSON.parse(readFileSync(file, "utf8")) as StoredState; // Safe cast: `saveState` wrote it.
  } catch (cause) {
    throw new ServiceError({
      code: "invalid",
      message: `The trainer state ${stateFileName} is damaged.`,
      cause,
    });
  }
  const named = (values: Record<string, number[]>): Matrices =>
    new Map(Object.entries(values).map(([name, numbers]) => [name, Float64Array.from(numbers)]));
  const matrices = named(stored.matrices);
  const state = {
    stepCount: stored.stepCount,
    matrices,
    firstMoments: named(stored.firstMoments),
    secondMoments: named(stored.secondMoments),
  };
  return { adapter: { ...stored.shape, matrices: new Map() }, state };
}

function cancelled(): ServiceError {
  return new ServiceError({ code: "cancelled", message: "The call was aborted." });
}

function notFinite(what: string): ServiceError {
  return new ServiceError({ code: "unsupported", message: `The ${what} is not finite.` });
}
