// The generations of one engine: which requests it takes, and how many of those it took have begun. What they are answered
// with, and when, is the engine's.
import {
  choiceCountOf,
  type EngineCapabilities,
  type EngineState,
  type EngineStatus,
  type GenerationRequest,
} from "../../base/domain/generation.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { checkRequest } from "./check-request.ts";
import { GenerationStream, type StreamOptions } from "./generation-stream.ts";

/** How long a caller should wait before trying again, where nothing better is known. */
const retryAfterSeconds = 2;

export class Generations {
  readonly #capabilities: EngineCapabilities;
  readonly #waitingCountMax: number;
  /** By their requests' ids. */
  readonly #streams = new Map<string, GenerationStream>();
  #waitingCount = 0;

  constructor(capabilities: EngineCapabilities, waitingCountMax: number) {
    this.#capabilities = capabilities;
    this.#waitingCountMax = waitingCountMax;
  }

  get isEmpty(): boolean {
    return this.#streams.size === 0;
  }

  /** Takes a request, or throws as `submit` of the contract does; `room` is what there is for its choices. */
  open(
    request: GenerationRequest,
    { state, room }: { readonly state: EngineState; readonly room: number },
    listener: Partial<Omit<StreamOptions, "choiceCount">>,
  ): GenerationStream {
    if (state.kind !== "ready")
      throw unavailable(state.kind === "failed" ? "The engine is down." : state.reason);
    checkRequest(request, this.#capabilities, { limits: state.limits, room });
    const { id } = request;
    if (this.#streams.has(id)) {
      throw new ServiceError({ code: "conflict", message: `A request with the id ${id} is running.` });
    }
    if (this.#waitingCount >= this.#waitingCountMax) {
      const message = `${this.#waitingCountMax} requests are waiting already; try again later.`;
      throw new ServiceError({ code: "overloaded", message, retryAfterSeconds });
    }
    const stream = new GenerationStream({
      ...listener,
      choiceCount: choiceCountOf(request),
      onBegin: () => {
        this.#waitingCount -= 1;
        listener.onBegin?.();
      },
      onEnd: () => {
        if (!stream.hasBegun) this.#waitingCount -= 1;
        this.#streams.delete(id);
        listener.onEnd?.();
      },
    });
    this.#waitingCount += 1;
    this.#streams.set(id, stream);
    return stream;
  }

  /** Ends all that run as `unavailable`. */
  failAll(message: string): void {
    for (const stream of this.#streams.values()) stream.fail(unavailable(message));
  }

  status(state: EngineState, gauges: EngineStatus["gauges"]): EngineStatus {
    const waitingCount = this.#waitingCount;
    return {
      state,
      runningCount: this.#streams.size - waitingCount,
      waitingCount,
      waitingCountMax: this.#waitingCountMax,
      gauges,
    };
  }
}

/** The obstacle has callers told the reason. */
export function unavailable(message: string): ServiceError {
  return new ServiceError({ code: "unavailable", obstacle: "unloaded-base", message, retryAfterSeconds });
}
