// Caches the result of a check, so that frequent requests do not repeat it.
import type { Clock } from "../../../base/domain/clock.ts";

/** Returns a cached check. It runs again only if its last result or error is older than `holdsMs` milliseconds. */
export function cacheResult(check: () => Promise<void>, holdsMs: number, clock: Clock): () => Promise<void> {
  let last: { readonly at: number; readonly result: Promise<void> } | null = null;
  return () => {
    const at = clock.monotonicMs();
    if (last === null || at - last.at >= holdsMs) last = { at, result: check() };
    return last.result;
  };
}
