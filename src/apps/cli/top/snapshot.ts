// One sample of a server, and the history of samples that `hone top` keeps.
import { type Rates, ratesBetween } from "./rates.ts";
import type { Reading } from "./readings.ts";

export interface TopJob {
  readonly id: string;
  /** project/name if known, otherwise the model's id. */
  readonly model: string;
  readonly kind: string;
  /** `queued`, or the phase of a running job, such as `training`. */
  readonly state: string;
  /** In [0, 1]; null if unknown. */
  readonly progress: number | null;
  readonly secondsLeft: number | null;
  readonly waitingFor: string | null;
}

export interface Snapshot {
  readonly at: Date;
  /** Monotonic time in milliseconds. */
  readonly monotonicMs: number;
  readonly url: string;
  readonly version: string;
  /** As in `/health`, such as `ready`. */
  readonly state: string;
  /** Reason for not being ready; empty if ready. */
  readonly reason: string;
  readonly reading: Reading;
  /** Running jobs, then queued ones; null if the key cannot access them. */
  readonly jobs: readonly TopJob[] | null;
  /** Reason why the jobs cannot be read. */
  readonly jobsRefusal: string | null;
}

/** Values drawn as curves. */
export interface Curves {
  readonly promptTokens: readonly number[];
  readonly generatedTokens: readonly number[];
  readonly running: readonly number[];
}

/** Wider than any terminal. */
const keptCount = 400;

/** The samples so far: rates between the last two, and curves of all. */
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
