// The order, the abort and the identity of a trainer's calls: one after another, none begun once it is aborted, and a
// repeated one answered with the earlier result. Knows nothing of what they compute.
import { invalid, ServiceError } from "../../base/domain/service-error.ts";
import type { TrainerCall } from "./trainer.ts";

/** How many results are remembered; the oldest is dropped first. */
const RESULT_COUNT_MAX = 64;

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
