// The embedded engine from inside its process: makes the parent's calls on it, and is the sink of what comes of them, which
// it sends back in portions. Knows no model; checks no request, since the parent has.
import { assert } from "../../../base/domain/assert.ts";
import { systemClock, type Clock } from "../../../base/domain/clock.ts";
import { choiceCountMax } from "../../../base/domain/generation.ts";
import { failureOf } from "../../../base/processes/carried-error.ts";
import { serveParent } from "../../../base/processes/serve-parent.ts";
import type { Submission } from "../loop/engine-loop.ts";
import type { LoopEngine } from "../loop-engine.ts";
import { answerTransfer } from "./carried-transfers.ts";
import { packOutputs, type CallOutput } from "./packed-outputs.ts";
import type { CarrierProtocol, CarrierRequest } from "./protocol.ts";

/** What a process carries. */
export interface Carried {
  readonly engine: LoopEngine;
  /** See {@link EventOutbox}. */
  readonly intervalMs: number;
}

/** What the parent learns of an engine that is carried. */
export interface EngineProgress {
  readonly onStep: () => void;
  /** It has failed, and whatever it runs too. */
  readonly onBreakdown: () => void;
}

/**
 * Serves the parent of this process. To be called once, when the module is loaded.
 *
 * @param make makes the engine of what the parent sends first and, once it has that, last; it is started here, and reports its
 *   progress: one that has work and does not report is ended, and started again
 * @param prepare takes what the parent says before it has the engine made, where it says something
 */
export function serveEngine(
  make: (load: unknown, progress: EngineProgress, supplement: Promise<unknown>) => Carried,
  prepare?: (hint: unknown) => void,
): void {
  serveParent<CarrierProtocol>(async (load, emit, supplement) => {
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

/** As many beams as a request may ask for are asked about. */
function roomsOf(engine: LoopEngine): readonly number[] {
  return Array.from({ length: choiceCountMax + 1 }, (_, width) =>
    engine.roomFor(width === 0 ? { kind: "sample", count: 1 } : { kind: "beam", width, lengthPenalty: 1 }),
  );
}

/** The calls that the parent has made and that have not ended. */
class Calls {
  readonly #engine: LoopEngine;
  readonly #outbox: EventOutbox;
  readonly #running = new Map<number, Submission | null>();
  /** What came in this turn of the event loop: of one step, mostly. */
  #gathered: CallOutput[] = [];
  #isGathering = false;

  constructor(engine: LoopEngine, outbox: EventOutbox) {
    this.#engine = engine;
    this.#outbox = outbox;
  }

  receive(request: CarrierRequest): void {
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

  /** Hands over what comes in one turn together, so that a step is a message and not each of its requests. */
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

  #submit({ call, request }: Extract<CarrierRequest, { readonly kind: "submit" }>): void {
    // A request that is refused ends before there is a submission.
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

  /** Says why a call has failed. */
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

// What comes of an engine's calls on its way to the server's process: tokens of fast steps are gathered, since a message
// for each step, and what follows it up to the client's socket, costs more than a small model's step itself.

interface OutboxOptions {
  /** At most so long after the message before are tokens kept back, and longer where many requests have some; 0 keeps none. */
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly send: (outputs: readonly CallOutput[]) => void;
}

/** More requests than this make the interval longer in proportion: what they cost the server together grows no further. */
const requestCountOfInterval = 32;
/** Of how many intervals the longest one is. */
const growthMax = 4;

/** Keeps the order of what is put into it for each request. */
export class EventOutbox {
  readonly #options: OutboxOptions;
  #kept: CallOutput[] = [];
  #sentAtMs = -Infinity;
  /** Whether a step was put since the last message: its own is due also where it brought nothing. */
  #isOwing = false;
  #isWaiting = false;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  /**
   * Sends everything once the interval is over, so that slow steps go out each, and at once what there is of a request
   * whose answer begins or ends.
   */
  put(outputs: readonly CallOutput[]): void {
    this.#kept.push(...outputs);
    this.#isOwing = true;
    if (this.#restMs() <= 0) this.flush();
    else this.#sendOf(new Set(outputs.filter((output) => !isOnlyTokens(output)).map(({ call }) => call)));
    if (this.#isOwing && !this.#isWaiting) void this.#flushLater();
  }

  /** Sends everything, also where there is nothing: the message says what the engine holds by now. */
  flush(): void {
    const kept = this.#kept;
    this.#kept = [];
    this.#isOwing = false;
    this.#sentAtMs = this.#options.clock.monotonicMs();
    this.#options.send(kept);
  }

  /** How long the interval still lasts. */
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

  /** Waits while there is something to wait for; steps meanwhile may have sent what it began with. */
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
