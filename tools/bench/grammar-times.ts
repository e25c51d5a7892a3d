// Types and summary of the times that tools/bench/grammar.ts measures for one engine and one schema.

/** Cost of generating a schema's valid texts, in milliseconds of processor time. */
export interface Times {
  /** Time to compile the schema and compute the mask for the first token. */
  readonly firstMask: number;
  /** Time for each further token: accepting the previous token and computing the mask. */
  readonly betweenMasks: readonly number[];
}

/** Token ids of a text, which an engine accepts one by one. */
export type TokenText = readonly number[];

/**
 * Returns the processor time that all threads of this process have used, in milliseconds. A busy machine hardly affects
 * it.
 */
export function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

export interface Quantiles {
  readonly mean: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

export const quantileNames = ["mean", "p50", "p90", "p99", "max"] as const;

export function quantiles(times: readonly number[]): Quantiles {
  const sorted = times.toSorted((one, other) => one - other);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  const mean = sorted.reduce((sum, time) => sum + time, 0) / Math.max(1, sorted.length);
  return { mean, p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) };
}
