// What a server does in a second, by what it counted at two moments. Pure.
import type { Totals } from "./readings.ts";

/** In a second, but for what says otherwise. */
export interface Rates {
  readonly promptTokens: number;
  readonly generatedTokens: number;
  readonly requests: number;
  readonly failures: number;
  /** Of the prompts' tokens, those that were computed before, in [0, 1]; null where no prompt came. */
  readonly prefixHitShare: number | null;
  /** Seconds until the first output, the mean; null where none came. */
  readonly firstOutputSeconds: number | null;
  /** Of one core, for each process that was there at both moments. */
  readonly cpuShares: ReadonlyMap<string, number>;
}

/** @returns null where the later moment is of a server that was started in between, whose counts began anew */
export function ratesBetween(before: Totals, after: Totals, seconds: number): Rates | null {
  const grown = (read: (totals: Totals) => number): number => read(after) - read(before);
  const counts = {
    promptTokens: grown((totals) => totals.promptTokens),
    generatedTokens: grown((totals) => totals.generatedTokens),
    requests: grown((totals) => totals.requests),
    failures: grown((totals) => totals.failures),
  };
  if (seconds <= 0 || Object.values(counts).some((count) => count < 0)) return null;
  const firstOutputs = grown((totals) => totals.firstOutputs);
  return {
    promptTokens: counts.promptTokens / seconds,
    generatedTokens: counts.generatedTokens / seconds,
    requests: counts.requests / seconds,
    failures: counts.failures / seconds,
    prefixHitShare:
      counts.promptTokens === 0 ? null : grown((totals) => totals.cachedTokens) / counts.promptTokens,
    firstOutputSeconds:
      firstOutputs <= 0 ? null : grown((totals) => totals.firstOutputSeconds) / firstOutputs,
    cpuShares: new Map(
      [...after.cpuSeconds].flatMap(([key, cpuSeconds]) => {
        const earlier = before.cpuSeconds.get(key);
        return earlier === undefined ? [] : [[key, Math.max(0, cpuSeconds - earlier) / seconds] as const];
      }),
    ),
  };
}
