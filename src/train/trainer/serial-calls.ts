// When work runs: a trainer's calls one after another, and an action after a time without work. Knows nothing of what they
// compute.
import { invalid, ServiceError } from "../../base/domain/service-error.ts";
import type { TrainerCall } from "./trainer.ts";
import type { Clock } from "../../base/domain/clock.ts";

/** How many results are remembered; the oldest is dropped first. */
const RESULT_COUNT_MAX = 64;

/** Runs a trainer's calls in order. Starts none after its abort, and answers a repeated call with the earlier result. */
export class SerialCalls {
  #previous: Promise<unknown> = Promise.resolve();
  readonly #results = new Map<string, { readonly method: string; readonly result: unknown }>();
  #isClosed = false;

  /**
   * Runs the action after every earlier call, unless its id was seen before.
   *
   * @param action changes nothing when it throws
   */
  run<Result>(method: string, call: TrainerCall, action: () => Promise<Result>): Promise<Result> {
    const result = this.#previous.then(() => this.#once(method, call, action));
    this.#previous = result.catch(() => undefined);
    return result;
  }

  /** From now on calls are refused; resolves when the last one is over. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#previous;
    this.#results.clear();
  }

  async #once<Result>(method: string, call: TrainerCall, action: () => Promise<Result>): Promise<Result> {
    if (this.#isClosed) throw new ServiceError({ code: "unavailable", message: "The trainer is closed." });
    throwIfAborted(call.signal);
    const earlier = this.#results.get(call.id);
    if (earlier !== undefined) {
      if (earlier.method === method) return earlier.result as Result; // What this method returned for this id.
      throw invalid(
        `The call ${JSON.stringify(call.id)} was a ${earlier.method} and is now a ${method}; give each call its own id.`,
      );
    }
    const result = await action();
    this.#results.set(call.id, { method, result });
    if (this.#results.size > RESULT_COUNT_MAX) {
      const [[oldest]] = this.#results;
      this.#results.delete(oldest);
    }
    return result;
  }
}

/** @throws ServiceError `cancelled` */
export function throwIfAborted(signal: AbortSignal): void {
  if (!signal.aborted) return;
  throw new ServiceError({
    code: "cancelled",
    message: "The trainer's call was aborted.",
    cause: signal.reason,
  });
}

/** Acts after a time without work, for example to release what only work needs. */
export class WhenIdle {
  readonly #clock: Clock;
  readonly #durationMs: number;
  readonly #act: () => Promise<void>;
  #workCount = 0;
  /** Aborts the wait of a time without work. */
  #idling = new AbortController();

  /** @param act done once in each time without work that lasts so long; work that begins meanwhile does not wait for it */
  constructor(clock: Clock, durationMs: number, act: () => Promise<void>) {
    this.#clock = clock;
    this.#durationMs = durationMs;
    this.#act = act;
  }

  /** Does some work. Works may overlap: the time without work begins when the last of them is over, however it ends. */
  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#workCount++;
    this.#idling.abort();
    try {
      return await work();
    } finally {
      this.#workCount--;
      if (this.#workCount === 0) this.#wait();
    }
  }

  #wait(): void {
    this.#idling = new AbortController();
    this.#clock.sleep(this.#durationMs, { signal: this.#idling.signal }).then(
      () => this.#act(),
      // There is work again: the sleep has no other reason to reject.
      () => undefined,
    );
  }
}
