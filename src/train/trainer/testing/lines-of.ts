// For tests: the lines of a job's training data, in memory.
import type { WorkLines } from "../prepared/token-file.ts";

export function linesOf<Item>(items: readonly Item[]): WorkLines<Item> {
  return {
    count: items.length,
    from: async function* (index) {
      yield* items.slice(index);
    },
  };
}
