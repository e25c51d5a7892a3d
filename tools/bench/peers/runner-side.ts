// Hone's side of benchmarks against other programs. Runs the model runner in a separate process, like the server. The
// first input line is JSON with the model to load; the process answers each further line with the time of a decode step
// or a prompt.
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Quantization } from "../../../src/base/domain/model.ts";
import { createGraphRunner } from "../../../src/inference/engine/graph-runner.ts";
import { ensureGgufFolder } from "../../../src/lib/model-files/gguf/gguf-model.ts";
import { readModelConfig } from "../../../src/inference/architectures/config/read-config.ts";
import { readQuantizedWeights } from "../../../src/inference/architectures/weights.ts";
import { bestDecodeMs, bestPrefillMs } from "../runner-times.ts";
import { integerKernels } from "../../../src/inference/onnx/integer-kernels.ts";

export interface RunnerJob {
  /** Path of the GGUF file. */
  readonly file: string;
  /** Folder for the files that are derived from the model file. */
  readonly folder: string;
  readonly threads: number;
  readonly quantization: Quantization;
}

/** Work that both sides, Hone and the other program, do and time. */
export type Work =
  | {
      readonly kind: "decode";
      /** Tokens that are in each row's cache before the decode step. */
      readonly tokens: readonly number[];
      readonly rows: number;
      /** Number of steps; the fastest counts. */
      readonly turns: number;
    }
  | { readonly kind: "prefill"; readonly tokens: readonly number[]; readonly turns: number };

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
// Safe cast: the parent process writes one job, then lines of work.
const job = JSON.parse((await lines.next()).value as string) as RunnerJob;
const runner = await openRunner(job);
answer({});
for (let line = await lines.next(); !line.done; line = await lines.next()) {
  const work = JSON.parse(line.value) as Work;
  const isDecode = work.kind === "decode";
  answer({
    ms: await (isDecode ? bestDecodeMs(runner, work.rows) : bestPrefillMs(runner, work.tokens.length)),
  });
}
await runner.close();

async function openRunner({ file, folder, threads, quantization }: RunnerJob) {
  const cacheFolder = join(folder, "cache");
  const modelFolder = ensureGgufFolder(file, cacheFolder);
  const config = readModelConfig(modelFolder);
  const kernels = await integerKernels(cacheFolder);
  const { sources, forms } = readQuantizedWeights(modelFolder, config, {
    cacheFolder,
    quantization,
    kernels,
  });
  return createGraphRunner({ config, weights: sources, forms, threads, adapterCountMax: 1 });
}

function answer(numbers: Readonly<Record<string, number>>): void {
  process.stdout.write(`${JSON.stringify(numbers)}\n`);
}
