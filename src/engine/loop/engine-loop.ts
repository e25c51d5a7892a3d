// The engine proper, single-threaded: takes requests, runs steps while there is work, tells what came of them. Between
// graph calls it lets messages in, so that an abort acts within one step.
// Knows neither processes nor text. A step that throws is a programmer error: `run` rejects and the process must end.
import { setImmediate } from "node:timers/promises";
import type { ErrorCode } from "../../domain/service-error.ts";
import { choiceCountOf, type GenerationEvent, type GenerationRequest } from "../../domain/generation.ts";
import { assert, present } from "../../domain/assert.ts";
import { seededRandom } from "../../domain/random.ts";
import { ServiceError } from "../../domain/service-error.ts";
import { KvCache } from "../cache/kv-cache.ts";
import { positionBytes } from "../cache/kv-lane.ts";
import { Lane, noSlot } from "./lane.ts";
import type { ModelRunner } from "../model-runner.ts";
import { eventsOfToken, type ChoiceRow, type PromptRun } from "./prompt-run.ts";
import { Sampler } from "../logits/sampler.ts";
import { planStep, slotsThatFit, type LaneLoad, type PromptChunk, type StepBudget } from "./scheduler.ts";

/** What happened to one request; `key` is the number it was submitted under. */
export type LoopNews =
  | { readonly kind: "event"; readonly key: number; readonly event: GenerationEvent }
  | { readonly kind: "failed"; readonly key: number; readonly code: ErrorCode; readonly message: string };

export interface LoopOptions {
  readonly slotCountMax: number;
  readonly kvCacheBytesMax: number;
  readonly tokensPerStepMax: number;
  readonly promptChunkTokens: number;
  /** Called with all that came of a graph call, and at the end of each step, then also with nothing. */
  readonly tell: (news: readonly LoopNews[]) => void;
}

type EngineLane = Lane<PromptRun, ChoiceRow>;

const baseLaneId = "";

export class EngineLoop {
  readonly #runner: ModelRunner;
  readonly #options: LoopOptions;
  readonly #budget: StepBudget;
  readonly #cache: KvCache;
  readonly #sampler: Sampler;
  readonly #lanes = new Map<string, EngineLane>();
  #waiting: PromptRun[] = [];
  /** Admitted, oldest first, with prompt tokens still to compute. */
  #started: PromptRun[] = [];
  readonly #news: LoopNews[] = [];
  #runCount = 0;
  #isStopping = false;
  #wake: () => void = () => undefined;

  constructor(runner: ModelRunner, options: LoopOptions) {
    this.#runner = runner;
    this.#options = options;
    this.#budget = { ...options, bytesPerPosition: positionBytes(runner.shape) };
    this.#cache = new KvCache(runner.shape, options.kvCacheBytesMax);
    this.#sampler = new Sampler(runner.shape.vocabularySize);
  }

  get kvCacheBytes(): number {
    return this.#cache.bytes;
  }

  get hasWork(): boolean {
    return this.#waiting.length > 0 || this.#lanes.size > 0;
  }

  /**
   * Queues a request. Choices that can never run all at once run in portions, each computing the prompt again.
   *
   * @param key names it in the news; never used twice
   */
  submit(key: number, request: GenerationRequest): void {
    const choiceCount = choiceCountOf(request);
    const positionCountMax = request.prompt.tokenIds.length + request.stopping.maxTokens;
    const portion = slotsThatFit(positionCountMax, this.#budget);
    assert(portion > 0, "a request that can never fit is refused before it comes here");
    const stopTokenIds = new Set(request.stopping.stopTokenIds);
    for (let first = 0; first < choiceCount; first += portion) {
      const count = Math.min(portion, choiceCount - first);
      this.#waiting.push({
        number: this.#runCount++,
        key,
        request,
        stopTokenIds,
        choices: new Set(Array.from({ length: count }, (_, index) => first + index)),
        isFirstPortion: first === 0,
        positionCountMax,
        computedCount: 0,
        laneId: request.prompt.adapter?.id ?? baseLaneId,
        slot: noSlot,
      });
    }
    this.#wake();
  }

  /** Ends a request without further news; unknown keys are those that have just ended. */
  abort(key: number): void {
    for (const run of this.#runs()) if (run.key === key) run.choices.clear();
  }

  /** As {@link EngineLoop.abort}, for one choice. */
  stopChoice(key: number, choice: number): void {
    for (const run of this.#runs()) if (run.key === key) run.choices.delete(choice);
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
    this.#sweep();
    const plan = planStep(
      this.#waiting.map((run) => ({
        ...planned(run),
        slotCount: run.choices.size,
        positionCountMax: run.positionCountMax,
      })),
      this.#started.map((run) => ({ ...planned(run), computedCount: run.computedCount })),
      [...this.#lanes.values()].map(loadOf),
      this.#budget,
    );
    for (const number of plan.admittedKeys) this.#admit(number);
    for (const { laneId, decodes, prefillGroups } of plan.lanes) {
      // A lane or a prompt may be gone by now: its adapter could not be read, or its last choice was stopped.
      if (decodes) await this.#decode(laneId);
      for (const group of prefillGroups) await this.#prefill(laneId, group);
    }
    this.#options.tell(this.#news.splice(0));
  }

  #admit(number: number): void {
    const run = present(
      this.#waiting.find((candidate) => candidate.number === number),
      "an admitted prompt that waits",
    );
    this.#waiting.splice(this.#waiting.indexOf(run), 1);
    if (run.choices.size === 0) return;
    const lane = this.#laneOf(run);
    if (lane === null) return;
    this.#started.push(run);
    const positionCountMax = Math.max(run.positionCountMax, loadOf(lane).positionCountMax);
    this.#cache.ensure(lane.kv, lane.kv.usedCount + 1, 1, positionCountMax);
    lane.addPrompt(run);
  }

  /** The lane of a run, opened if need be; null when its adapter cannot be read, which fails its request. */
  #laneOf(run: PromptRun): EngineLane | null {
    const open = this.#lanes.get(run.laneId);
    if (open !== undefined) return open;
    const { adapter } = run.request.prompt;
    try {
      const loaded = adapter === null ? null : this.#runner.loadAdapter(adapter);
      const lane: EngineLane = new Lane(run.laneId, loaded, this.#cache.openLane());
      this.#lanes.set(run.laneId, lane);
      return lane;
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      run.choices.clear();
      this.#fail(run.key, error);
      return null;
    }
  }

  async #decode(laneId: string): Promise<void> {
    const lane = this.#lanes.get(laneId);
    if (lane === undefined || lane.rows.length === 0) return;
    const rows = [...lane.rows];
    const longest = Math.max(...rows.map((row) => lane.kv.lengths[row.slot])) + 1;
    this.#cache.ensure(lane.kv, lane.kv.usedCount, longest, loadOf(lane).positionCountMax);
    const logits_BV = await this.#runner.decode(
      lane.kv,
      lane.adapter,
      rows.map((row) => row.lastTokenId),
    );
    rows.forEach((row, index) => this.#draw(row, this.#rowOf(logits_BV, index)));
    this.#sweep();
    this.#tellNews();
  }

  async #prefill(laneId: string, chunks: readonly PromptChunk[]): Promise<void> {
    const lane = this.#lanes.get(laneId);
    if (lane === undefined) return;
    const parts = lane.prompts.flatMap((run) => {
      const chunk = chunks.find((candidate) => candidate.key === run.number);
      return chunk === undefined ? [] : [{ run, chunk }];
    });
    if (parts.length === 0) return;
    const longest = Math.max(...parts.map(({ chunk }) => chunk.start + chunk.count));
    this.#cache.ensure(lane.kv, lane.kv.usedCount, longest, loadOf(lane).positionCountMax);
    const logits = await this.#runner.prefill(
      lane.kv,
      lane.adapter,
      parts.map(({ run, chunk }) => ({
        slot: run.slot,
        tokenIds: run.request.prompt.tokenIds.slice(chunk.start, chunk.start + chunk.count),
        logits: chunk.start + chunk.count === run.request.prompt.tokenIds.length ? "last" : "none",
      })),
    );
    parts.forEach(({ run, chunk }, index) => {
      run.computedCount += chunk.count;
      if (run.computedCount === run.request.prompt.tokenIds.length) {
        this.#beginChoices(lane, run, logits[index]);
      }
    });
    this.#sweep();
    this.#tellNews();
  }

  /** Draws the first token of each choice of a computed prompt, and gives those that go on a slot each. */
  #beginChoices(lane: EngineLane, run: PromptRun, logits_V: Float32Array): void {
    if (run.isFirstPortion && run.choices.size > 0) {
      this.#news.push({
        kind: "event",
        key: run.key,
        event: { kind: "prompt-computed", cachedTokenCount: 0, promptLogprobs: null },
      });
    }
    const rows = [...run.choices].map((choice): ChoiceRow => {
      const random = seededRandom(run.request.sampling.seed, choice);
      return { slot: noSlot, run, choice, random, lastTokenId: -1, generatedCount: 0 };
    });
    for (const row of rows) this.#draw(row, logits_V);
    const [first, ...others] = rows.filter((row) => run.choices.has(row.choice));
    // Where no choice goes on, the sweep takes the prompt away.
    if (first === undefined) return;
    this.#started.splice(this.#started.indexOf(run), 1);
    const { positionCountMax } = loadOf(lane);
    lane.promote(run, first);
    this.#cache.ensure(lane.kv, lane.kv.usedCount + others.length, 0, positionCountMax);
    for (const row of others) lane.addCopy(first, row);
  }

  /** Draws a row's next token and tells it; a choice that ends with it leaves `run.choices`. */
  #draw(row: ChoiceRow, logits_V: Float32Array): void {
    const { run, choice, random } = row;
    if (!run.choices.has(choice)) return;
    const { sampling, outputs } = run.request;
    const { topLogprobCount } = outputs;
    const token = this.#sampler.draw(logits_V, { sampling, random, topLogprobCount });
    if (token === null) {
      const message = "The model's scores are not finite numbers: this version of the model cannot be used.";
      this.#fail(run.key, new ServiceError({ code: "internal", message }));
      return;
    }
    row.lastTokenId = token.id;
    row.generatedCount += 1;
    const events = eventsOfToken(row, token);
    for (const event of events) this.#news.push({ kind: "event", key: run.key, event });
    if (events.length > 1) run.choices.delete(choice);
  }

  /** Takes away every run and row that wants nothing more. Only between graph calls: slots move. */
  #sweep(): void {
    this.#waiting = this.#waiting.filter((run) => run.choices.size > 0);
    this.#started = this.#started.filter((run) => run.choices.size > 0);
    for (const lane of this.#lanes.values()) {
      const rows = lane.rows.filter((row) => !row.run.choices.has(row.choice));
      const prompts = lane.prompts.filter((run) => run.choices.size === 0);
      for (const row of rows) lane.removeRow(row);
      for (const run of prompts) lane.removePrompt(run);
      if (lane.isEmpty) {
        this.#cache.closeLane(lane.kv);
        this.#lanes.delete(lane.id);
      } else if (rows.length + prompts.length > 0) {
        this.#cache.relax(lane.kv, loadOf(lane).positionCountMax);
      }
    }
  }

  #fail(key: number, error: ServiceError): void {
    this.abort(key);
    this.#news.push({ kind: "failed", key, code: error.code, message: error.message });
  }

  /** Tells what a graph call brought without waiting for the rest of the step. */
  #tellNews(): void {
    if (this.#news.length > 0) this.#options.tell(this.#news.splice(0));
  }

  *#runs(): Iterable<PromptRun> {
    yield* this.#waiting;
    yield* this.#started;
    for (const lane of this.#lanes.values()) for (const row of lane.rows) yield row.run;
  }

  #rowOf(logits_BV: Float32Array, row: number): Float32Array {
    const { vocabularySize } = this.#runner.shape;
    return logits_BV.subarray(row * vocabularySize, (row + 1) * vocabularySize);
  }
}

function planned(run: PromptRun): { key: number; laneId: string; tokenCount: number } {
  return { key: run.number, laneId: run.laneId, tokenCount: run.request.prompt.tokenIds.length };
}

/** What a lane holds together with what its requests were promised. */
function loadOf(lane: EngineLane): LaneLoad {
  const runs = [...lane.prompts, ...lane.rows.map((row) => row.run)];
  return {
    laneId: lane.id,
    slotCount: lane.rows.length + lane.prompts.reduce((sum, run) => sum + run.choices.size, 0),
    positionCountMax: runs.reduce((max, run) => Math.max(max, run.positionCountMax), 0),
    decodingCount: lane.rows.length,
  };
}
