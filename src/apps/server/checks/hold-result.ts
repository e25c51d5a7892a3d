// Caches the result of a check for a while, so that many who ask do not cost many checks.
import type { Clock } from "../../../base/domain/clock.ts";

/** Answers with what the last check gave, however it ended, until it is `holdsMs` milliseconds old. */
export function holdResult(check: () => Promise<void>, holdsMs: number, clock: Clock): () => Promise<void> {
  let last: { readonly at: number; readonly result: Promise<void> } | null = null;
  return () => {
    const at = clock.monotonicMs();
    if (last === null || at - last.at >= holdsMs) last = { at, result: check() };
    return last.result;
  };
}
