// Where a random number falls among scores that are left: each place is as wide as it weighs, in the order of the places.
import { blockSize, type ScoreBlocks } from "./blocks/score-blocks.ts";
import type { LogitsRow } from "./logits-row.ts";

/** Takes one number of the row's stream; -1 when a score is not a number. */
export function drawnPlace(row: LogitsRow): number {
  const { masses } = row.blocks;
  const total = totalMass(row.blocks);
  if (Number.isNaN(total)) return -1;
  const aim = row.options.random.uniform() * total;
  let chosen = 0;
  let start = 0;
  let end = 0;
  for (let block = 0; block < masses.length; block++) {
    if (masses[block] === 0) continue;
    chosen = block;
    start = end;
    end += masses[block];
    if (aim < end) break;
  }
  return chosen * blockSize + placeIn(row.weightsOf(chosen), (aim - start) / (end - start));
}

/** @param part in [0, 1), of what they weigh together; what weighs nothing is not taken */
function placeIn(weights: Float64Array, part: number): number {
  let left = part * sumOf(weights);
  let chosen = 0;
  for (let place = 0; place < weights.length; place++) {
    if (weights[place] === 0) continue;
    chosen = place;
    left -= weights[place];
    if (left < 0) break;
  }
  return chosen;
}

/** What all scores weigh, in the unit of the blocks. */
export function totalMass({ masses }: ScoreBlocks): number {
  return sumOf(masses);
}

/** What the greatest score weighs, in the unit of the blocks. */
export function unitOf(row: LogitsRow): number {
  const { masses, maxima } = row.blocks;
  const block = maxima.indexOf(row.max);
  return masses[block] / sumOf(row.weightsOf(block));
}

function sumOf(values: Float32Array | Float64Array): number {
  let sum = 0;
  for (let index = 0; index < values.length; index++) sum += values[index];
  return sum;
}
