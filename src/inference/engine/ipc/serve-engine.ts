// Serves the embedded engine inside its process: executes the parent's calls on the engine, and sends their outputs
// back in batches. Does not check requests, because the parent has already checked them.
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

/** An engine to serve, and the interval at which its outputs are sent. */
export interface ServedEngine {
  readonly engine: LoopEngine;
  /** Minimum interval in milliseconds between messages with tokens; see {@link EventOutbox}. */
  readonly intervalMs: number;
}

/** Callbacks that a served engine calls to report its progress to the parent process. */
export interface EngineProgress {
  readonly onStep: () => void;
  /** Reports that the engine has failed; this ends the process. */
  readonly onBreakdown: () => void;
}

/**
 * Serves the parent of this process. Must be called once, when the process's module is loaded.
 *
 * @param make creates the engine from the parent's first message; `supplement` resolves to data that the parent sends
 * later. This function then starts the engine. If the engine is busy without reporting progress, the parent ends the
 * process and starts it again
 * @param prepare called before the engine is created if the parent starts this process ahead of time; receives the
 * parent's hint, such as the model to open
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

/**
 * Returns the results of `roomFor` for each number of beams that a request may ask for; index 0 is for one sampled
 * choice.
 */
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
  /** Outputs since the current turn of the event loop began, usually those of one step. */
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

  /**
   * Adds outputs. The outputs of one turn of the event loop are sent together, so there is one message per step instead
   * of one per request.
   */
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
    // The call is registered before `submit`, because `submit` reports the end of a refused request before it returns.
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

  /** Runs a call. If the call fails, sends the error to the parent. */
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

// Options of the outbox, which sends the tokens of several fast steps together. For a small model, handling one message
// per step, up to the client's socket, would cost more than the step itself.

interface OutboxOptions {
  /**
   * Minimum time between messages with tokens. The time grows if many requests have tokens; 0 sends every step's tokens
   * immediately.
   */
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly send: (outputs: readonly CallOutput[]) => void;
}

/**
 * Number of requests up to which the interval stays as configured. With more requests it grows in proportion, to limit
 * the server's cost of handling messages.
 */
const requestCountOfInterval = 32;
/** Maximum factor by which the interval grows. */
const growthMax = 4;

/** Sends outputs to the parent in batches. Preserves the order of outputs within each request. */
export class EventOutbox {
  readonly #options: OutboxOptions;
  #kept: CallOutput[] = [];
  #sentAtMs = -Infinity;
  /**
   * True if a step was added since the last message. Such a step causes a message even if it has no outputs, because
   * messages report the engine's gauges.
   */
  #isOwing = false;
  #isWaiting = false;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  /**
   * Adds the outputs of a step. Sends everything once the interval since the last message has passed, so the outputs of
   * steps longer than the interval are sent immediately. If a request's outputs are not only tokens, as at its
   * beginning and end, they are also sent immediately.
   */
  put(outputs: readonly CallOutput[]): void {
    this.#kept.push(...outputs);
    this.#isOwing = true;
    if (this.#restMs() <= 0) this.flush();
    else this.#sendOf(new Set(outputs.filter((output) => !isOnlyTokens(output)).map(({ call }) => call)));
    if (this.#isOwing && !this.#isWaiting) void this.#flushLater();
  }

  /**
   * Sends all outputs immediately. Sends a message even without outputs, because messages report the engine's gauges.
   */
  flush(): void {
    const kept = this.#kept;
    this.#kept = [];
    this.#isOwing = false;
    this.#sentAtMs = this.#options.clock.monotonicMs();
    this.#options.send(kept);
  }

  /** Returns the milliseconds until the next message may be sent; at most 0 if it may be sent now. */
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

  /** Waits until the interval has passed, then flushes unless everything was sent meanwhile. */
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
