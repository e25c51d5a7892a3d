// The scores of the tokens that may come, without the others: what draws from them then passes over no more than it must.
import type { RowRoom, ScoresLeft } from "./logits-row.ts";
import type { TokenSet } from "./token-set.ts";

/** Makes the scores of tokens that may not come negative infinity. */
export function forbid(scores_V: Float32Array, { words }: TokenSet): void {
  for (let index = 0; index < words.length; index++) {
    if (words[index] === 0) {
      scores_V.fill(-Infinity, 32 * index, 32 * index + 32);
      continue;
    }
    // The lowest bit that is not set is set each time.
    for (let word = ~words[index]; word !== 0; word &= word - 1) {
      scores_V[32 * index + (31 - Math.clz32(word & -word))] = -Infinity;
    }
  }
}

/**
 * The scores of the tokens that may come, in the order of their ids.
 *
 * @param logits_V of the whole vocabulary; not modified
 * @param room what is returned lies in it
 */
export function gather(logits_V: Float32Array, { words }: TokenSet, room: RowRoom): ScoresLeft {
  const ids_V = room.ids_V;
  const left_V = room.logits_V;
  let count = 0;
  for (let index = 0; index < words.length; index++) {
    let word = words[index];
    if (word === 0) continue;
    const first = 32 * index;
    const end = Math.min(first + 32, logits_V.length);
    // Each is written, and stays where its bit is set: a branch would be guessed wrong too often.
    for (let id = first; id < end; id++) {
      ids_V[count] = id;
      left_V[count] = logits_V[id];
      count += word & 1;
      word >>>= 1;
    }
  }
  return { logits: left_V.subarray(0, count), ids: ids_V };
}
