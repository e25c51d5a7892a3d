// Lines of a job that lie in memory: what a test gives it.
import type { WorkLines } from "../prepared/token-file.ts";

export function linesOf<Item>(items: readonly Item[]): WorkLines<Item> {
  return {
    count: items.length,
    from: async function* (index) {
      yield* items.slice(index);
    },
  };
}
