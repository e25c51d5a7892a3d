// The model runner beside another program that computes the same model: the same work turn about, of which the best of each
// side counts, so that a busy machine disturbs the ratios little. Neither side samples.
import { join } from "node:path";
import { systemClock } from "../src/domain/clock.ts";
import type { Quantization } from "../src/domain/model.ts";
import { createGraphRunner } from "../src/engine/graph-runner.ts";
import type { ModelRunner } from "../src/engine/model-runner.ts";
import { ensureGgufFolder } from "../src/model-files/gguf/gguf-model.ts";
import { readModelConfig } from "../src/model/config/read-config.ts";
import { readQuantizedWeights } from "../src/model/weights.ts";
import type { LineProcess } from "./line-process.ts";
import { batchSizes, bestDecodeMs, bestPrefillMs, contextCount, promptTokens } from "./runner-times.ts";

/** One figure of both sides, in tokens per second. */
export interface Figure {
  /** Of our side. */
  readonly precision: string;
  readonly what: string;
  readonly here: number;
  readonly there: number;
  readonly ratio: number;
}

/** What is timed: the same tokens on either side. */
interface Work {
  readonly what: string;
  readonly tokenCount: number;
  here(runner: ModelRunner): Promise<number>;
  /** What the other side is asked, which answers with milliseconds. */
  readonly there: Readonly<Record<string, unknown>>;
}

/** Threads of either side spin for a moment after a call (those of OpenMP 0.2 s), and would take the cores from the other. */
const restMs = 250;

/** A step of one token for each of some rows over a context, and a prompt. */
function worksOf(promptCount: number): readonly Work[] {
  const decodes = batchSizes.map((rows) => ({
    what: `decode batch ${rows}`,
    tokenCount: rows,
    here: (runner: ModelRunner) => bestDecodeMs(runner, rows),
    there: { kind: "decode", rows, tokens: promptTokens(contextCount), turns: 8 },
  }));
  const prefill = {
    what: `prefill of ${promptCount}`,
    tokenCount: promptCount,
    here: (runner: ModelRunner) => bestPrefillMs(runner, promptCount),
    there: { kind: "prefill", tokens: promptTokens(promptCount), turns: 3 },
  };
  return [...decodes, prefill];
}

/** @param runners ours, by what their precision is called */
export async function takeTurns(
  runners: ReadonlyMap<string, ModelRunner>,
  other: LineProcess,
  { promptCount, rounds }: { readonly promptCount: number; readonly rounds: number },
): Promise<readonly Figure[]> {
  const timed = worksOf(promptCount).map((work) => ({
    ...work,
    hereMs: new Map([...runners.keys()].map((precision) => [precision, Infinity])),
    thereMs: Infinity,
  }));
  for (let round = 0; round < rounds; round++) {
    for (const work of timed) {
      for (const [precision, runner] of runners) {
        work.hereMs.set(precision, Math.min(work.hereMs.get(precision) ?? Infinity, await work.here(runner)));
        await systemClock.sleep(restMs);
      }
      work.thereMs = Math.min(work.thereMs, (await other.ask(JSON.stringify(work.there)))["ms"]);
      await systemClock.sleep(restMs);
    }
  }
  return [...runners.keys()].flatMap((precision) =>
    timed.map(({ what, tokenCount, hereMs, thereMs }): Figure => {
      const rate = (ms: number): number => (tokenCount * 1000) / ms;
      const [here, there] = [rate(hereMs.get(precision) ?? Infinity), rate(thereMs)];
      return { precision, what, here, there, ratio: here / there };
    }),
  );
}

/** Of the model in a GGUF file; what is made of its weights is kept in the folder. */
export async function openRunner(
  file: string,
  {
    folder,
    threads,
    quantization,
  }: { readonly folder: string; readonly threads: number; readonly quantization: Quantization },
): Promise<ModelRunner> {
  const cacheFolder = join(folder, "cache");
  const modelFolder = ensureGgufFolder(file, cacheFolder);
  const config = readModelConfig(modelFolder);
  const { sources, forms } = readQuantizedWeights(modelFolder, config, { cacheFolder, quantization });
  return createGraphRunner({ config, weights: sources, forms, threads, adapterCountMax: 1 });
}

export function textOf({ precision, what, here, there, ratio }: Figure, peer: string): string {
  const rate = (value: number): string => value.toFixed(0).padStart(5);
  return `${precision.padEnd(8)} ${what.padEnd(16)} ${rate(here)} here, ${rate(there)} ${peer}, ratio ${ratio.toFixed(2)}`;
}
