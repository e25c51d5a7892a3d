// Samples the resident memory of a process over time.
import { residentBytes } from "../../../test/process-tree.ts";

export interface MemoryGrowth {
  /** Mean memory in the second and in the last fifth of the sampling time. */
  readonly earlyMebibytes: number;
  readonly lateMebibytes: number;
  readonly mostMebibytes: number;
}

const sampleMs = 200;

export class MemorySamples {
  readonly #samples: number[] = [];
  readonly #timer: NodeJS.Timeout;

  /** Starts sampling. */
  constructor(processId: number) {
    this.#timer = setInterval(() => this.#samples.push(residentBytes(processId) / 2 ** 20), sampleMs);
  }

  /** Stops sampling; returns null if there are too few samples. */
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
