// How fast the model runner is beside llama.cpp: the same weights in the same number of bits, read from the same file, on
// the same threads. Both sides compute turn about, and the best of each counts, so that a busy machine disturbs the ratios
// little. Leaves out, on both sides, the sampler.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { systemClock } from "../src/domain/clock.ts";
import type { Quantization } from "../src/domain/model.ts";
import { createGraphRunner } from "../src/engine/graph-runner.ts";
import type { ModelRunner } from "../src/engine/model-runner.ts";
import { ensureGgufFolder } from "../src/model-files/gguf/gguf-model.ts";
import { readModelConfig } from "../src/model/config/read-config.ts";
import { readQuantizedWeights } from "../src/model/weights.ts";
import { LineProcess } from "./line-process.ts";
import { ownFolder } from "./run-bench.ts";
import { batchSizes, bestDecodeMs, bestPrefillMs, contextCount, promptTokens } from "./runner-times.ts";

const help = `Usage: node dist/bench/llama-cpp.js --python <interpreter> --model <file.gguf> [flags]
Times decoding at batch 1, 8 and 16 over a context of ${contextCount} tokens, and a prompt of ${contextCount} tokens, in float32, 8 bits
(Q8_0) and 4 bits (Q4_0), beside llama.cpp. It makes the three files of the given one, and both sides read them.
The interpreter needs conformance/python/requirements-llama-cpp.txt. Where llama.cpp's build for the machine's own processor
crashes, build it with CMAKE_ARGS that name what the processor has (GGML_NATIVE=OFF, GGML_AVX512=ON and the like).

  --only <float32|int8|int4>  one precision only
  --rounds <count>            how often everything is measured, the best of which counts (default 5)
  --threads <count>           how many threads compute on either side (default 2)
  --json                      print JSON
  --help                      print this`;

interface Pair {
  readonly precision: "float32" | "int8" | "int4";
  /** What llama.cpp calls it. */
  readonly type: string;
  readonly quantization: Quantization;
}

const pairs: readonly Pair[] = [
  { precision: "float32", type: "F32", quantization: "off" },
  { precision: "int8", type: "Q8_0", quantization: "as-stored" },
  { precision: "int4", type: "Q4_0", quantization: "as-stored" },
];

interface Options {
  readonly python: string;
  readonly model: string;
  readonly rounds: number;
  readonly threads: number;
}

/** One figure of both sides, in tokens per second. */
interface Figure {
  readonly precision: string;
  readonly what: string;
  readonly here: number;
  readonly llamaCpp: number;
  readonly ratio: number;
}

/** What is timed: the same tokens on either side. */
interface Work {
  readonly what: string;
  readonly tokenCount: number;
  here(runner: ModelRunner): Promise<number>;
  readonly there: Readonly<Record<string, unknown>>;
}

const works: readonly Work[] = [
  ...batchSizes.map((rows) => ({
    what: `decode batch ${rows}`,
    tokenCount: rows,
    here: (runner: ModelRunner) => bestDecodeMs(runner, rows),
    there: { kind: "decode", rows, tokens: promptTokens, turns: 8 },
  })),
  {
    what: "prefill",
    tokenCount: contextCount,
    here: bestPrefillMs,
    there: { kind: "prefill", tokens: promptTokens, turns: 3 },
  },
];

const { values } = parseArgs({
  options: {
    python: { type: "string" },
    model: { type: "string" },
    only: { type: "string" },
    rounds: { type: "string", default: "5" },
    threads: { type: "string", default: "2" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (values.help) process.stdout.write(`${help}\n`);
else if (values.python === undefined || values.model === undefined) {
  process.stderr.write("Both --python and --model are needed; --help says what they are.\n");
  process.exitCode = 2;
} else {
  const { python, model, only, json } = values;
  const options = { python, model, rounds: Number(values.rounds), threads: Number(values.threads) };
  const figures: Figure[] = [];
  for (const pair of pairs) {
    if (only !== undefined && only !== pair.precision) continue;
    const measured = await measure(pair, options);
    figures.push(...measured);
    if (!json) process.stdout.write(`${measured.map(textOf).join("\n")}\n`);
  }
  if (json) process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`);
}

async function measure(pair: Pair, options: Options): Promise<readonly Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), "llama-cpp-"));
  const file = join(folder, "model.gguf");
  const script = join(ownFolder, "conformance", "python", "llama_cpp_side.py");
  const other = new LineProcess([options.python, script]);
  try {
    const { model: source, threads } = options;
    const rows = Math.max(...batchSizes);
    const { type } = pair;
    await other.ask(JSON.stringify({ source, file, type, threads, rows, context: contextCount + 64 }));
    const runner = await openRunner(file, { folder, threads, quantization: pair.quantization });
    const figures = await takeTurns(pair, { runner, other }, options.rounds);
    await runner.close();
    return figures;
  } finally {
    other.end();
    rmSync(folder, { recursive: true });
  }
}

async function openRunner(
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

async function takeTurns(
  { precision }: Pair,
  { runner, other }: { readonly runner: ModelRunner; readonly other: LineProcess },
  rounds: number,
): Promise<readonly Figure[]> {
  const best = works.map(() => ({ here: Infinity, there: Infinity }));
  for (let round = 0; round < rounds; round++) {
    for (const [index, work] of works.entries()) {
      const times = best[index];
      times.here = Math.min(times.here, await work.here(runner));
      times.there = Math.min(times.there, (await other.ask(JSON.stringify(work.there)))["ms"]);
      // Its threads spin for a moment after a call, and would take the cores from ours.
      await systemClock.sleep(50);
    }
  }
  return works.map(({ what, tokenCount }, index) => {
    const { here, there } = best[index];
    const rate = (ms: number): number => (tokenCount * 1000) / ms;
    return { precision, what, here: rate(here), llamaCpp: rate(there), ratio: there / here };
  });
}

function textOf({ precision, what, here, llamaCpp, ratio }: Figure): string {
  const rate = (value: number): string => value.toFixed(0).padStart(5);
  return `${precision.padEnd(8)} ${what.padEnd(16)} ${rate(here)} here, ${rate(llamaCpp)} llama.cpp, ratio ${ratio.toFixed(2)}`;
}
