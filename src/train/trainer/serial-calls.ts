// Scheduling of work: a trainer's calls in order, and an action after an idle time. Independent of the work itself.
import { invalid, ServiceError } from "../../base/domain/service-error.ts";
import type { TrainerCall } from "./trainer.ts";
import type { Clock } from "../../base/domain/clock.ts";

/** Number of remembered results; the oldest is dropped first. */
const RESULT_COUNT_MAX = 64;

/**
 * Runs a trainer's calls one after the other. A call whose signal has aborted is not started, and a repeated call gets
 * the result of the first.
 */
export class SerialCalls {
  #previous: Promise<unknown> = Promise.resolve();
  readonly #results = new Map<string, { readonly method: string; readonly result: unknown }>();
  #isClosed = false;

  /**
   * Runs the action after all earlier calls, unless the call's id was seen before.
   *
   * @param action changes nothing if it throws
   */
  run<Result>(method: string, call: TrainerCall, action: () => Promise<Result>): Promise<Result> {
    const result = this.#previous.then(() => this.#once(method, call, action));
    this.#previous = result.catch(() => undefined);
    return result;
  }

  /** Refuses calls from now on, and resolves when the last one has finished. */
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
      if (earlier.method === method) return earlier.result as Result; // Safe cast: this method's result.
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

/** @throws ServiceError `cancelled` if the signal has aborted */
export function throwIfAborted(signal: AbortSignal): void {
  if (!signal.aborted) return;
  throw new ServiceError({
    code: "cancelled",
    message: "The trainer's call was aborted.",
    cause: signal.reason,
  });
}

/** Runs an action after an idle time, for example to release resources that only work needs. */
export class WhenIdle {
  readonly #clock: Clock;
  readonly #durationMs: number;
  readonly #act: () => Promise<void>;
  #workCount = 0;
  /** Aborts the wait of the current idle time. */
  #idling = new AbortController();

  /**
   * @param act runs once in each idle time that lasts `durationMs`. If work begins while `act` runs, it does not wait
   * for `act`
   */
  constructor(clock: Clock, durationMs: number, act: () => Promise<void>) {
    this.#clock = clock;
    this.#durationMs = durationMs;
    this.#act = act;
  }

  /**
   * Runs some work. Several pieces of work may overlap. The idle time begins when the last of them ends, with or
   * without an error.
   */
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
      // New work has begun: the sleep has no other reason to reject.
      () => undefined,
    );
  }
}
