// Random latencies of a vLLM server's tokens, drawn from a log-normal distribution. Its median and 99th percentile are
// from vLLM's own benchmark of Llama 3.1 8B in bfloat16 on one H200, with ShareGPT prompts at four per second.
import type { Random } from "../../../base/domain/random.ts";

/** Draws random latencies in milliseconds. */
export interface Latencies {
  firstTokenMs(): number;
  nextTokenMs(): number;
}

/** Recorded latencies of 200 requests, in milliseconds. */
const recorded = {
  firstToken: { median: 25.5, p99: 54.8 },
  nextToken: { median: 9.7, p99: 18.9 },
};

/** 99th percentile of the standard normal distribution. */
const deviationsOfP99 = 2.3263;

export function recordedLatencies(random: Random): Latencies {
  const drawn = ({ median, p99 }: { readonly median: number; readonly p99: number }): number =>
    median * Math.exp((Math.log(p99 / median) / deviationsOfP99) * normal(random));
  return {
    firstTokenMs: () => drawn(recorded.firstToken),
    nextTokenMs: () => drawn(recorded.nextToken),
  };
}

/** Draws a standard normal number (Box and Muller, 1958). */
function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random.uniform())) * Math.cos(2 * Math.PI * random.uniform());
}
