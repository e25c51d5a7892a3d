// Serves the embedded engine inside its process: executes the parent's calls on the engine, and sends their outputs
// back in batches. It knows no model and checks no request, because the parent has checked it.
import { assert } from "../../../base/domain/assert.ts";
import { systemClock, type Clock } from "../../../base/domain/clock.ts";
import { choiceCountMax } from "../../../base/domain/generation.ts";
import { failureOf } from "../../../base/processes/serialized-error.ts";
import { serveParent } from "../../../base/processes/serve-parent.ts";
import type { Submission } from "../loop/engine-loop.ts";
import type { LoopEngine } from "../loop-engine.ts";
import { answerTransfer } from "./ipc-transfers.ts";
import { packOutputs, type CallOutput } from "./packed-outputs.ts";
import type { IpcProtocol, IpcRequest } from "./protocol.ts";

/** An engine to serve, with its sending interval. */
export interface ServedEngine {
  readonly engine: LoopEngine;
  /** See {@link EventOutbox}. */
  readonly intervalMs: number;
}

/** Progress reports from a served engine to its parent. */
export interface EngineProgress {
  readonly onStep: () => void;
  /** Reports that the engine, and everything it runs, has failed. */
  readonly onBreakdown: () => void;
}

/**
 * Serves the parent of this process. Must be called once, when the module is loaded.
 *
 * @param make creates the engine from the parent's first message and a promise of its last. The engine is started here
 * and reports its progress; an engine that is busy and does not report is ended and started again
 * @param prepare takes the parent's hint, if any, before the engine is created
 */
export function serveEngine(
  make: (load: unknown, progress: EngineProgress, supplement: Promise<unknown>) => ServedEngine,
  prepare?: (hint: unknown) => void,
): void {
  serveParent<IpcProtocol>(async (load, emit, supplement) => {
    const progress = { onStep: () => calls.put(), onBreakdown: () => process.exit(1) };
    const { engine, intervalMs } = make(load, progress, supplement);
    const outbox = new EventOutbox({
      intervalMs,
      clock: systemClock,
      send: (outputs) =>
        void emit({
          outputs: packOutputs(outputs),
          gauges: engine.gauges().map(({ value }) => value),
        }),
    });
    const calls = new Calls(engine, outbox);
    await engine.start();
    const { state } = engine;
    assert(state.kind === "ready", "an engine that has started is ready");
    return {
      ready: { state, rooms: roomsOf(engine) },
      receive: (request) => calls.receive(request),
      stop: async () => {
        await engine.stop();
        outbox.flush();
      },
    };
  }, prepare);
}

/** Returns the engine's room for each number of beams that a request may ask for. */
function roomsOf(engine: LoopEngine): readonly number[] {
  return Array.from({ length: choiceCountMax + 1 }, (_, width) =>
    engine.roomFor(width === 0 ? { kind: "sample", count: 1 } : { kind: "beam", width, lengthPenalty: 1 }),
  );
}

/** The parent's calls that are still running. */
class Calls {
  readonly #engine: LoopEngine;
  readonly #outbox: EventOutbox;
  readonly #running = new Map<number, Submission | null>();
  /** Outputs of this turn of the event loop, usually of one step. */
  #gathered: CallOutput[] = [];
  #isGathering = false;

  constructor(engine: LoopEngine, outbox: EventOutbox) {
    this.#engine = engine;
    this.#outbox = outbox;
  }

  receive(request: IpcRequest): void {
    switch (request.kind) {
      case "submit":
        void this.#follow(request.call, async () => this.#submit(request));
        return;
      case "abort":
        this.#giveUp(request.call);
        return;
      case "stop-choice":
        this.#running.get(request.call)?.stopChoice(request.choice);
        return;
      case "prepare-adapter":
        void this.#follow(request.call, async () => {
          await this.#engine.prepareAdapter(request.reference);
          this.put({ kind: "prepared", call: request.call });
        });
        return;
      case "drop-adapter":
        this.#engine.dropAdapter(request.id);
        return;
      case "transfer":
        void this.#follow(request.call, async () => {
          const answer = await answerTransfer(this.#engine.transfers, request.ask);
          this.put({ kind: "transferred", call: request.call, answer });
        });
    }
  }

  /** Collects outputs and sends those of one turn together, so that there is one message per step and not per request. */
  put(...outputs: readonly CallOutput[]): void {
    this.#gathered.push(...outputs);
    if (this.#isGathering) return;
    this.#isGathering = true;
    setImmediate(() => {
      const gathered = this.#gathered;
      this.#gathered = [];
      this.#isGathering = false;
      this.#outbox.put(gathered);
    });
  }

  #submit({ call, request }: Extract<IpcRequest, { readonly kind: "submit" }>): void {
    // Registered first, because a refused request ends before it has a submission.
    this.#running.set(call, null);
    const submission = this.#engine.submit(request, {
      push: (event) => this.put({ kind: "event", call, event }),
      fail: (error) => this.#fail(call, error),
      end: () => void this.#running.delete(call),
    });
    if (this.#running.has(call)) this.#running.set(call, submission);
  }

  #giveUp(call: number): void {
    this.#running.get(call)?.abort();
    this.#running.delete(call);
  }

  /** Reports why a call has failed. */
  async #follow(call: number, run: () => Promise<void>): Promise<void> {
    try {
      await run();
    } catch (error) {
      this.#fail(call, error);
    }
  }

  #fail(call: number, error: unknown): void {
    this.put({ kind: "failed", call, failure: failureOf(error, "The engine failed; the log says why.") });
  }
}

// Options of the outbox, which batches the tokens of fast steps: a message per step, with its handling up to the
// client's socket, costs more than the step of a small model.

interface OutboxOptions {
  /** Maximum delay of tokens after the previous message, extended if many requests have tokens; 0 disables batching. */
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly send: (outputs: readonly CallOutput[]) => void;
}

/** Number of requests above which the interval grows in proportion, to bound the server's total cost. */
const requestCountOfInterval = 32;
/** Maximum factor by which the interval grows. */
const growthMax = 4;

/** Batches outputs; preserves the order of each request's outputs. */
export class EventOutbox {
  readonly #options: OutboxOptions;
  #kept: CallOutput[] = [];
  #sentAtMs = -Infinity;
  /** True if a step was added since the last message, which needs a message even without outputs. */
  #isOwing = false;
  #isWaiting = false;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  /**
   * Adds outputs, and sends everything once the interval has passed. The outputs of a step that is slower than the
   * interval are therefore sent immediately, and so are the outputs of a request whose answer begins or ends.
   */
  put(outputs: readonly CallOutput[]): void {
    this.#kept.push(...outputs);
    this.#isOwing = true;
    if (this.#restMs() <= 0) this.flush();
    else this.#sendOf(new Set(outputs.filter((output) => !isOnlyTokens(output)).map(({ call }) => call)));
    if (this.#isOwing && !this.#isWaiting) void this.#flushLater();
  }

  /** Sends everything. Sends even an empty message, because it reports the engine's current contents. */
  flush(): void {
    const kept = this.#kept;
    this.#kept = [];
    this.#isOwing = false;
    this.#sentAtMs = this.#options.clock.monotonicMs();
    this.#options.send(kept);
  }

  /** Returns the remaining time of the interval. */
  #restMs(): number {
    const requestCount = new Set(this.#kept.map(({ call }) => call)).size;
    const growth = Math.min(Math.max(requestCount / requestCountOfInterval, 1), growthMax);
    return this.#sentAtMs + growth * this.#options.intervalMs - this.#options.clock.monotonicMs();
  }

  #sendOf(calls: ReadonlySet<number>): void {
    if (calls.size === 0) return;
    const kept = this.#kept;
    this.#kept = kept.filter(({ call }) => !calls.has(call));
    this.#isOwing = this.#kept.length > 0;
    this.#options.send(kept.filter(({ call }) => calls.has(call)));
  }

  /** Waits and flushes. Meanwhile other steps may have sent the outputs that it waited for. */
  async #flushLater(): Promise<void> {
    this.#isWaiting = true;
    while (this.#isOwing && this.#restMs() > 0) await this.#options.clock.sleep(this.#restMs());
    this.#isWaiting = false;
    if (this.#isOwing) this.flush();
  }
}

function isOnlyTokens(output: CallOutput): boolean {
  return output.kind === "event" && output.event.kind === "tokens";
}
