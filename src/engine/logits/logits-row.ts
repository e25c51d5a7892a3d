// One row of scores on its way to a token: what the steps that choose read, and what each leaves for the next. Decides
// nothing.
import type { Random } from "../../domain/random.ts";
import type { SamplingParameters } from "../../domain/sampling.ts";
import { exponentials } from "./exponential.ts";

/** What a row is drawn with. */
export interface RowOptions {
  readonly sampling: SamplingParameters;
  readonly random: Random;
}

/** Keeps scores above `logit`, and of those equal to it the ids up to `lastId`. */
export interface Cut {
  readonly logit: number;
  readonly lastId: number;
}

const keepAll: Cut = { logit: -Infinity, lastId: Infinity };

export class LogitsRow {
  readonly options: RowOptions;
  /** Not modified. */
  readonly logits_V: Float32Array;
  /** The greatest score's id, the lowest of equals. */
  readonly greatestId: number;
  /** The greatest score. */
  readonly max: number;
  /** What each id weighs in the draw, 1 for the greatest score; see {@link LogitsRow.weigh}. */
  readonly weights_V: Float64Array;
  /** The weights that the cut leaves, summed in the order of the ids; NaN when a score is not a number. */
  total = 0;
  cut = keepAll;
  /** The token, once it is chosen. */
  chosenId = -1;
  #weighedAt: number | null = null;

  /** @param weights_V scratch space, for the vocabulary's size; overwritten */
  constructor(logits_V: Float32Array, weights_V: Float64Array, options: RowOptions) {
    this.logits_V = logits_V;
    this.weights_V = weights_V;
    this.options = options;
    this.greatestId = greatestIndex(logits_V);
    this.max = logits_V[this.greatestId];
  }

  /** Weights and total become those of this temperature, with nothing cut; nothing is done where they are already. */
  weigh(temperature: number): void {
    if (temperature === this.#weighedAt) return;
    this.total = exponentials(this.weights_V, this.logits_V, { max: this.max, temperature });
    this.#weighedAt = temperature;
  }

  isKept(id: number): boolean {
    return isKept(this.cut, this.logits_V[id], id);
  }

  /** Leaves in the draw what both this cut and the one before keep. */
  narrow(cut: Cut): void {
    const { logits_V, weights_V } = this;
    if (isKept(cut, this.cut.logit, this.cut.lastId)) return;
    let total = 0;
    for (let id = 0; id < logits_V.length; id++) {
      if (isKept(cut, logits_V[id], id)) total += weights_V[id];
    }
    this.cut = cut;
    this.total = total;
  }
}

export function isKept(cut: Cut, logit: number, id: number): boolean {
  return logit > cut.logit || (logit === cut.logit && id <= cut.lastId);
}

/** The index of the greatest value, the lowest of equals; a row of NaN gives 0. */
function greatestIndex(values: Float32Array): number {
  let best = 0;
  let bestValue = values[0];
  for (let index = 1; index < values.length; index++) {
    if (values[index] > bestValue) {
      best = index;
      bestValue = values[index];
    }
  }
  return best;
}
