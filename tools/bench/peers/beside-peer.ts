// Compares Hone's model runner with another program that computes the same model, each in a separate process. Both
// programs do the same work in turn, and the best time of each counts, so that a busy machine hardly changes the
// ratios. Neither program samples tokens.
import { join } from "node:path";
import { systemClock } from "../../../src/base/domain/clock.ts";
import { computeEnvironment } from "../../../src/inference/onnx/environment.ts";
import { LineProcess } from "../line-process.ts";
import { ownFolder } from "../run-bench.ts";
import type { RunnerJob, Work } from "./runner-side.ts";
import { batchSizes, contextCount, promptTokens } from "../runner-times.ts";

/** A rate of both sides, in tokens per second. */
export interface Figure {
  /** Precision with which Hone computes. */
  readonly precision: string;
  readonly what: string;
  readonly here: number;
  readonly there: number;
  readonly ratio: number;
}

/**
 * Pause between turns. After a call, the threads of either side spin for a moment (0.2 s with OpenMP), which would slow
 * down the other side.
 */
const restMs = 250;

/** Returns the work to time and its number of tokens: a decode step for each of several batch sizes, and a prompt. */
function worksOf(promptCount: number): readonly { what: string; tokenCount: number; work: Work }[] {
  const decodes = batchSizes.map((rows) => ({
    what: `decode batch ${rows}`,
    tokenCount: rows,
    work: { kind: "decode", rows, tokens: promptTokens(contextCount), turns: 8 } as const,
  }));
  const prefill = { kind: "prefill", tokens: promptTokens(promptCount), turns: 3 } as const;
  return [...decodes, { what: `prefill of ${promptCount}`, tokenCount: promptCount, work: prefill }];
}

/** @param runners Hone's runners, by precision */
export async function takeTurns(
  runners: ReadonlyMap<string, LineProcess>,
  other: LineProcess,
  { promptCount, rounds }: { readonly promptCount: number; readonly rounds: number },
): Promise<readonly Figure[]> {
  const sides = [other, ...runners.values()];
  const timed = worksOf(promptCount).map((one) => ({ ...one, bestMs: sides.map(() => Infinity) }));
  for (let round = 0; round < rounds; round++) {
    for (const { work, bestMs } of timed) {
      for (const [index, side] of sides.entries()) {
        bestMs[index] = Math.min(bestMs[index], (await side.ask(JSON.stringify(work)))["ms"]);
        await systemClock.sleep(restMs);
      }
    }
  }
  return [...runners.keys()].flatMap((precision, index) =>
    timed.map(({ what, tokenCount, bestMs }): Figure => {
      const [here, there] = [bestMs[index + 1], bestMs[0]].map((ms) => (tokenCount * 1000) / ms);
      return { precision, what, here, there, ratio: here / there };
    }),
  );
}

/** Starts Hone's side for a model, with the environment variables that the server sets for its engine's process. */
export async function startRunner(job: RunnerJob): Promise<LineProcess> {
  const script = join(ownFolder, "dist", "tools", "bench", "peers", "runner-side.js");
  const runner = new LineProcess([process.execPath, script], computeEnvironment);
  await runner.ask(JSON.stringify(job));
  return runner;
}

export function textOf({ precision, what, here, there, ratio }: Figure, peer: string): string {
  const rate = (value: number): string => value.toFixed(0).padStart(5);
  return `${precision.padEnd(8)} ${what.padEnd(16)} ${rate(here)} here, ${rate(there)} ${peer}, ratio ${ratio.toFixed(2)}`;
}
