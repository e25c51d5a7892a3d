// The engine proper, single-threaded: takes requests, and runs steps while there is work. A step is planned, its calls
// are run one after another, tokens are drawn and settled. Between calls messages come in, so that an abort acts within
// one step. Rows that wait for their constraints hold nobody else. Knows neither processes nor text.
// A step that throws is a programmer error: `run` rejects and the process must end.
import { setImmediate } from "node:timers/promises";
import { assert, present } from "../../domain/assert.ts";
import type { Constraint } from "../../domain/constraint.ts";
import type { GenerationRequest } from "../../domain/generation.ts";
import { ServiceError } from "../../domain/service-error.ts";
import { failureOf } from "../../processes/failure.ts";
import { positionBytes } from "../cache/kv-lane.ts";
import type { Constraints, PreparedConstraint } from "../constraints/constraints.ts";
import type { ScoreProcessor } from "../logits/draw-input.ts";
import type { ModelRunner } from "../model-runner.ts";
import { advanceBeams, isReadyToAdvance, isSearched } from "./beams.ts";
import { logprobTokensPerStep } from "./prompt-logprobs.ts";
import type { ProcessorRegistry } from "../processors/registry.ts";
import { Lanes } from "./lanes.ts";
import { runCall } from "./run-call.ts";
import {
  choosePreempted,
  compareRanks,
  planStep,
  slotsThatFit,
  type PlannedCall,
  type PromptChunk,
  type StepBudget,
} from "./scheduler.ts";
import { openRequest, successorOf, type RunningRequest, type Sequence } from "./sequence.ts";
import { Drawer } from "./draw.ts";
import { failRequest, settleDraws, settlePromptLogprobs, type Draw, type LoopOutput } from "./settle.ts";

export interface LoopOptions {
  readonly slotCountMax: number;
  readonly kvCacheBytesMax: number;
  readonly tokensPerStepMax: number;
  readonly promptChunkTokens: number;
  /** Absent where the vocabulary's size decides. */
  readonly logprobTokensPerStepMax?: number;
  /** Absent where no request brings a constraint. */
  readonly constraints?: Constraints;
  /** Absent where no request asks for a logits processor. */
  readonly processors?: ProcessorRegistry;
  /** Called with all that came of a call, and at the end of each step, then also with nothing. */
  readonly emit: (outputs: readonly LoopOutput[]) => void;
}

/** A request that waits for its constraint. */
interface Preparing {
  /** Gives it up. */
  readonly abort: AbortController;
  /** The choices that were stopped meanwhile. */
  readonly stopped: number[];
}

export class EngineLoop {
  readonly #runner: ModelRunner;
  readonly #emit: (outputs: readonly LoopOutput[]) => void;
  readonly #budget: StepBudget;
  readonly #drawer: Drawer;
  readonly #lanes: Lanes;
  readonly #constraints: Constraints | undefined;
  readonly #processors: ProcessorRegistry | undefined;
  /** Requests whose constraint is being prepared, by their keys. */
  readonly #preparing = new Map<number, Preparing>();
  /** Those that want tokens, by their keys. */
  readonly #requests = new Map<number, RunningRequest>();
  /** Sequences that hold nothing, each with its followers, in the order in which they are to start. */
  #waiting: readonly Sequence[] = [];
  #arrivalCount = 0;
  #isStopping = false;
  #wake: () => void = () => undefined;

  constructor(runner: ModelRunner, options: LoopOptions) {
    this.#runner = runner;
    this.#emit = options.emit;
    this.#budget = {
      ...options,
      bytesPerPosition: positionBytes(runner.shape),
      logprobTokensPerStepMax:
        options.logprobTokensPerStepMax ?? logprobTokensPerStep(runner.shape.vocabularySize),
    };
    this.#drawer = new Drawer(runner.shape.vocabularySize);
    this.#lanes = new Lanes(runner, options.kvCacheBytesMax);
    this.#constraints = options.constraints;
    this.#processors = options.processors;
  }

  get kvCacheBytes(): number {
    return this.#lanes.kvCacheBytes;
  }

  get hasWork(): boolean {
    return this.#requests.size > 0 || !this.#lanes.isEmpty;
  }

  /**
   * Queues a request. Choices that can never run all at once run in portions, each computing the prompt again.
   *
   * @param key names it in what is emitted; never used twice
   */
  submit(key: number, request: GenerationRequest): void {
    const { constraint } = request;
    try {
      const processors = this.#processors?.open(request.sampling) ?? [];
      if (constraint === null) this.#queue(key, request, { constraint: null, processors });
      else void this.#prepare(key, { ...request, constraint }, processors);
    } catch (error) {
      this.#refuse(key, error);
    }
  }

  /** Fails a request that was not queued. */
  #refuse(key: number, error: unknown): void {
    if (!(error instanceof ServiceError)) throw error;
    this.#emit([{ kind: "failed", key, ...failureOf(error, error.message) }]);
  }

  /** Holds a request back until its constraint is ready; one that cannot be served fails it. */
  async #prepare(
    key: number,
    request: GenerationRequest & { readonly constraint: Constraint },
    processors: readonly ScoreProcessor[],
  ): Promise<void> {
    const abort = new AbortController();
    const stopped: number[] = [];
    this.#preparing.set(key, { abort, stopped });
    const { signal } = abort;
    try {
      const constraints = present(this.#constraints, "an engine that takes constraints can prepare them");
      const prepared = await constraints.prepare(request.constraint, { signal });
      if (signal.aborted) return prepared.release();
      this.#preparing.delete(key);
      const { notices } = prepared;
      if (notices.length > 0)
        this.#emit([{ kind: "event", key, event: { kind: "constraint-noted", notices } }]);
      this.#queue(key, request, { constraint: prepared, processors });
      for (const choice of stopped) this.stopChoice(key, choice);
    } catch (error) {
      if (signal.aborted) return;
      this.#preparing.delete(key);
      this.#refuse(key, error);
    }
  }

  #queue(
    key: number,
    request: GenerationRequest,
    opened: {
      readonly constraint: PreparedConstraint | null;
      readonly processors: readonly ScoreProcessor[];
    },
  ): void {
    const positionCountMax = request.prompt.tokenIds.length + request.stopping.maxTokens;
    const portion = slotsThatFit(positionCountMax, this.#budget);
    const neededCount = request.choices.kind === "beam" ? request.choices.width : 1;
    assert(portion >= neededCount, "a request that can never fit is refused before it comes here");
    const { running, leaders } = openRequest(key, request, {
      ...opened,
      portion,
      arrival: this.#arrivalCount,
    });
    this.#arrivalCount += running.sequences.length;
    this.#requests.set(key, running);
    this.#waiting = [...this.#waiting, ...leaders].sort(compareRanks);
    this.#wake();
  }

  /** Ends a request without further output; unknown keys are those that have just ended. */
  abort(key: number): void {
    this.#preparing.get(key)?.abort.abort();
    this.#preparing.delete(key);
    for (const sequence of this.#requests.get(key)?.sequences ?? []) sequence.isFinished = true;
  }

  /** As {@link EngineLoop.abort}, for one choice. */
  stopChoice(key: number, choice: number): void {
    this.#preparing.get(key)?.stopped.push(choice);
    const running = this.#requests.get(key);
    if (running === undefined) return;
    if (running.search === null) running.sequences[choice].isFinished = true;
    else stopSearched(running, choice);
  }

  dropAdapter(id: string): void {
    this.#runner.dropAdapter(id);
  }

  /** Runs until {@link EngineLoop.stop}; rejects when a step fails, after which the loop must not be used. */
  async run(): Promise<void> {
    while (!this.#isStopping) {
      if (this.hasWork) {
        await this.step();
        await setImmediate();
      } else {
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    }
  }

  /** Lets the step in progress end; `run` then returns. Requests are left as they are. */
  stop(): void {
    this.#isStopping = true;
    this.#wake();
  }

  /** One step; public so that tests can go step by step. */
  async step(): Promise<void> {
    this.#settleHeld();
    const calls = this.#schedule();
    for (const call of calls) {
      const { scored, promptLogprobs } = await runCall(call, this.#lanes, this.#runner);
      if (promptLogprobs.length > 0) this.#emit(settlePromptLogprobs(promptLogprobs));
      this.#settle(call, this.#drawer.draw(scored));
    }
    if (calls.length === 0) this.#drawer.pause(this.#rows());
    this.#emit([]);
  }

  /** What waited for its constraint goes on, where it need not wait any more. */
  #settleHeld(): void {
    const draws = this.#drawer.drawHeld(this.#rows());
    const outputs = [...settleDraws(draws), ...this.#advanceSearches(draws)];
    if (outputs.length > 0) this.#emit(outputs);
  }

  *#rows(): Generator<Sequence, void> {
    for (const lane of this.#lanes) yield* lane.rows;
  }

  #schedule(): readonly PlannedCall<Sequence>[] {
    this.#sweep();
    this.#preempt();
    const lanes = [...this.#lanes];
    const started = lanes.flatMap(({ prompts }) => prompts).sort(compareRanks);
    const loads = lanes.map(({ load }) => load);
    const { admitted, calls } = planStep(this.#waiting, started, loads, this.#budget);
    this.#waiting = this.#waiting.slice(admitted.length);
    for (const sequence of admitted) this.#admit(sequence);
    return calls;
  }

  /** Stops what must make room for prompts of better priority; it waits again, and goes on where it was. */
  #preempt(): void {
    if (this.#waiting.length === 0) return;
    const preempted = choosePreempted(this.#waiting, this.#lanes.holders, this.#budget);
    if (preempted.length === 0) return;
    for (const sequence of preempted) this.#lanes.preempt(sequence);
    this.#waiting = [...this.#waiting, ...preempted].sort(compareRanks);
  }

  /** A request whose adapter cannot be read fails; the rest of the step is as it was planned. */
  #admit(sequence: Sequence): void {
    if (sequence.isFinished) return;
    try {
      this.#lanes.admit(sequence);
      const { constraint } = sequence.running;
      for (const each of [sequence, ...sequence.followers]) {
        if (!each.isFree) each.cursor ??= constraint?.open(each.answerTokenIds) ?? null;
      }
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      this.#emit([failRequest(sequence.running, error)]);
    }
  }

  /** Draws take effect: tokens are appended and emitted, computed prompts begin to decode, what has finished leaves. */
  #settle(call: PlannedCall<Sequence>, draws: readonly Draw[]): void {
    const settled = settleDraws(draws);
    if (call.kind === "prefill") this.#beginRows(call.chunks);
    const outputs = [...settled, ...this.#advanceSearches(draws)];
    this.#sweep();
    if (outputs.length > 0) this.#emit(outputs);
  }

  /** Searches whose every beam now knows its ways on take their next step. */
  #advanceSearches(draws: readonly Draw[]): readonly LoopOutput[] {
    const searched = new Set(draws.map(({ sequence }) => sequence.running).filter(isSearched));
    return [...searched].filter(isReadyToAdvance).flatMap((running) => {
      const lane = this.#lanes.find(running.sequences[0].laneId);
      return advanceBeams(running, present(lane, "the lane of a search that runs"));
    });
  }

  #beginRows(chunks: readonly PromptChunk<Sequence>[]): void {
    for (const { prompt } of chunks) {
      if (prompt.slot !== null && prompt.computedCount === prompt.tokenCount) this.#lanes.beginRows(prompt);
    }
  }

  /** Takes away whatever wants nothing more. */
  #sweep(): void {
    this.#waiting = this.#waiting.flatMap((leader) => successorOf(leader) ?? []);
    this.#lanes.sweep();
    for (const { key, sequences, constraint } of this.#requests.values()) {
      if (constraint !== null) closeCursors(sequences);
      if (!sequences.every(({ isFinished }) => isFinished)) continue;
      constraint?.release();
      this.#requests.delete(key);
    }
  }
}

/** Which beams become the choice is known at the end alone: until then all go on, unless no choice is wanted. */
function stopSearched({ sequences, unwanted }: RunningRequest, choice: number): void {
  unwanted.add(choice);
  if (unwanted.size < sequences.length) return;
  for (const sequence of sequences) sequence.isFinished = true;
}

/** Of the choices that have finished. */
function closeCursors(sequences: readonly Sequence[]): void {
  for (const sequence of sequences) {
    if (!sequence.isFinished) continue;
    sequence.cursor?.close();
    sequence.cursor = null;
  }
}
