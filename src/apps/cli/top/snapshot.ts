// What `hone top` knows after a look at a server, and what it remembers of earlier ones.
import { type Rates, ratesBetween } from "./rates.ts";
import type { Reading } from "./readings.ts";

export interface TopJob {
  readonly id: string;
  /** project/name where it is known, else the model's id. */
  readonly model: string;
  readonly kind: string;
  /** `queued`, or what a running one is at, such as `training`. */
  readonly state: string;
  /** In [0, 1]; null where nobody knows yet. */
  readonly progress: number | null;
  readonly secondsLeft: number | null;
  readonly waitingFor: string | null;
}

export interface Snapshot {
  readonly at: Date;
  /** Of a clock that never goes back, in milliseconds. */
  readonly monotonicMs: number;
  readonly url: string;
  readonly version: string;
  /** As `/health` has it, such as `ready`. */
  readonly state: string;
  /** Why it is not ready; empty when it is. */
  readonly reason: string;
  readonly reading: Reading;
  /** Those that run, then those that wait; null where the key may not see them. */
  readonly jobs: readonly TopJob[] | null;
  /** Why there are none to see. */
  readonly jobsRefusal: string | null;
}

/** What has a curve. */
export interface Curves {
  readonly promptTokens: readonly number[];
  readonly generatedTokens: readonly number[];
  readonly running: readonly number[];
}

/** More than a terminal is wide. */
const keptCount = 400;

/** The looks so far: rates between the last two, and curves of all. */
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
