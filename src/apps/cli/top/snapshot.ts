// A sample of a server, and the history of samples from which `hone top` draws.
import { type Rates, ratesBetween } from "./rates.ts";
import type { Reading } from "./readings.ts";

export interface TopJob {
  readonly id: string;
  /** project/name of the model; its id if the name is unknown. */
  readonly model: string;
  readonly kind: string;
  /** `queued`, or the phase of a running job such as `training`. */
  readonly state: string;
  /** Finished share, in [0, 1]; null if unknown. */
  readonly progress: number | null;
  readonly secondsLeft: number | null;
  readonly waitingFor: string | null;
}

export interface Snapshot {
  readonly at: Date;
  /** Monotonic time of the sample in milliseconds. */
  readonly monotonicMs: number;
  readonly url: string;
  readonly version: string;
  /** Health state as reported by `/health`, such as `ready`. */
  readonly state: string;
  /** Reason why the server is not ready; empty if ready. */
  readonly reason: string;
  readonly reading: Reading;
  /** Running jobs, followed by queued ones; null if the key cannot access jobs. */
  readonly jobs: readonly TopJob[] | null;
  /** Reason why the key cannot access jobs; null if it can. */
  readonly jobsRefusal: string | null;
}

/** Recent values of the curves, oldest first. */
export interface Curves {
  readonly promptTokens: readonly number[];
  readonly generatedTokens: readonly number[];
  readonly running: readonly number[];
}

/** Maximum number of values per curve, more than any terminal has columns. */
const keptCount = 400;

/** History of samples: the rates between the last two, and the curves. */
export class History {
  #last: Snapshot | null = null;
  #rates: Rates | null = null;
  readonly #promptTokens: number[] = [];
  readonly #generatedTokens: number[] = [];
  readonly #running: number[] = [];

  get rates(): Rates | null {
    return this.#rates;
  }

  get curves(): Curves {
    return {
      promptTokens: this.#promptTokens,
      generatedTokens: this.#generatedTokens,
      running: this.#running,
    };
  }

  add(snapshot: Snapshot): void {
    const last = this.#last;
    this.#last = snapshot;
    const seconds = last === null ? 0 : (snapshot.monotonicMs - last.monotonicMs) / 1000;
    this.#rates = last === null ? null : ratesBetween(last.reading.totals, snapshot.reading.totals, seconds);
    put(this.#running, snapshot.reading.running);
    if (this.#rates === null) return;
    put(this.#promptTokens, this.#rates.promptTokens);
    put(this.#generatedTokens, this.#rates.generatedTokens);
  }
}

function put(values: number[], value: number): void {
  values.push(value);
  if (values.length > keptCount) values.shift();
}
