// Trains a LoRA adapter in this process: runs the model as a tensor program, gets gradients by reverse-mode
// differentiation, and steps with AdamW. Computing blocks the thread, so a trainer needs a process of its own. Programs
// stay loaded between jobs.
import { orderedProjections, type ProjectionName } from "../../../base/domain/model.ts";
import { present, unreachable } from "../../../base/domain/assert.ts";
import { invalid, ServiceError } from "../../../base/domain/service-error.ts";
import { type Tensor, float32Data, float32Tensor } from "../../../lib/graph/tensor.ts";
import type { ModelConfig } from "../../../inference/architectures/config.ts";
import { type LoraAdapter, createLoraAdapter } from "../../../inference/architectures/lora.ts";
import { loraParameters } from "../../../inference/architectures/parameters.ts";
import { readLoraAdapter, writeLoraAdapter } from "../../../inference/architectures/peft-folder.ts";
import type { WeightForms } from "../../../inference/architectures/quantized/weight-forms.ts";
import type { ReadFloats } from "../../../inference/architectures/weights.ts";
import type { WeightSource } from "../../../lib/graph/weight-source.ts";
import { trainedIndices } from "../../trajectories/sequences.ts";
import { adamWStep, createAdamWState } from "../adamw.ts";
import type { StateStore } from "../child-protocol.ts";
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
  type Economy,
  type MemoryEstimate,
  economies,
  estimateMemory,
  hasSeveralSequences,
  requireMemoryWithin,
  MemoryNeeds,
  streamedWarning,
} from "./memory-limit.ts";
import { type PreferenceTerms, preferenceTerms, sharedIndices } from "./preference-feeds.ts";
import { discardState, embeddedProfile } from "./profile.ts";
import type { Program } from "./program-graphs.ts";
import type { ProgramOutputs, ProgramRun } from "./programs.ts";
import { StreamedPrograms } from "./streamed-programs.ts";
import { type KeptState, readState, writeState } from "./state-file.ts";
import { type AdapterShape, gradientName } from "./training-graphs.ts";

export interface EmbeddedTrainerOptions {
  readonly config: ModelConfig;
  /**
   * Returns the frozen weights of the base model, by name: all in float32, or in the forms of `int8`. Called at most
   * once, before the first run that needs them.
   */
  readonly readWeights: () => ReadonlyMap<string, WeightSource>;
  /** Present if the base model is in 8 bits; its weights then include the additional tensors that gradients need. */
  readonly int8?: { readonly forms: WeightForms };
  /**
   * Reads one float32 weight. Required for `ForwardOptions.isFloat32` over a base model in 8 bits; otherwise, jobs use
   * it if the weights exceed the memory limit.
   */
  readonly readFloats?: ReadFloats;
  /** Shape of newly created LoRA adapters. Training that starts from an existing adapter keeps that adapter's shape. */
  readonly lora: {
    readonly rank: number;
    readonly alpha: number;
    readonly targets: readonly ProjectionName[];
  };
  /** Name of the base model that the exported adapter's configuration file states. */
  readonly baseModelName: string;
  /** Hex SHA-256 of the base model's weights, also stored with the exported adapter. */
  readonly baseWeights?: string;
  /** Store in which trainers save their states (adapter and optimizer). */
  readonly artifacts: StateStore;
  readonly sequenceLengthMax: number;
  /**
   * Maximum number of tokens in a microbatch. A job that would need much memory, or exceed `memoryBytes`, uses fewer. A
   * sequence that is longer gets a microbatch of its own.
   */
  readonly microbatchTokens: number;
  /**
   * Limit in bytes on a job's resident memory, checked against an estimate before the first step; unlimited if absent.
   */
  readonly memoryBytes?: number;
  /**
   * If several sequences begin with the same tokens: true to compute these tokens once, false to compute them for each
   * sequence.
   */
  readonly sharesPrefixes: boolean;
  readonly threads: number;
}

/**
 * Memory of a job in bytes, in addition to the weights. If the estimate is higher, the job uses smaller microbatches, as
 * long as these keep all threads busy: they hardly take longer.
 */
const usualBytesMax = 1.5e9;

/** Opens trainers that share one base model. Loaded programs stay in memory until `close` or the end of the process. */
export class EmbeddedTrainers implements TrainerProvider {
  readonly profile = embeddedProfile;
  readonly sequenceLengthMax: number;
  readonly threads: ComputeThreads;
  readonly #options: EmbeddedTrainerOptions;
  /**
   * Maximum number of tokens in a microbatch of the current job. It is below `options.microbatchTokens` if the job
   * would otherwise need much memory, or exceed the memory limit.
   */
  #microbatchTokens: number;
  #economy: Economy = economies[0];
  #streamed: StreamedPrograms | null = null;

  constructor(options: EmbeddedTrainerOptions) {
    const { config, readWeights, int8, threads } = options;
    this.#options = options;
    this.#microbatchTokens = options.microbatchTokens;
    this.sequenceLengthMax = Math.min(options.sequenceLengthMax, config.contextLength);
    this.threads = new ComputeThreads({ config, readWeights, ...(int8 && { forms: int8.forms }), threads });
  }

  get economy(): Economy {
    return this.#economy;
  }

  async requireMemory(batches: Iterable<readonly TrainingSequence[]>, loss: Loss): Promise<string | null> {
    const { memoryBytes = Infinity, int8, readFloats } = this.#options;
    const canStream = int8 === undefined && readFloats !== undefined;
    const possible = economies.filter(({ streamsWeights }) => canStream || !streamsWeights);
    let estimate: MemoryEstimate | null = null;
    for (const economy of possible) {
      this.#economy = economy;
      estimate = await this.#smallestEstimate(batches, loss);
      if (estimate === null || estimate.bytes <= memoryBytes) break;
    }
    if (estimate !== null) requireMemoryWithin(memoryBytes, estimate, { isInt8: int8 !== undefined });
    return this.#economy.streamsWeights ? streamedWarning(memoryBytes) : null;
  }

  /**
   * Makes microbatches smaller until the job keeps the memory limit, or smaller ones would need no less memory. Below
   * the limit, makes them smaller only if that hardly takes longer.
   */
  async #smallestEstimate(
    batches: Iterable<readonly TrainingSequence[]>,
    loss: Loss,
  ): Promise<MemoryEstimate | null> {
    const { memoryBytes = Infinity, microbatchTokens } = this.#options;
    this.#microbatchTokens = microbatchTokens;
    let estimate = await this.#estimate(batches, loss);
    while (estimate !== null && hasSeveralSequences(estimate)) {
      const half = Math.floor(this.#microbatchTokens / 2);
      const isOverLimit = estimate.bytes > memoryBytes;
      const isLarge = estimate.bytes > estimate.weightBytes + usualBytesMax;
      // Each further microbatch would read streamed weights again.
      const isCheap = half >= this.#fullTokens && !this.#economy.streamsWeights;
      if (!isOverLimit && !(isLarge && isCheap)) break;
      // At one token per microbatch, each sequence already has a microbatch of its own, so halving again changes
      // nothing.
      if (half === 0) break;
      this.#microbatchTokens = half;
      estimate = await this.#estimate(batches, loss);
    }
    return estimate;
  }

  /** Number of tokens that keep all threads busy. Smaller microbatches would take longer. */
  get #fullTokens(): number {
    const { count, tokensMin } = this.threads.division;
    return count * tokensMin;
  }

  /** Estimates the memory of a job with these batches. Returns null if there are no batches. */
  async #estimate(
    batches: Iterable<readonly TrainingSequence[]>,
    loss: Loss,
  ): Promise<MemoryEstimate | null> {
    const { config, lora, int8 } = this.#options;
    const needs = new MemoryNeeds();
    for (const batch of batches) {
      needs.add(batch, this.cut(batch, loss).map(layoutsOf));
      // Estimating a large job blocks the thread for long. The event loop runs between batches, so that this process
      // can report progress to its parent and handle signals.
      await yieldToEventLoop();
    }
    const { rank, alpha, targets } = lora;
    // The estimate assumes the adapter shape that the server configures. Few existing adapters have another shape.
    const adapter = { rank, scale: alpha / rank, targets: orderedProjections(targets) };
    const { recomputesProducts, streamsWeights } = this.#economy;
    const uses = needs.rounds.map(({ layout, largest }) => {
      const hasDistinctPlaces = largest.every((round) => round.every(arePlacesDistinct));
      const programs: readonly Program[] = [
        { kind: "gradient", layout, adapter, loss, hasDistinctPlaces, recomputesProducts },
        { kind: "logprobs", layout, adapter },
      ];
      return { graphs: programs.map((program) => this.threads.graphs.of(program)), largest };
    });
    return uses.length === 0
      ? null
      : estimateMemory({ config, adapter, int8Forms: int8?.forms, streamsWeights }, uses, needs.dataBytes);
  }

  /**
   * Divides training data into rounds, which the trainer computes one after the other. A round has microbatches that
   * are computed in parallel. If `loss` is null, the rounds are for log-probabilities only.
   */
  cut(data: readonly TrainingSequence[], loss: Loss | null): readonly PackedRound[] {
    const { sharesPrefixes } = this.#options;
    const groups = sharesPrefixes ? groupByPrefix(data) : ungrouped(data);
    const packs = cutIntoPacks(groups, this.#microbatchTokens);
    // A KL penalty uses a mean over the whole batch. If there is only one pack, dividing it would therefore cost an
    // additional forward pass before the gradient (`#klElsewhere`). Dividing the sequences of a preference among parts
    // would cost one too (`#preferenceTerms`).
    const hasKl = packs.length === 1 && loss !== null && hasKlPenalty(loss);
    // Streamed runs are not computed in parallel.
    const staysWhole = hasKl || this.#economy.streamsWeights;
    return packs.map((pack) => {
      const parts = staysWhole ? [pack] : dividePack(pack, this.threads.division);
      return loss?.kind === "preference" && sharedIndices(parts.map(sequencesOf)).size > 0 ? [pack] : parts;
    });
  }

  /** Returns an object that runs the programs of the base model, in float32 if required. */
  programsFor({ isFloat32 }: { readonly isFloat32: boolean }): RunPrograms {
    const { config, int8, readFloats, threads } = this.#options;
    const isStreamed = this.#economy.streamsWeights || (isFloat32 && int8 !== undefined);
    if (!isStreamed) return this.threads;
    return (this.#streamed ??= new StreamedPrograms({
      config,
      readFloats: present(readFloats, "a reader of float32 weights"),
      threads,
    }));
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

  /** Frees all loaded programs; a later call loads them again. */
  close(): Promise<void> {
    return this.threads.close();
  }
}

type RunPrograms = Pick<ComputeThreads, "run">;

/**
 * Packs (groups of sequences) that are computed in parallel. Each pack is laid out as a token list only just before it
 * is computed, because the layout takes many times the pack's memory.
 */
type PackedRound = readonly TrainingPack[];

type TrainingPack = Pack<TrainingSequence>;

function sequencesOf({ groups }: TrainingPack): readonly TrainingSequence[] {
  return groups.flatMap((group) => group.flatMap(({ sequences }) => sequences));
}

function layoutsOf(round: PackedRound): Round {
  return round.map((pack) => layoutOf(pack));
}

/** Lets the event loop run once, because computing and estimating block the thread. */
function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The gradient of each adapter matrix, by the matrix's name. */
type Gradients = ReadonlyMap<string, Float32Array>;

class EmbeddedTrainer implements Trainer {
  readonly #trainers: EmbeddedTrainers;
  readonly #options: EmbeddedTrainerOptions;
  /** Adapter and optimizer state; each optimizer step changes both in place. */
  readonly #kept: KeptState;
  readonly #calls = new SerialCalls();
  /** Gradients added up since the last optimizer step; null if there are none. */
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
      await this.#compute(
        this.#trainers.cut(data, null),
        runOf,
        call.signal,
        (microbatch, outputs) => collect(logprobs, microbatch, outputs),
        this.#trainers.programsFor({ isFloat32 }),
      );
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
      // Each microbatch that contains a part of a preference counts that preference's whole loss, so the sum would be
      // too large. The loss is therefore computed again, from the log-probabilities.
      if (preferences !== null) sums.loss = batchLoss(inputsOf(data, logprobs), loss).loss;
      requireFinite(sums.loss, sums.entropy);
      // Adds the new gradients only now, so that a call that fails or is aborted leaves the accumulated gradients
      // unchanged.
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

  /**
   * Computes the rounds in order and passes the outputs of each microbatch to `take`. An abort takes effect between two
   * rounds.
   */
  async #compute(
    rounds: readonly PackedRound[],
    runOf: (microbatch: Microbatch, pack: TrainingPack) => ProgramRun,
    signal: AbortSignal,
    take: (microbatch: Microbatch, outputs: ProgramOutputs, pack: TrainingPack) => void,
    programs: RunPrograms = this.#trainers.programsFor({ isFloat32: false }),
  ): Promise<void> {
    for (const round of rounds) {
      // Computing blocks the thread, so only here can an abort signal arrive.
      await yieldToEventLoop();
      throwIfAborted(signal);
      const layouts = layoutsOf(round);
      const runs = layouts.map((microbatch, index) => runOf(microbatch, round[index]));
      const outputs = await programs.run(runs);
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
    const { recomputesProducts } = this.#trainers.economy;
    const { loss } = terms;
    return {
      program: {
        kind: "gradient",
        layout: microbatch.kind,
        adapter,
        loss,
        hasDistinctPlaces,
        recomputesProducts,
      },
      feeds: {
        ...this.#tokenFeeds(microbatch),
        ...(hasDistinctPlaces ? wantedFeeds(microbatch) : {}),
        ...lossFeeds(microbatch, terms),
        ...adapterFeeds,
      },
    };
  }

  /**
   * Returns, for each pack, the other packs' part of the sum of log ratios to the base model. A KL penalty needs it,
   * because it uses a mean over the whole batch. With several packs, this costs a forward pass before the gradients.
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
   * Returns the quantities of the whole batch that a preference loss needs in each microbatch; null for other losses.
   * If sequences of one preference are in different microbatches, this costs a forward pass before the gradients.
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

  /**
   * Returns adapter matrices filled with zeros. With them, a program that includes an adapter gives the base model's
   * results.
   */
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

/** Sums the log ratio of the policy to the reference model over the trained tokens of a microbatch. */
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

/** Adds `more` to `sum` in place and returns `sum`; returns `more` if `sum` is null. */
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
