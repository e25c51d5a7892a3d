// Compares the speed of the engine's model runner with the machine's limits. Measures both in turn with the same number
// of threads; the best time of each counts, so that a busy machine hardly changes the ratios. The child process, the
// scheduler and the sampler are excluded.
import { projectionNames } from "../../src/base/domain/model.ts";
import { createGraphRunner } from "../../src/inference/engine/graph-runner.ts";
import type { ModelConfig } from "../../src/inference/architectures/config.ts";
import { loraProjections } from "../../src/inference/architectures/parameters.ts";
import { matMulRate, memoryRate } from "./limits.ts";
import { productsAlone } from "./products-alone.ts";
import { runBench, type BenchOptions } from "./run-bench.ts";
import { batchSizes, bestDecodeMs, bestOf, bestPrefillMs, contextCount } from "./runner-times.ts";
import { subjects, type Subject } from "./subjects.ts";

const help = `Usage: node dist/tools/bench/engine.js [flags]
Times decoding at batch sizes 1, 8 and 16 with a context of 256 tokens, and a prompt of 256 tokens. Measures a 135 M Llama with
random weights, and models/hone-tiny if present. Also prints the machine's limits, and for the 135 M model these ratios:
  decode   bytes of all weights in products, read once per step at batch 1, relative to the memory rate  target 0.80
  batch    tokens/s at batch 16 relative to tokens/s at batch 1                                          target 4.5
  products time of only a step's products with weights, relative to the whole step at batch 1            target 0.85
  prefill  FLOP/s of a prompt of 256 tokens relative to the rate of a plain MatMul                       target 0.45
FLOPs of a prompt: 2 per weight and token, plus 2 T² heads headSize per layer for attention, whose masked half does not count.
In the last layer, everything except keys, values and queries is computed for one token only; so is the output projection.`;

const targets = { decode: 0.8, batch: 4.5, products: 0.85, prefill: 0.45 } as const;

type BatchTimes = Record<(typeof batchSizes)[number], number>;

/** Times in milliseconds, each the best of all rounds. */
interface Times {
  readonly decodeMs: BatchTimes;
  /** Time that only the matrix products of a decode step take. */
  readonly productsMs: BatchTimes;
  prefillMs: number;
}

interface Limits {
  matMulFlopsPerSecond: number;
  memoryBytesPerSecond: number;
}

await runBench<Report>({ script: import.meta.url, help, measure: measureAll, textOf });

async function measureAll(options: BenchOptions): Promise<readonly Report[]> {
  const reports: Report[] = [];
  for await (const subject of subjects(options)) {
    const limits: Limits = { matMulFlopsPerSecond: 0, memoryBytesPerSecond: 0 };
    const times = await measure(subject, limits, options);
    reports.push(reportOf(subject, times, limits, options.threads));
  }
  return reports;
}

/** Measures one subject. Also measures the machine's limits in every round, and raises `limits` if they are better. */
async function measure(subject: Subject, limits: Limits, { rounds, threads }: BenchOptions): Promise<Times> {
  const { config, weights, forms } = subject;
  const runner = await createGraphRunner({ config, weights, forms, threads, adapterCountMax: 1 });
  const products = await productsAlone(subject, threads);
  const unmeasured = (): BatchTimes => ({ 1: Infinity, 8: Infinity, 16: Infinity });
  const times: Times = { decodeMs: unmeasured(), productsMs: unmeasured(), prefillMs: Infinity };
  for (let round = 0; round < rounds; round++) {
    const flops = await matMulRate({ threads, seconds: 0.3 });
    limits.matMulFlopsPerSecond = Math.max(limits.matMulFlopsPerSecond, flops);
    limits.memoryBytesPerSecond = Math.max(
      limits.memoryBytesPerSecond,
      await memoryRate({ threads, seconds: 0.3 }),
    );
    for (const size of batchSizes) {
      times.decodeMs[size] = Math.min(times.decodeMs[size], await bestDecodeMs(runner, size));
      times.productsMs[size] = Math.min(times.productsMs[size], await bestOf(8, () => products.run(size)));
    }
    times.prefillMs = Math.min(times.prefillMs, await bestPrefillMs(runner));
  }
  await runner.close();
  await products.release();
  return times;
}

/**
 * Counts the weights in matrix products for three groups: the layers, the output projection, and `lastRowOnly`, the
 * part of the last layer that is computed only for a prompt's last token.
 */
function weightCounts(config: ModelConfig): { layers: number; lastRowOnly: number; output: number } {
  const count = (names: Parameters<typeof loraProjections>[1]): number =>
    loraProjections(config, names).reduce(
      (sum, { inputSize, outputSize }) => sum + inputSize * outputSize,
      0,
    );
  const queriesKeysValues = count(["q_proj", "k_proj", "v_proj"]);
  const layers = count(projectionNames);
  return {
    layers,
    lastRowOnly: (layers - queriesKeysValues) / config.layers.length,
    output: config.vocabularySize * config.width,
  };
}

function prefillFlops(config: ModelConfig): number {
  const { layers, lastRowOnly, output } = weightCounts(config);
  const attention = 2 * contextCount ** 2 * config.headCount * config.headSize * config.layers.length;
  return 2 * (layers - lastRowOnly) * contextCount + 2 * (lastRowOnly + output) + attention;
}

type Report = ReturnType<typeof reportOf>;

function reportOf({ name, config }: Subject, times: Times, limits: Limits, threads: number) {
  const { layers, output } = weightCounts(config);
  const weightBytesPerSecond = (4 * (layers + output)) / (times.decodeMs[1] / 1000);
  const prefillFlopsPerSecond = prefillFlops(config) / (times.prefillMs / 1000);
  const tokensPerSecond = (size: (typeof batchSizes)[number]): number => (size * 1000) / times.decodeMs[size];
  return {
    name,
    threads,
    decodeTokensPerSecond: { 1: tokensPerSecond(1), 8: tokensPerSecond(8), 16: tokensPerSecond(16) },
    decodeMs: times.decodeMs,
    productsMs: times.productsMs,
    prefillTokensPerSecond: (contextCount * 1000) / times.prefillMs,
    prefillMs: times.prefillMs,
    ...limits,
    weightBytesPerSecond,
    prefillFlopsPerSecond,
    ratios: {
      decode: weightBytesPerSecond / limits.memoryBytesPerSecond,
      batch: tokensPerSecond(16) / tokensPerSecond(1),
      products: times.productsMs[1] / times.decodeMs[1],
      prefill: prefillFlopsPerSecond / limits.matMulFlopsPerSecond,
    },
    targets,
  };
}

function textOf(report: Report): string {
  const { decodeTokensPerSecond: decode, decodeMs, productsMs, ratios } = report;
  const whole = (value: number): string => value.toFixed(0);
  return [
    `${report.name}, ${report.threads} threads, context ${contextCount}`,
    ...batchSizes.map(
      (size) =>
        `  decode batch ${size}: ${whole(decode[size])} tokens/s (${decodeMs[size].toFixed(2)} ms, ` +
        `${productsMs[size].toFixed(2)} for only its products)`,
    ),
    `  prefill: ${whole(report.prefillTokensPerSecond)} tokens/s (${report.prefillMs.toFixed(1)} ms)`,
    `  limits: MatMul ${whole(report.matMulFlopsPerSecond / 1e9)} GFLOP/s, memory ${(report.memoryBytesPerSecond / 1e9).toFixed(1)} GB/s`,
    `  decode ${ratios.decode.toFixed(2)} of the memory rate (target ${targets.decode}), ` +
      `batch 16 relative to 1 ${ratios.batch.toFixed(2)} (target ${targets.batch}), ` +
      `products ${ratios.products.toFixed(2)} of a step (target ${targets.products}), ` +
      `prefill ${ratios.prefill.toFixed(2)} of MatMul (target ${targets.prefill})`,
  ].join("\n");
}
