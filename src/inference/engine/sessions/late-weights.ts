// Arranged weights that are written after the start. Until then, sessions do without the file: they read the weights as
// stored, or one has a private copy.
import type { WeightSource } from "../../../lib/graph/weight-source.ts";

type Weights = ReadonlyMap<string, WeightSource>;

/** Waits until more work may be done. */
type Pace = () => Promise<void>;

export class LateWeights {
  readonly #write: (pace: Pace) => Promise<Weights>;
  readonly #onFailure: (error: unknown) => void;
  /** Aborts when a request needs the weights. */
  readonly #urgent = new AbortController();
  #writing: Promise<Weights> | null = null;

  /**
   * @param write writes the missing files, and returns the weights with all arranged copies; awaits `pace` between steps
   * @param onFailure called if writing fails, but not if it is stopped
   */
  constructor(write: (pace: Pace) => Promise<Weights>, onFailure: (error: unknown) => void) {
    this.#write = write;
    this.#onFailure = onFailure;
  }

  /**
   * Writes the files in idle moments. If `untilIdle` rejects, writing is stopped.
   *
   * @throws the error of writing; the next call tries again
   */
  written(untilIdle: Pace): Promise<Weights> {
    const { signal } = this.#urgent;
    const urgent = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    return this.#once(async () => (signal.aborted ? undefined : Promise.race([untilIdle(), urgent])));
  }

  /** Like {@link LateWeights.written}, but no longer waits for idle moments, because a request needs the weights. */
  writtenSoon(): Promise<Weights> {
    this.#urgent.abort();
    return this.#once(() => Promise.resolve());
  }

  #once(pace: Pace): Promise<Weights> {
    this.#writing ??= this.#write(pace)
      .catch((error: unknown) => {
        if (!isAbort(error)) this.#onFailure(error);
        throw error;
      })
      .finally(() => (this.#writing = null));
    return this.#writing;
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}
