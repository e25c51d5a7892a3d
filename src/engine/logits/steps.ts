// What is done to a row of scores until its token is chosen, in this order. A step is left out where a request asks
// nothing of it. Raw log-probabilities are taken before the first.
import type { SamplingParameters } from "../../domain/sampling.ts";
import { isKept, type LogitsRow } from "./logits-row.ts";
import { keepTopK } from "./top-k.ts";
import { keepTopP } from "./top-p.ts";

export interface LogitsStep {
  readonly name: string;
  readonly isNeeded: (sampling: SamplingParameters) => boolean;
  /** Changes the row, and nothing else. */
  readonly apply: (row: LogitsRow) => void;
}

/** What forbids or shifts scores belongs before the temperature, what leaves out tokens by probability after it. */
export const logitsSteps: readonly LogitsStep[] = [
  {
    name: "temperature",
    isNeeded: ({ temperature }) => temperature > 0,
    apply: (row) => row.weigh(row.options.sampling.temperature),
  },
  { name: "top-k", isNeeded: ({ temperature, topK }) => temperature > 0 && topK > 0, apply: keepTopK },
  { name: "top-p", isNeeded: ({ temperature, topP }) => temperature > 0 && topP < 1, apply: keepTopP },
  { name: "draw", isNeeded: ({ temperature }) => temperature > 0, apply: draw },
  {
    name: "greedy",
    isNeeded: ({ temperature }) => temperature === 0,
    apply: (row) => void (row.chosenId = row.greatestId),
  },
];

/** Draws among what is left, in the order of the ids. */
function draw(row: LogitsRow): void {
  const { logits_V, weights_V, cut } = row;
  let left = row.options.random.uniform() * row.total;
  for (let id = 0; id < weights_V.length; id++) {
    const weight = weights_V[id];
    if (weight === 0 || !isKept(cut, logits_V[id], id)) continue;
    row.chosenId = id;
    left -= weight;
    if (left < 0) break;
  }
}
