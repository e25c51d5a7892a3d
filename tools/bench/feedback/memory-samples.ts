// The resident memory of a process over time.
import { residentBytes } from "../../../test/process-tree.ts";

export interface MemoryGrowth {
  /** Means of the second fifth of the time and of the last. */
  readonly earlyMebibytes: number;
  readonly lateMebibytes: number;
  readonly mostMebibytes: number;
}

const sampleMs = 200;

export class MemorySamples {
  readonly #samples: number[] = [];
  readonly #timer: NodeJS.Timeout;

  /** Samples from now on. */
  constructor(processId: number) {
    this.#timer = setInterval(() => this.#samples.push(residentBytes(processId) / 2 ** 20), sampleMs);
  }

  /** Stops; null where the time was too short. */
  end(): MemoryGrowth | null {
    clearInterval(this.#timer);
    const fifth = Math.floor(this.#samples.length / 5);
    if (fifth === 0) return null;
    return {
      earlyMebibytes: meanOf(this.#samples.slice(fifth, 2 * fifth)),
      lateMebibytes: meanOf(this.#samples.slice(-fifth)),
      mostMebibytes: Math.max(...this.#samples),
    };
  }
}

function meanOf(figures: readonly number[]): number {
  return figures.reduce((sum, figure) => sum + figure, 0) / figures.length;
}
