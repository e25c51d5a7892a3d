// Measures two effects of drafts by prompt lookup: how much time they save if an answer copies text from its prompt,
// and how much they cost if it does not. The same requests run through the engine's loop in this process in turn with
// and without drafts. Needs a real model, since the model decides which text an answer copies.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../src/base/domain/clock.ts";
import type { GenerationEvent, GenerationRequest } from "../../src/base/domain/generation.ts";
import { plainSampling } from "../../src/base/domain/sampling.ts";
import { PromptDrafter } from "../../src/inference/engine/drafts/prompt-drafter.ts";
import { createGraphRunner } from "../../src/inference/engine/graph-runner.ts";
import { EngineLoop } from "../../src/inference/engine/loop/engine-loop.ts";
import type { ModelRunner } from "../../src/inference/engine/model-runner.ts";
import { engineSettings } from "../../src/inference/engine/settings.ts";
import { ensureGgufFolder } from "../../src/lib/model-files/gguf/gguf-model.ts";
import { readModelConfig } from "../../src/inference/architectures/config/read-config.ts";
import { readQuantizedWeights } from "../../src/inference/architectures/weights.ts";
import { type Tokenizer, loadTokenizer } from "../../src/lib/tokenizer/tokenizer.ts";
import { draftTexts, type DraftText } from "./draft-texts.ts";
import { median } from "./median.ts";
import { runBench, type BenchOptions } from "./run-bench.ts";
import { draftedStepCosts } from "./runner-times.ts";
import { integerKernels } from "../../src/inference/onnx/integer-kernels.ts";

const settings = engineSettings.with();
const answerLength = 128;
/** Numbers of drafted tokens for which the step time is reported. */
const draftCounts = [1, 2, 3, 4, 5, 6, 7] as const;

const help = `Usage: node dist/tools/bench/drafts.js --model <path> [flags]
Measures two things. First, the time of a one-row step by number of drafted tokens, relative to a step without drafts. Second,
the speed of answers with at most ${answerLength} tokens, with drafts (at most ${settings.draftTokensMax} per row and step) and without, for answers that
copy from their prompt and answers that do not: greedy, sampled, and two concurrently. Answers must be equal with and without
drafts. Prints the median of the per-round ratios, the tokens per row and step, and how many drafted tokens were accepted.
The model must use SmolLM2's chat format.`;

interface StepReport {
  readonly name: string;
  /** Duration of a step divided by that of a step without drafts, by the number of drafted tokens. */
  readonly costs: ReadonlyMap<number, number>;
}

interface TextReport {
  readonly name: string;
  readonly tokensPerSecond: number;
  readonly plainTokensPerSecond: number;
  readonly ratio: number;
  readonly tokensPerStep: number;
  readonly draftedTokens: number;
  readonly acceptedTokens: number;
}

await runBench<StepReport | TextReport>({
  script: import.meta.url,
  help,
  measure: async (options) => {
    const cacheFolder = mkdtempSync(join(tmpdir(), "hone-bench-"));
    try {
      const { runner, tokenizer } = await openModel(options, cacheFolder);
      const costs = await draftedStepCosts(runner, draftCounts, 5 * options.rounds);
      const texts = await measureTexts(runner, tokenizer, options);
      await runner.close();
      return [{ name: "a step with drafts", costs }, ...texts];
    } finally {
      rmSync(cacheFolder, { recursive: true });
    }
  },
  textOf: (report) => ("costs" in report ? textOfSteps(report) : textOfAnswers(report)),
});

function textOfSteps({ name, costs }: StepReport): string {
  return `${name}, relative to one without: ${[...costs].map(([count, cost]) => `${count}: ${cost.toFixed(2)}`).join(", ")}`;
}

function textOfAnswers(report: TextReport): string {
  const { name, ratio, tokensPerSecond, plainTokensPerSecond } = report;
  const { tokensPerStep, draftedTokens, acceptedTokens } = report;
  return (
    `${name.padEnd(46)} ratio ${ratio.toFixed(2)} (${tokensPerSecond.toFixed(0)} tokens/s, ${plainTokensPerSecond.toFixed(0)} without), ` +
    `${tokensPerStep.toFixed(2)} tokens per step; ${acceptedTokens} of ${draftedTokens} drafted tokens accepted`
  );
}

async function openModel({ model, quantize, threads }: BenchOptions, cacheFolder: string) {
  assert.ok(model !== null, "--model is required");
  const folder = statSync(model).isFile() ? ensureGgufFolder(model, cacheFolder) : model;
  const config = readModelConfig(folder);
  const quantization = quantize ?? "off";
  const { sources: weights, forms } = readQuantizedWeights(folder, config, {
    cacheFolder,
    quantization,
    kernels: await integerKernels(cacheFolder),
  });
  const runner = await createGraphRunner({ config, weights, forms, threads, adapterCountMax: 0 });
  return { runner, tokenizer: await loadTokenizer(folder) };
}

async function measureTexts(
  runner: ModelRunner,
  tokenizer: Tokenizer,
  { rounds }: BenchOptions,
): Promise<readonly TextReport[]> {
  // One drafter serves all requests, as in a server, because it learns from each request how long steps take.
  const drafter = new PromptDrafter(settings.draftTokensMax);
  const kinds = [
    { what: "greedy", temperature: 0, streams: 1 },
    { what: "at 0.7", temperature: 0.7, streams: 1 },
    { what: "greedy, two concurrently", temperature: 0, streams: 2 },
  ];
  const reports: TextReport[] = [];
  for (const text of draftTexts)
    for (const { what, temperature, streams } of kinds) {
      const requests = Array.from({ length: streams }, (_, index) =>
        requestOf({ ...text, seed: index }, tokenizer, temperature),
      );
      reports.push(await measure(`${text.name}, ${what}`, { runner, drafter, requests, rounds }));
    }
  return reports;
}

function requestOf(
  { question, beginning, seed }: DraftText & { readonly seed: number },
  tokenizer: Tokenizer,
  temperature: number,
): GenerationRequest {
  const prompt = `<|im_start|>user\n${question}<|im_end|>\n<|im_start|>assistant\n${beginning}`;
  return {
    id: `${seed}`,
    prompt: { tokenIds: tokenizer.encode(prompt, { addSpecialTokens: false }), adapter: null },
    sampling: { ...plainSampling, temperature, topP: 0.95, seed },
    constraint: null,
    stopping: { maxTokens: answerLength, minTokens: 0, stopTokenIds: [tokenizer.endOfTextId ?? -1] },
    outputs: { topLogprobCount: 0, promptLogprobCount: null },
    choices: { kind: "sample", count: 1 },
    priority: 0,
    cacheOwner: "",
    cacheSalt: null,
  };
}

interface Run {
  readonly ms: number;
  /** For each request, its tokens with their log-probabilities. */
  readonly answers: readonly (readonly unknown[])[];
  readonly stepCount: number;
  readonly drafted: number;
  readonly accepted: number;
}

async function measure(
  name: string,
  {
    runner,
    drafter,
    requests,
    rounds,
  }: {
    readonly runner: ModelRunner;
    readonly drafter: PromptDrafter;
    readonly requests: readonly GenerationRequest[];
    readonly rounds: number;
  },
): Promise<TextReport> {
  const pairs: { readonly drafting: Run; readonly plain: Run }[] = [];
  for (let round = 0; round < rounds; round++) {
    const isFirst = round % 2 === 0;
    const first = await run(runner, requests, isFirst ? drafter : undefined);
    const second = await run(runner, requests, isFirst ? undefined : drafter);
    const pair = isFirst ? { drafting: first, plain: second } : { drafting: second, plain: first };
    assert.deepEqual(pair.drafting.answers, pair.plain.answers, `${name}: answers are the same with drafts`);
    pairs.push(pair);
  }
  const [{ drafting, plain }] = pairs.slice(-1);
  const tokenCount = plain.answers.flat().length;
  const best = (runs: readonly Run[]): number => (1000 * tokenCount) / Math.min(...runs.map(({ ms }) => ms));
  return {
    name,
    tokensPerSecond: best(pairs.map((pair) => pair.drafting)),
    plainTokensPerSecond: best(pairs.map((pair) => pair.plain)),
    ratio: median(pairs.map((pair) => pair.plain.ms / pair.drafting.ms)),
    tokensPerStep: plain.stepCount / drafting.stepCount,
    draftedTokens: drafting.drafted,
    acceptedTokens: drafting.accepted,
  };
}

/** Runs the requests and measures only decoding: the time starts once every answer has its first token. */
async function run(
  runner: ModelRunner,
  requests: readonly GenerationRequest[],
  drafter: PromptDrafter | undefined,
): Promise<Run> {
  const limits = { ...settings, kvCacheBytesMax: 2 ** 30, prefixCachePercent: 0 };
  const loop = new EngineLoop(runner, { ...limits, drafter });
  const answers = requests.map((request) => {
    const tokens: unknown[] = [];
    loop.submit(request, {
      push: (event: GenerationEvent) => {
        if (event.kind === "tokens") tokens.push(...event.tokens);
      },
      fail: (error) => {
        throw error;
      },
    });
    return tokens;
  });
  while (answers.some((tokens) => tokens.length === 0)) await loop.step();
  const startMs = systemClock.monotonicMs();
  let stepCount = 0;
  for (; loop.hasWork; stepCount++) await loop.step();
  const { tokens: drafted, accepted } = loop.draftCounts;
  return { ms: systemClock.monotonicMs() - startMs, answers, stepCount, drafted, accepted };
}
