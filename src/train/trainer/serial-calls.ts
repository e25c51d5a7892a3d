// Schedules work: runs a trainer's calls in order, and runs an action after an idle time. Knows nothing about the work
// itself.
import { invalid, ServiceError } from "../../base/domain/service-error.ts";
import type { TrainerCall } from "./trainer.ts";
import type { Clock } from "../../base/domain/clock.ts";

/** Maximum number of results that are remembered for repeated calls; the oldest is dropped first. */
const RESULT_COUNT_MAX = 64;

/**
 * Runs a trainer's calls one after the other. Does not start a call whose signal has aborted. If a call is repeated,
 * returns the result of the first one.
 */
export class SerialCalls {
  #previous: Promise<unknown> = Promise.resolve();
  readonly #results = new Map<string, { readonly method: string; readonly result: unknown }>();
  #isClosed = false;

  /**
   * Runs the action after all earlier calls. If a call with the same id already succeeded, returns its result instead.
   *
   * @param action must change nothing if it throws
   */
  run<Result>(method: string, call: TrainerCall, action: () => Promise<Result>): Promise<Result> {
    const result = this.#previous.then(() => this.#once(method, call, action));
    this.#previous = result.catch(() => undefined);
    return result;
  }

  /** Refuses all further calls. Resolves when the last running call has finished. */
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
      if (earlier.method === method) return earlier.result as Result; // Safe cast: a result of the same method.
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

/**
 * Throws if the signal has aborted.
 *
 * @throws ServiceError `cancelled`
 */
export function throwIfAborted(signal: AbortSignal): void {
  if (!signal.aborted) return;
  throw new ServiceError({
    code: "cancelled",
    message: "The trainer's call was aborted.",
    cause: signal.reason,
  });
}

/** Runs an action after an idle time, for example to free resources that are needed only for work. */
export class WhenIdle {
  readonly #clock: Clock;
  readonly #durationMs: number;
  readonly #act: () => Promise<void>;
  #workCount = 0;
  /** Ends the current idle time when it is aborted, so that `act` does not run. */
  #idling = new AbortController();

  /** @param act runs once in each idle time, after `durationMs`; work that begins meanwhile does not wait for it */
  constructor(clock: Clock, durationMs: number, act: () => Promise<void>) {
    this.#clock = clock;
    this.#durationMs = durationMs;
    this.#act = act;
  }

  /**
   * Runs `work`, which may overlap with other work. The idle time begins when the last running work ends, with or
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
      // The sleep rejects only because new work began.
      () => undefined,
    );
  }
}
