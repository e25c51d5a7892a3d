// Measures the speed of the engine's whole loop: scheduler, runner, sampler and adapter together. The child process and
// HTTP are excluded.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { plainSampling } from "../../src/base/domain/sampling.ts";
import type { AdapterReference, GenerationRequest } from "../../src/base/domain/generation.ts";
import { createGraphRunner } from "../../src/inference/engine/graph-runner.ts";
import { createLoraAdapter } from "../../src/inference/architectures/lora.ts";
import { writeLoraAdapter } from "../../src/inference/architectures/peft-folder.ts";
import { median } from "./median.ts";
import { runBench, type BenchOptions } from "./run-bench.ts";
import { loopTokensPerSecond } from "./run-loop.ts";
import { subjects, type Subject } from "./subjects.ts";

const help = `Usage: node dist/tools/bench/loop.js [flags]
Times the engine's loop in this process with 1, 8, 16 and 64 concurrent requests, each with a prompt of 64 tokens and an answer
of 64 tokens (135 M: 16). "Greedy" is the plain base model. "Sampled" adds temperature, top-p, five log-probabilities and a LoRA
adapter of rank 8, followed by the median of the per-round ratios of sampled to greedy. Rates are the tokens of all answers
divided by the time from the first request to the last token. "Short answers" have one greedy token for a prompt of 96 tokens,
with 64 concurrent requests; when one ends, the next starts.`;

const batchSizes = [1, 8, 16, 64] as const;
const promptLength = 64;
const answerLengths = { tiny: 64, "135m": 16 } as const;
const shortAnswers = { streams: 64, promptLength: 96, requests: { tiny: 512, "135m": 128 } } as const;

type Rates = Record<(typeof batchSizes)[number], number>;

interface LoopReport {
  readonly name: string;
  readonly greedyTokensPerSecond: Rates;
  readonly sampledTokensPerSecond: Rates;
  /** Median of the per-round ratios. */
  readonly sampledOverGreedy: Rates;
  readonly shortAnswersPerSecond: number;
}

await runBench<LoopReport>({
  script: import.meta.url,
  help,
  measure: async (options) => {
    const reports: LoopReport[] = [];
    for await (const subject of subjects(options)) reports.push(await measureSubject(subject, options));
    return reports;
  },
  textOf: ({
    name,
    greedyTokensPerSecond,
    sampledTokensPerSecond,
    sampledOverGreedy,
    shortAnswersPerSecond,
  }) =>
    [
      `${name}, the engine's loop, tokens/s`,
      ...batchSizes.map(
        (size) =>
          `  ${size} concurrent: greedy ${greedyTokensPerSecond[size].toFixed(0)}, ` +
          `sampled with an adapter ${sampledTokensPerSecond[size].toFixed(0)}, ratio ${sampledOverGreedy[size].toFixed(2)}`,
      ),
      `  ${shortAnswers.streams} concurrent: short answers ${shortAnswersPerSecond.toFixed(0)}`,
    ].join("\n"),
});

async function measureSubject(subject: Subject, { rounds, threads }: BenchOptions): Promise<LoopReport> {
  const { name, config, weights, forms } = subject;
  const folder = mkdtempSync(join(tmpdir(), "hone-bench-"));
  const runner = await createGraphRunner({ config, weights, forms, threads, adapterCountMax: 1 });
  const report = {
    name,
    greedyTokensPerSecond: { 1: 0, 8: 0, 16: 0, 64: 0 },
    sampledTokensPerSecond: { 1: 0, 8: 0, 16: 0, 64: 0 },
    sampledOverGreedy: { 1: 0, 8: 0, 16: 0, 64: 0 },
    shortAnswersPerSecond: 0,
  };
  try {
    writeLoraAdapter(folder, createLoraAdapter(config, { rank: 8, seed: 1 }), {
      config,
      baseModelName: name,
    });
    const adapter = { id: "bench:1", folder };
    const rate = (count: number, adapter: AdapterReference | null): Promise<number> =>
      loopTokensPerSecond(runner, requestsOf(subject, count, adapter), count, threads);
    // Warms up, because the first use of each input shape creates a session. Later parts of a prompt have other shapes,
    // and so have several prompts at the same time.
    for (const used of [null, adapter])
      for (const count of [2, 1]) {
        const long = requestsOf(subject, count, used, { prompt: 600, answer: 2 });
        await loopTokensPerSecond(runner, long, count, threads);
      }
    const ratios: Record<(typeof batchSizes)[number], number[]> = { 1: [], 8: [], 16: [], 64: [] };
    for (let round = 0; round < rounds; round++) {
      for (const size of batchSizes) {
        const { greedyTokensPerSecond: greedy, sampledTokensPerSecond: sampled } = report;
        const plain = await rate(size, null);
        const other = await rate(size, adapter);
        greedy[size] = Math.max(greedy[size], plain);
        sampled[size] = Math.max(sampled[size], other);
        ratios[size].push(other / plain);
        report.sampledOverGreedy[size] = median(ratios[size]);
      }
      const lengths = { prompt: shortAnswers.promptLength, answer: 1 };
      const short = requestsOf(subject, shortAnswers.requests[subject.size], null, lengths);
      report.shortAnswersPerSecond = Math.max(
        report.shortAnswersPerSecond,
        await loopTokensPerSecond(runner, short, shortAnswers.streams, threads),
      );
    }
  } finally {
    await runner.close();
    rmSync(folder, { recursive: true, force: true });
  }
  return report;
}

function requestsOf(
  { config, size }: Subject,
  count: number,
  adapter: AdapterReference | null,
  lengths: { readonly prompt: number; readonly answer: number } = {
    prompt: promptLength,
    answer: answerLengths[size],
  },
): readonly GenerationRequest[] {
  const sampling = adapter === null ? { temperature: 0 } : { temperature: 0.8, topP: 0.95 };
  return Array.from({ length: count }, (_, index) => ({
    id: `request ${index}`,
    prompt: {
      tokenIds: Array.from(
        { length: lengths.prompt },
        (_, place) => (31 * index + 7 * place) % config.vocabularySize,
      ),
      adapter,
    },
    sampling: { ...plainSampling, ...sampling, seed: index },
    constraint: null,
    stopping: { maxTokens: lengths.answer, minTokens: 0, stopTokenIds: [] },
    outputs: { topLogprobCount: adapter === null ? null : 5, promptLogprobCount: null },
    choices: { kind: "sample", count: 1 },
    priority: 0,
    cacheOwner: "",
    cacheSalt: null,
  }));
}
