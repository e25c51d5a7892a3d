// Computes rates from two samples of a server's counters. Pure.
import type { Totals } from "./readings.ts";

/** Rates per second; other units are stated at the field. */
export interface Rates {
  readonly promptTokens: number;
  readonly generatedTokens: number;
  readonly requests: number;
  readonly failures: number;
  /** Share of prompt tokens that were found in the prefix cache, in [0, 1]; null without prompts. */
  readonly prefixHitShare: number | null;
  /** Mean time to the first output in seconds; null if no request had output. */
  readonly firstOutputSeconds: number | null;
  /** CPU use as a share of one core, for each process that exists in both samples. */
  readonly cpuShares: ReadonlyMap<string, number>;
}

/** Returns the rates between two samples; null if the server restarted in between, which resets its counters. */
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
