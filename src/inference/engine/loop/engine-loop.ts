// The engine's loop, in a single thread. Each step plans calls of the model, runs them one after another, then draws
// and settles tokens. Messages arrive between calls, so an abort takes effect within one step; if a step throws, which
// is a programmer error, `run` rejects and the process must end.
import { setImmediate } from "node:timers/promises";
import { assert, present } from "../../../base/domain/assert.ts";
import { systemClock, type Clock } from "../../../base/domain/clock.ts";
import type { Constraint } from "../../../base/domain/constraint.ts";
import type { AdapterReference, ChoiceRequest, GenerationRequest } from "../../../base/domain/generation.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { slotBytesOf } from "../cache/kv-cache.ts";
import type { ConstraintBackend, PreparedConstraint } from "../token-masks/constraint-backend.ts";
import type { BlockSession } from "../logits/blocks/block-session.ts";
import type { ScoreProcessor } from "../logits/draw-input.ts";
import { draftsMayPay, type DraftedRow, type Drafter } from "../drafts/drafter.ts";
import { settleDraft } from "../drafts/settle-draft.ts";
import type { ModelRunner } from "../model-runner.ts";
import { advanceBeams, isReadyToAdvance, isSearched } from "./beams.ts";
import { logprobTokensPerStep } from "./prompt-logprobs.ts";
import type { ProcessorRegistry } from "../logits-processors/processor-registry.ts";
import type { ReceivedPrompt } from "../transfers/received-prompt.ts";
import type { TransferStore } from "../transfers/transfer-store.ts";
import { CallPace } from "./call-pace.ts";
import { Lanes, type LaneCounts, type PrefixCounts } from "./lanes.ts";
import { planCalls, type PlannedCall } from "../schedule/plan-calls.ts";
import { noTurns, type Turns } from "../schedule/prompt-turns.ts";
import { runCall, type CallResult } from "./run-call.ts";
import { choosePreempted, planAdmissions, positionsThatFit, slotsThatFit } from "../schedule/scheduler.ts";
import { compareRanks, type StepBudget } from "../schedule/slot-holder.ts";
import {
  openRequest,
  successorOf,
  type GenerationOutput,
  type RunningRequest,
  type Sequence,
} from "./sequence.ts";
import { Drawer } from "./draw.ts";
import { failRequest, settleDraws, settleEmbeddings, settlePromptLogprobs, type Draw } from "./settle.ts";

export interface LoopOptions {
  readonly slotCountMax: number;
  readonly kvCacheBytesMax: number;
  readonly prefixCachePercent: number;
  /**
   * Rows get a second lane only if it saves each step from reading at least this many cached positions. If absent,
   * derived from the model's dimensions.
   */
  readonly lanePositions?: number;
  readonly tokensPerStepMax: number;
  readonly promptChunkTokens: number;
  /**
   * Maximum number of prompt tokens per step for which log-probabilities are computed; if absent, derived from the
   * vocabulary size.
   */
  readonly logprobTokensPerStepMax?: number;
  /** Prepares constraints; absent if requests have none. */
  readonly constraints?: ConstraintBackend;
  /** Logits processors that requests may name; absent if there are none. */
  readonly processors?: ProcessorRegistry;
  /** Session that computes block summaries of logits, which speed up draws; absent if the vocabulary is small. */
  readonly blocks?: BlockSession | null;
  /** Store of prompts that are sent to or received from other engines; absent if the engine does neither. */
  readonly transfers?: TransferStore;
  /** Guesses draft tokens; absent if steps have no drafts. */
  readonly drafter?: Drafter;
  /** Called at the end of each step. */
  readonly onStep?: () => void;
  /** Clock that times calls; the system clock if absent. */
  readonly clock?: Clock;
}

/** Controls of a submitted request. They have no effect once the request has ended. */
export interface Submission {
  /** Ends one choice of the request without further output. */
  stopChoice(choice: number): void;
  /** Ends all choices of the request without further output. */
  abort(): void;
}

/** Draft statistics since the start. */
export interface DraftCounts {
  /** Number of drafts. A row that verifies draft tokens in a step counts as one draft. */
  readonly drafts: number;
  readonly tokens: number;
  /** Number of draft tokens that were accepted. */
  readonly accepted: number;
}

/** A submitted request before and while it runs. */
interface Submitted {
  readonly request: GenerationRequest;
  readonly submittedMs: number;
  readonly output: GenerationOutput;
  /** The running request; null while it waits for its adapter or its constraint. */
  running: RunningRequest | null;
  /** Aborted when the caller aborts the request, to end its preparation. */
  readonly abort: AbortController;
  /** Choices that were stopped before the request was running. */
  readonly stopped: Set<number>;
}

export class EngineLoop {
  readonly #runner: ModelRunner;
  readonly #onStep: () => void;
  readonly #budget: StepBudget;
  readonly #drawer: Drawer;
  readonly #lanes: Lanes;
  readonly #pace: CallPace;
  readonly #clock: Clock;
  readonly #constraints: ConstraintBackend | undefined;
  readonly #processors: ProcessorRegistry | undefined;
  readonly #transfers: TransferStore | undefined;
  readonly #drafter: Drafter | null;
  readonly #draftCounts = { drafts: 0, tokens: 0, accepted: 0 };
  /** Requests that are running or queued and have not ended. */
  readonly #requests = new Set<RunningRequest>();
  /**
   * Sequences that wait for slots, in the order in which they will start. If several choices share a prompt, only the
   * sequence that will compute the prompt is listed.
   */
  #waiting: readonly Sequence[] = [];
  #arrivalCount = 0;
  #turns: Turns = noTurns;
  #isStopping = false;
  #wake: () => void = () => undefined;

  constructor(runner: ModelRunner, options: LoopOptions) {
    this.#runner = runner;
    this.#onStep = options.onStep ?? (() => undefined);
    this.#budget = {
      ...options,
      ...slotBytesOf(runner.shape),
      logprobTokensPerStepMax:
        options.logprobTokensPerStepMax ?? logprobTokensPerStep(runner.shape.vocabularySize),
    };
    this.#drawer = new Drawer(runner.shape.vocabularySize, options.blocks ?? null);
    this.#clock = options.clock ?? systemClock;
    this.#lanes = new Lanes(runner, options);
    this.#pace = new CallPace(this.#clock);
    this.#constraints = options.constraints;
    this.#processors = options.processors;
    this.#transfers = options.transfers;
    this.#drafter = options.drafter ?? null;
  }

  get kvCacheBytes(): number {
    return this.#lanes.kvCacheBytes;
  }

  get kvCacheBytesMax(): number {
    return this.#lanes.kvCacheBytesMax;
  }

  get laneCounts(): LaneCounts {
    return this.#lanes.counts;
  }

  get cachedPrefixes(): PrefixCounts {
    return this.#lanes.cachedPrefixes;
  }

  get draftCounts(): DraftCounts {
    return this.#draftCounts;
  }

  get hasWork(): boolean {
    return this.#requests.size > 0 || !this.#lanes.isEmpty;
  }

  /**
   * Queues a request. If memory cannot hold all choices of the request at the same time, groups of them run one after
   * another, and each group computes the prompt again.
   */
  submit(request: GenerationRequest, output: GenerationOutput): Submission {
    const { constraint, prompt } = request;
    const abort = new AbortController();
    const submittedMs = this.#clock.monotonicMs();
    const submitted: Submitted = { request, submittedMs, output, running: null, abort, stopped: new Set() };
    try {
      const processors = this.#processors?.open(request.sampling) ?? [];
      const adapter = prompt.adapter && this.#runner.prepareAdapter(prompt.adapter);
      if (constraint === null && adapter === null) this.#queue(submitted, { constraint: null, processors });
      else void this.#prepare(submitted, { constraint, adapter, processors });
    } catch (error) {
      this.#refuse(submitted, error);
    }
    return {
      stopChoice: (choice) => stopChoice(submitted, choice),
      abort: () => this.#abortRequest(submitted),
    };
  }

  /**
   * Waits until a request's adapter is read and its constraint is compiled, then queues the request. If one of these
   * fails, fails the request.
   */
  async #prepare(
    submitted: Submitted,
    {
      constraint,
      adapter,
      processors,
    }: {
      readonly constraint: Constraint | null;
      readonly adapter: Promise<void> | null;
      readonly processors: readonly ScoreProcessor[];
    },
  ): Promise<void> {
    const { output, stopped } = submitted;
    const { signal } = submitted.abort;
    try {
      await adapter;
      const prepared = constraint && (await this.#compile(constraint, { signal }));
      if (signal.aborted) return prepared?.release();
      const notices = prepared?.notices ?? [];
      if (notices.length > 0) output.push({ kind: "constraint-noted", notices });
      this.#queue(submitted, { constraint: prepared, processors });
      for (const choice of stopped) stopChoice(submitted, choice);
    } catch (error) {
      if (!signal.aborted) this.#refuse(submitted, error);
    }
  }

  #compile(constraint: Constraint, options: { readonly signal: AbortSignal }): Promise<PreparedConstraint> {
    const constraints = present(this.#constraints, "an engine that takes constraints can prepare them");
    return constraints.prepare(constraint, options);
  }

  #queue(
    submitted: Submitted,
    opened: {
      readonly constraint: PreparedConstraint | null;
      readonly processors: readonly ScoreProcessor[];
    },
  ): void {
    const { request, submittedMs, output } = submitted;
    const positionCountMax = request.prompt.tokenIds.length + request.stopping.maxTokens;
    const portion = slotsThatFit(positionCountMax, this.#budget);
    const neededCount = request.choices.kind === "beam" ? request.choices.width : 1;
    assert(portion >= neededCount, "a request that can never fit is refused before it comes here");
    const { running, leaders } = openRequest(request, {
      ...opened,
      output,
      portion,
      arrival: this.#arrivalCount,
      submittedMs,
    });
    this.#arrivalCount += running.sequences.length;
    running.received = this.#findReceived(request);
    submitted.running = running;
    this.#requests.add(running);
    this.#waiting = [...this.#waiting, ...leaders].sort(compareRanks);
    this.#wake();
  }

  /**
   * Returns the prompt that another engine has computed for this request; null if there is none. Returns null if
   * log-probabilities of the prompt are requested, because these can only be computed here.
   */
  #findReceived({ prompt, outputs }: GenerationRequest): ReceivedPrompt | null {
    const { received, tokenIds } = prompt;
    if (received === undefined || this.#transfers === undefined) return null;
    if (outputs.promptLogprobCount === null) return this.#transfers.findReceived(received, tokenIds);
    void this.#transfers.drop(received);
    return null;
  }

  /** Implements `roomFor` of the engine's contract. */
  roomFor(choices: ChoiceRequest): number {
    const slotCount = choices.kind === "beam" ? choices.width : 1;
    return Math.min(this.#runner.shape.contextLength, positionsThatFit(slotCount, this.#budget));
  }

  /**
   * Loads an adapter into memory, so that later requests for it need not wait until its files are read.
   *
   * @throws ServiceError as {@link ModelRunner.loadAdapter}
   */
  async prepareAdapter(reference: AdapterReference): Promise<void> {
    await this.#runner.prepareAdapter(reference);
    const adapter = this.#runner.loadAdapter(reference);
    // The warm-up would stall running requests. If requests run, idle work or the adapter's first request prepares the
    // adapter instead.
    if (!this.hasWork) await this.#runner.warmUp(adapter);
  }

  /** Frees the memory that is kept to speed up the next burst of requests. */
  releaseSpares(): void {
    this.#lanes.releaseSpares();
  }

  /** See {@link SpareSlabs.takeDroppedBytes}. */
  takeDroppedBytes(): number {
    return this.#lanes.takeDroppedBytes();
  }

  dropAdapter(id: string): void {
    this.#runner.dropAdapter(id);
  }

  /**
   * Runs steps until {@link EngineLoop.stop} is called. Rejects if a step throws; the loop must not be used after that.
   */
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

  /**
   * Ends the loop after the step in progress; the promise of `run` then resolves. Does not end or abort the requests.
   */
  stop(): void {
    this.#isStopping = true;
    this.#wake();
  }

  /** Runs one step. Public only for tests. */
  async step(): Promise<void> {
    this.#settleHeld();
    const calls = await this.#schedule();
    const drafter = this.#mayDraft(calls) ? this.#drafter : null;
    for (const call of calls) {
      const run = (): Promise<CallResult> => runCall(call, this.#lanes, this.#runner, drafter);
      const { scored, drafted, promptLogprobs, embedded } = await this.#pace.timed(call, this.#lanes, run);
      settlePromptLogprobs(promptLogprobs);
      settleEmbeddings(embedded);
      const prompts = call.kind === "prefill" ? call.chunks.map(({ prompt }) => prompt) : [];
      await this.#settle(prompts, await this.#drawer.draw(scored), drafted);
    }
    if (calls.length === 0) this.#drawer.pause(this.#rows());
    this.#onStep();
  }

  /** True if only few rows decode and the step has no prompts, so that verifying drafts delays no other request. */
  #mayDraft(calls: readonly PlannedCall<Sequence>[]): boolean {
    const decodingCount = [...this.#lanes].reduce((sum, { load }) => sum + load.decodingCount, 0);
    return calls.every(({ kind }) => kind === "decode") && draftsMayPay(decodingCount);
  }

  /** Draws and settles tokens for sequences that waited for the mask of their constraint, which is now ready. */
  #settleHeld(): void {
    const draws = this.#drawer.drawHeld(this.#rows());
    settleDraws(draws);
    this.#advanceSearches(draws);
  }

  *#rows(): Generator<Sequence, void> {
    for (const lane of this.#lanes) yield* lane.rows;
  }

  async #schedule(): Promise<readonly PlannedCall<Sequence>[]> {
    this.#sweep();
    const preempted = this.#preempt();
    this.#lanes.rearrange();
    const admitted = planAdmissions(
      this.#waiting,
      { lanes: [...this.#lanes].map(({ load }) => load), running: this.#lanes.holders },
      this.#budget,
    );
    // A preempted sequence is not admitted again in this step, because it had to make room for other sequences.
    if (admitted.length + preempted.length > 0) {
      const begun = new Set(admitted);
      const left = this.#waiting.filter((sequence) => !begun.has(sequence));
      this.#waiting = [...left, ...preempted].sort(compareRanks);
    }
    for (const sequence of admitted) this.#admit(sequence);
    await this.#readCached();
    const { calls, turns } = planCalls(
      this.#prompts().filter(({ running }) => running.received === null),
      [...this.#lanes].map(({ load }) => load),
      this.#budget,
      {
        time: this.#pace.promptTime(this.#lanes),
        turns: this.#turns,
        pairGain: (one, other) => this.#lanes.pairGain(one, other),
      },
    );
    this.#turns = turns;
    return calls;
  }

  #prompts(): readonly Sequence[] {
    return [...this.#lanes].flatMap(({ prompts }) => prompts).sort(compareRanks);
  }

  /** Continues prompts from their cached prefixes. Prompts that are fully cached begin decoding. */
  async #readCached(): Promise<void> {
    const whole = this.#prompts().flatMap((sequence) => {
      const logits_V = this.#lanes.readCached(sequence);
      return logits_V === null ? [] : [{ sequence, logits_V }];
    });
    if (whole.length === 0) return;
    const scored = whole.filter(({ sequence }) => sequence.isComputed);
    await this.#settle(
      whole.map(({ sequence }) => sequence),
      await this.#drawer.draw(scored),
    );
  }

  /**
   * Preempts sequences to make room for waiting sequences that have a better priority, or whose owners use smaller
   * shares of the slots and memory. A preempted sequence waits again, and later continues where it stopped.
   */
  #preempt(): readonly Sequence[] {
    if (this.#waiting.length === 0) return [];
    const preempted = choosePreempted(this.#waiting, this.#lanes.holders, this.#budget);
    for (const sequence of preempted) this.#lanes.preempt(sequence);
    return preempted;
  }

  /**
   * Gives a waiting sequence a slot. If its adapter cannot be read, its request fails, and the step continues as
   * planned.
   */
  #admit(sequence: Sequence): void {
    if (sequence.isFinished) return;
    try {
      this.#lanes.admit(sequence);
      const { running } = sequence;
      running.waitedMs ??= this.#clock.monotonicMs() - running.submittedMs;
      const { constraint } = sequence.running;
      for (const each of [sequence, ...sequence.followers]) {
        if (!each.isFree) each.cursor ??= constraint?.open(each.answerTokenIds) ?? null;
      }
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      failRequest(sequence.running, error);
    }
  }

  /**
   * Settles the results of a call: emits drawn tokens, lets completely computed prompts begin decoding, and removes
   * finished sequences.
   */
  async #settle(
    prompts: readonly Sequence[],
    draws: readonly Draw[],
    drafted: readonly DraftedRow[] = [],
  ): Promise<void> {
    settleDraws(draws);
    for (const row of drafted) {
      this.#draftCounts.drafts += 1;
      this.#draftCounts.tokens += row.draft.length;
      this.#draftCounts.accepted += await settleDraft(row, this.#drawer, this.#runner);
    }
    this.#beginRows(prompts);
    this.#advanceSearches(draws);
    this.#sweep();
  }

  /** Takes the next step of each beam search whose beams all have candidates. */
  #advanceSearches(draws: readonly Draw[]): void {
    const searched = new Set(draws.map(({ sequence }) => sequence.running).filter(isSearched));
    for (const running of searched) {
      if (!isReadyToAdvance(running)) continue;
      const lane = this.#lanes.find(running.sequences[0].laneId);
      advanceBeams(running, present(lane, "the lane of a search that runs"));
    }
  }

  #beginRows(prompts: readonly Sequence[]): void {
    for (const prompt of prompts) {
      if (prompt.slot !== null && prompt.computedCount === prompt.tokenCount) this.#lanes.beginRows(prompt);
    }
  }

  /** Removes finished sequences from the queue and from their slots. */
  #sweep(): void {
    this.#waiting = this.#waiting.flatMap((leader) => successorOf(leader) ?? []);
    this.#lanes.sweep();
    for (const running of this.#requests) {
      const { sequences, constraint } = running;
      if (constraint !== null) closeCursors(sequences);
      if (!sequences.every(({ isFinished }) => isFinished)) continue;
      constraint?.release();
      running.received?.release();
      this.#requests.delete(running);
      this.#end(running);
    }
  }

  /** Fails a request before it is queued. */
  #refuse(submitted: Submitted, error: unknown): void {
    if (!(error instanceof ServiceError)) throw error;
    submitted.output.fail(error);
    this.#end(submitted);
  }

  #abortRequest(submitted: Submitted): void {
    const { running, abort } = submitted;
    abort.abort();
    for (const sequence of running?.sequences ?? []) sequence.isFinished = true;
    if (running === null) this.#end(submitted);
  }

  #end({ request, output }: Pick<Submitted, "request" | "output">): void {
    void this.#transfers?.drop(request.prompt.received ?? "");
    output.end?.();
  }
}

function stopChoice({ running, stopped }: Submitted, choice: number): void {
  if (running === null) stopped.add(choice);
  else if (running.search === null) running.sequences[choice].isFinished = true;
  else stopSearched(running, choice);
}

/**
 * Stops a choice of a beam search. Only the end of the search decides which beam becomes which choice, so the beams
 * continue until every choice has been stopped.
 */
function stopSearched({ sequences, unwanted }: RunningRequest, choice: number): void {
  unwanted.add(choice);
  if (unwanted.size < sequences.length) return;
  for (const sequence of sequences) sequence.isFinished = true;
}

/** Closes the constraint cursors of finished sequences. */
function closeCursors(sequences: readonly Sequence[]): void {
  for (const sequence of sequences) {
    if (!sequence.isFinished) continue;
    sequence.cursor?.close();
    sequence.cursor = null;
  }
}
