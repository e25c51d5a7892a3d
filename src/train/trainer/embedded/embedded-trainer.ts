// Trains in this process: the model as a tensor program with a LoRA adapter, its gradients by reverse-mode
// differentiation, and AdamW. Computing blocks the thread, so it needs a separate process. Programs are reused between
// jobs.
import { orderedProjections, type ProjectionName } from "../../../base/domain/model.ts";
import { present, unreachable } from "../../../base/domain/assert.ts";
import { invalid, ServiceError } from "../../../base/domain/service-error.ts";
import { type Tensor, float32Data, float32Tensor } from "../../../lib/graph/tensor.ts";
import type { ModelConfig } from "../../../inference/architectures/config.ts";
import { type LoraAdapter, createLoraAdapter } from "../../../inference/architectures/lora.ts";
import { loraParameters } from "../../../inference/architectures/parameters.ts";
import { readLoraAdapter, writeLoraAdapter } from "../../../inference/architectures/peft-folder.ts";
import type { ModelWeights } from "../../../inference/architectures/weights.ts";
import type { WeightSource } from "../../../lib/graph/weight-source.ts";
import { trainedIndices } from "../../trajectories/sequences.ts";
import { adamWStep, createAdamWState } from "../adamw.ts";
import { batchLoss } from "../losses/batch-loss.ts";
import type { LossInput } from "../losses/loss-tokens.ts";
import { dividePack } from "../packing/divide-pack.ts";
import { layoutOf } from "../packing/pack-layout.ts";
import { cutIntoPacks, type Pack } from "../packing/packs.ts";
import { groupByPrefix, ungrouped } from "../packing/prefix-groups.ts";
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
  hasKlPenalty,
  requireFiniteAdapter,
  requireLossInputs,
  requireTrainable,
} from "../trainer.ts";
import { SerialCalls, throwIfAborted } from "../serial-calls.ts";
import { ComputeThreads } from "./compute-threads.ts";
import {
  type BatchTerms,
  type Microbatch,
  type Round,
  lossFeeds,
  arePlacesDistinct,
  splitBySequence,
  tokenFeeds,
  wantedFeeds,
} from "./feeds.ts";
import {
  type MemoryEstimate,
  estimateMemory,
  hasSeveralSequences,
  requireMemoryWithin,
  MemoryNeeds,
} from "./memory-limit.ts";
import { type PreferenceTerms, preferenceTerms, sharedIndices } from "./preference-feeds.ts";
import { discardState, embeddedProfile } from "./profile.ts";
import type { ArtifactStore } from "../../../store/artifacts/artifact-store.ts";
import type { Program } from "./program-graphs.ts";
import type { ProgramOutputs, ProgramRun } from "./programs.ts";
import { type KeptState, readState, writeState } from "./state-file.ts";
import { type AdapterShape, gradientName } from "./training-graphs.ts";

export interface EmbeddedTrainerOptions {
  readonly config: ModelConfig;
  /** The frozen base: a weight for each of the model's parameters. */
  readonly weights: ReadonlyMap<string, WeightSource>;
  /**
   * The base model in 8 bits, with the additional forms that gradients need. If present, training computes with it;
   * `weights` is then the float32 model with which its results are compared.
   */
  readonly int8Base?: ModelWeights;
  /** Shape of new adapters; existing adapters keep their own shape. */
  readonly lora: {
    readonly rank: number;
    readonly alpha: number;
    readonly targets: readonly ProjectionName[];
  };
  /** The base model's name in the saved adapter. */
  readonly baseModelName: string;
  /** Hex SHA-256 of the base model's weights, kept in the saved adapter. */
  readonly baseWeights?: string;
  /** Store of the trainers' states. */
  readonly artifacts: ArtifactStore;
  readonly sequenceLengthMax: number;
  /** Number of tokens per microbatch. It is lowered if memory requires it; a longer sequence gets its own microbatch. */
  readonly microbatchTokens: number;
  /** Limit on a job's resident memory, as estimated before its first step; unlimited if absent. */
  readonly memoryBytes?: number;
  /** True to compute shared prefixes once. */
  readonly sharesPrefixes: boolean;
  /** Number of compute threads. */
  readonly threads: number;
}

/** Opens trainers over one base model. Programs stay loaded until `close` or the end of the process. */
export class EmbeddedTrainers implements TrainerProvider {
  readonly profile = embeddedProfile;
  readonly sequenceLengthMax: number;
  readonly threads: ComputeThreads;
  readonly #options: EmbeddedTrainerOptions;
  /**
   * Number of tokens per microbatch of the current job; lower than the option if the job would otherwise exceed the
   * memory limit.
   */
  #microbatchTokens: number;

  constructor(options: EmbeddedTrainerOptions) {
    const { config, weights, int8Base, threads } = options;
    this.#options = options;
    this.#microbatchTokens = options.microbatchTokens;
    this.sequenceLengthMax = Math.min(options.sequenceLengthMax, config.contextLength);
    const base = int8Base && { weights: int8Base.sources, forms: int8Base.forms };
    this.threads = new ComputeThreads({ config, weights, ...base, threads });
  }

  async requireMemory(batches: Iterable<readonly TrainingSequence[]>, loss: Loss): Promise<void> {
    const { memoryBytes = Infinity, microbatchTokens } = this.#options;
    this.#microbatchTokens = microbatchTokens;
    let estimate = await this.#estimate(batches, loss);
    while (estimate !== null && estimate.bytes > memoryBytes && hasSeveralSequences(estimate)) {
      // With one token per microbatch, each sequence already has its own.
      if (this.#microbatchTokens === 1) break;
      this.#microbatchTokens = Math.floor(this.#microbatchTokens / 2);
      estimate = await this.#estimate(batches, loss);
    }
    if (estimate !== null) requireMemoryWithin(memoryBytes, estimate);
  }

  /** Returns the memory estimate; null if there is nothing to compute. */
  async #estimate(
    batches: Iterable<readonly TrainingSequence[]>,
    loss: Loss,
  ): Promise<MemoryEstimate | null> {
    const { config, lora, int8Base } = this.#options;
    const needs = new MemoryNeeds();
    for (const batch of batches) {
      needs.add(batch, this.cut(batch, loss).map(layoutsOf));
      // Estimating may take long, so the event loop must run in between: it reports progress to the parent and handles
      // signals.
      await yieldToEventLoop();
    }
    const { rank, alpha, targets } = lora;
    // The estimate assumes the server's adapter shape. A version's adapter may have another shape, but few have.
    const adapter = { rank, scale: alpha / rank, targets: orderedProjections(targets) };
    const uses = needs.rounds.map(({ layout, largest }) => {
      const hasDistinctPlaces = largest.every((round) => round.every(arePlacesDistinct));
      const programs: readonly Program[] = [
        { kind: "gradient", layout, adapter, loss, hasDistinctPlaces },
        { kind: "logprobs", layout, adapter },
      ];
      return { graphs: programs.map((program) => this.threads.graphs.of(program)), largest };
    });
    return uses.length === 0
      ? null
      : estimateMemory({ config, adapter, int8Forms: int8Base?.forms }, uses, needs.dataBytes);
  }

  /**
   * Returns the rounds to compute, one after the other. They are for a gradient of the loss, or, if the loss is null,
   * for log-probabilities only.
   */
  cut(data: readonly TrainingSequence[], loss: Loss | null): readonly PackedRound[] {
    const { sharesPrefixes, config } = this.#options;
    // The delta rule's state after a prefix gets no gradient, so the prefix must be computed again for each row.
    const groups = sharesPrefixes && config.delta === null ? groupByPrefix(data) : ungrouped(data);
    const packs = cutIntoPacks(groups, this.#microbatchTokens);
    // Stays in one microbatch: several would cost an extra forward pass before the gradient. See `#klElsewhere` and
    // `#preferenceTerms`.
    const staysWhole = packs.length === 1 && loss !== null && hasKlPenalty(loss);
    return packs.map((pack) => {
      const parts = staysWhole ? [pack] : dividePack(pack, this.threads.division);
      return loss?.kind === "preference" && sharedIndices(parts.map(sequencesOf)).size > 0 ? [pack] : parts;
    });
  }

  /**
   * Runs `compute` with programs for the float32 base model. If training runs with the 8-bit model, these programs are
   * freed afterwards.
   */
  async withFloat32(compute: (threads: ComputeThreads) => Promise<void>): Promise<void> {
    const { config, weights, int8Base, threads: count } = this.#options;
    if (int8Base === undefined) return await compute(this.threads);
    const threads = new ComputeThreads({ config, weights, threads: count });
    try {
      await compute(threads);
    } finally {
      await threads.close();
    }
  }

  async open(start: TrainerStart, { signal }: TrainerCall): Promise<Trainer> {
    throwIfAborted(signal);
    return new EmbeddedTrainer(this, this.#options, await this.#startOf(start));
  }

  discard(state: string): Promise<void> {
    return discardState(this.#options.artifacts, state);
  }

  async #startOf(start: TrainerStart): Promise<KeptState> {
    const { config, lora } = this.#options;
    const anew = (adapter: LoraAdapter): KeptState => ({
      adapter,
      optimizer: createAdamWState(adapter.matrices),
    });
    switch (start.kind) {
      case "new":
        return anew(createLoraAdapter(config, { ...lora, seed: start.seed }));
      case "adapter":
        return anew(readLoraAdapter(start.folder, config));
      case "state": {
        const kept = await readState(this.#options, start.state);
        return start.keepsOptimizer ? kept : anew(kept.adapter);
      }
      default:
        return unreachable(start);
    }
  }

  /** Frees all programs. */
  close(): Promise<void> {
    return this.threads.close();
  }
}

/**
 * Packs that are computed at the same time. They are laid out only just before, since a layout is many times larger
 * than a pack.
 */
type PackedRound = readonly TrainingPack[];

type TrainingPack = Pack<TrainingSequence>;

function sequencesOf({ groups }: TrainingPack): readonly TrainingSequence[] {
  return groups.flatMap((group) => group.flatMap(({ sequences }) => sequences));
}

function layoutsOf(round: PackedRound): Round {
  return round.map((pack) => layoutOf(pack));
}

/** Gives the event loop a turn, since computing and estimating block the thread. */
function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** One array per adapter matrix, by its name. */
type Gradients = ReadonlyMap<string, Float32Array>;

class EmbeddedTrainer implements Trainer {
  readonly #trainers: EmbeddedTrainers;
  readonly #options: EmbeddedTrainerOptions;
  /** Changes with each optimizer step. */
  readonly #kept: KeptState;
  readonly #calls = new SerialCalls();
  /** Gradients accumulated since the last optimizer step; null if there are none. */
  #gradients: Gradients | null = null;

  constructor(trainers: EmbeddedTrainers, options: EmbeddedTrainerOptions, start: KeptState) {
    this.#trainers = trainers;
    this.#options = options;
    this.#kept = start;
  }

  get #adapter(): LoraAdapter {
    return this.#kept.adapter;
  }

  forward(
    data: readonly TrainingSequence[],
    call: TrainerCall,
    { hasAdapter = true, isFloat32 = false }: ForwardOptions = {},
  ): Promise<ForwardResult> {
    return this.#calls.run("forward", call, async () => {
      requireTrainable(data, this.#trainers);
      const logprobs = new Map<TrainingSequence, Float32Array>();
      const adapterFeeds = hasAdapter ? this.#adapterFeeds() : this.#noAdapterFeeds();
      const runOf = (microbatch: Microbatch): ProgramRun => this.#logprobRun(microbatch, adapterFeeds);
      const compute = (threads: ComputeThreads): Promise<void> =>
        this.#compute(
          this.#trainers.cut(data, null),
          runOf,
          call.signal,
          (microbatch, outputs) => collect(logprobs, microbatch, outputs),
          threads,
        );
      await (isFloat32 ? this.#trainers.withFloat32(compute) : compute(this.#trainers.threads));
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
      requireLossInputs(data, loss);
      const rounds = this.#trainers.cut(data, loss);
      const klElsewhere = await this.#klElsewhere(rounds, loss, call.signal);
      const preferences = await this.#preferenceTerms(data, { rounds, loss }, call.signal);
      const tokenCount = data.reduce((count, sequence) => count + trainedIndices(sequence).length, 0);
      const logprobs = new Map<TrainingSequence, Float32Array>();
      const sums = { loss: 0, entropy: 0 };
      let gradients: Gradients | null = null;
      const adapterFeeds = this.#adapterFeeds();
      const runOf = (microbatch: Microbatch, pack: TrainingPack): ProgramRun => {
        const terms = { loss, tokenCount, klElsewhere: klElsewhere.get(pack) ?? 0, preferences };
        return this.#gradientRun(microbatch, terms, adapterFeeds);
      };
      await this.#compute(rounds, runOf, call.signal, (microbatch, outputs) => {
        sums.loss += float32Data(outputs["loss"])[0];
        sums.entropy += float32Data(outputs["entropy"])[0];
        gradients = accumulate(gradients, this.#gradientsOf(outputs));
        collect(logprobs, microbatch, outputs);
      });
      // If a preference spans several microbatches, each of them counts its loss, so the sum would be too large. The
      // loss is therefore computed from the log-probabilities.
      if (preferences !== null) sums.loss = batchLoss(inputsOf(data, logprobs), loss).loss;
      requireFinite(sums.loss, sums.entropy);
      // The gradients are added only at the end, so that an aborted or failed call adds none.
      this.#gradients = accumulate(this.#gradients, present<Gradients>(gradients, "a microbatch's gradient"));
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
        throw invalid("There is no gradient to step with; call forwardBackward first.");
      }
      const { matrices } = this.#adapter;
      const { gradientNorm } = adamWStep(this.#kept.optimizer, matrices, this.#gradients, step);
      this.#gradients = null;
      return { metrics: { gradient_norm: gradientNorm } };
    });
  }

  saveState(name: string, call: TrainerCall): Promise<string> {
    return this.#calls.run("saveState", call, () => writeState(this.#options, name, this.#kept));
  }

  exportAdapter(folder: string, call: TrainerCall): Promise<void> {
    return this.#calls.run("exportAdapter", call, async () => {
      const { config, baseModelName, baseWeights } = this.#options;
      requireFiniteAdapter(this.#adapter.matrices);
      const named = { baseModelName, ...(baseWeights === undefined ? {} : { baseWeights }) };
      writeLoraAdapter(folder, this.#adapter, { config, ...named });
    });
  }

  async close(): Promise<void> {
    await this.#calls.close();
    this.#gradients = null;
  }

  /** Computes the rounds and handles their results in order. An abort takes effect between two rounds. */
  async #compute(
    rounds: readonly PackedRound[],
    runOf: (microbatch: Microbatch, pack: TrainingPack) => ProgramRun,
    signal: AbortSignal,
    take: (microbatch: Microbatch, outputs: ProgramOutputs, pack: TrainingPack) => void,
    threads: ComputeThreads = this.#trainers.threads,
  ): Promise<void> {
    for (const round of rounds) {
      // Computing blocks the thread, so a signal can abort the call only here.
      await yieldToEventLoop();
      throwIfAborted(signal);
      const layouts = layoutsOf(round);
      const runs = layouts.map((microbatch, index) => runOf(microbatch, round[index]));
      const outputs = await threads.run(runs);
      layouts.forEach((microbatch, index) =>
        take(microbatch, present(outputs[index], "a run's outputs"), round[index]),
      );
    }
  }

  #tokenFeeds(microbatch: Microbatch): Record<string, Tensor> {
    return tokenFeeds(microbatch, this.#options.config);
  }

  #logprobRun(microbatch: Microbatch, adapterFeeds: Record<string, Tensor>): ProgramRun {
    const program: Program = { kind: "logprobs", layout: microbatch.kind, adapter: this.#adapterShape() };
    return { program, feeds: { ...this.#tokenFeeds(microbatch), ...adapterFeeds } };
  }

  #gradientRun(microbatch: Microbatch, terms: BatchTerms, adapterFeeds: Record<string, Tensor>): ProgramRun {
    const hasDistinctPlaces = arePlacesDistinct(microbatch);
    const adapter = this.#adapterShape();
    return {
      program: { kind: "gradient", layout: microbatch.kind, adapter, loss: terms.loss, hasDistinctPlaces },
      feeds: {
        ...this.#tokenFeeds(microbatch),
        ...(hasDistinctPlaces ? wantedFeeds(microbatch) : {}),
        ...lossFeeds(microbatch, terms),
        ...adapterFeeds,
      },
    };
  }

  /**
   * Returns, for each pack, the sum over the tokens of all other packs of their difference from the base model. The
   * mean that a KL penalty uses is over the whole batch. With several microbatches, this therefore costs a forward
   * pass before the gradients.
   */
  async #klElsewhere(
    rounds: readonly PackedRound[],
    loss: Loss,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<TrainingPack, number>> {
    const sums = new Map<TrainingPack, number>();
    if (!hasKlPenalty(loss) || rounds.flat().length === 1) return sums;
    const adapterFeeds = this.#adapterFeeds();
    const runOf = (microbatch: Microbatch): ProgramRun => this.#logprobRun(microbatch, adapterFeeds);
    await this.#compute(rounds, runOf, signal, (microbatch, { logprobs }, pack) =>
      sums.set(pack, differenceFromReference(microbatch, float32Data(logprobs), loss)),
    );
    const total = [...sums.values()].reduce((sum, each) => sum + each, 0);
    return new Map([...sums].map(([pack, sum]) => [pack, total - sum]));
  }

  /**
   * Returns the terms of the whole batch that each microbatch needs for a preference loss; null for other losses. If
   * preferences span several microbatches, this costs a forward pass before the gradients.
   */
  async #preferenceTerms(
    data: readonly TrainingSequence[],
    { rounds, loss }: { readonly rounds: readonly PackedRound[]; readonly loss: Loss },
    signal: AbortSignal,
  ): Promise<PreferenceTerms | null> {
    if (loss.kind !== "preference") return null;
    const shared = sharedIndices(rounds.flat().map(sequencesOf));
    const isShared = ({ preference }: TrainingSequence): boolean => shared.has(preference?.index ?? -1);
    const computed = rounds.filter((round) => round.some((pack) => sequencesOf(pack).some(isShared)));
    const logprobs = new Map<TrainingSequence, Float32Array>();
    const adapterFeeds = this.#adapterFeeds();
    const runOf = (microbatch: Microbatch): ProgramRun => this.#logprobRun(microbatch, adapterFeeds);
    await this.#compute(computed, runOf, signal, (microbatch, outputs) =>
      collect(logprobs, microbatch, outputs),
    );
    const ofShared = [...logprobs].filter(([sequence]) => isShared(sequence));
    return preferenceTerms(data, loss.config, new Map(ofShared));
  }

  #gradientsOf(outputs: ProgramOutputs): Gradients {
    const names = [...this.#adapter.matrices.keys()];
    return new Map(names.map((name) => [name, float32Data(outputs[gradientName(name)])]));
  }

  #adapterShape(): AdapterShape {
    const { rank, scale, targets } = this.#adapter;
    return { rank, scale, targets };
  }

  #adapterFeeds(): Record<string, Tensor> {
    const { matrices } = this.#adapter;
    return this.#feedMatrices((name) => present(matrices.get(name), name));
  }

  /** Returns adapter matrices of zeros, with which the same program computes the base model. */
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

/** Returns the sum of the log ratios to the reference over the trained tokens. */
function differenceFromReference(
  { sequences_S, trained_N }: Microbatch,
  logprobs_N: Float32Array,
  loss: Loss,
): number {
  const isOfSample = loss.kind === "policy" && loss.config.klPenaltySource === "sample";
  return trained_N.reduce((sum, { sequence, index }, at) => {
    const { oldLogprobs, referenceLogprobs } = sequences_S[sequence];
    const isOld = isOfSample && !Number.isNaN(oldLogprobs[index]);
    return sum + (isOld ? oldLogprobs[index] : logprobs_N[at]) - (referenceLogprobs?.[index] ?? NaN);
  }, 0);
}

/** Adds the second to the first in place; returns the second if there is no first. */
function accumulate(sum: Gradients | null, more: Gradients): Gradients {
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
  outputs: ProgramOutputs,
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

function inputsOf(
  data: readonly TrainingSequence[],
  logprobs: ReadonlyMap<TrainingSequence, Float32Array>,
): readonly LossInput[] {
  const rows = inOrderOf(data, logprobs);
  return data.map((sequence, row) => ({ sequence, logprobs: rows[row] }));
}

function requireFinite(loss: number, entropy: number): void {
  if (Number.isFinite(loss) && Number.isFinite(entropy)) return;
  throw new ServiceError({
    code: "unsupported",
    message: "The loss is not finite, so training stopped; lower the learning rate or check the rewards.",
  });
}
