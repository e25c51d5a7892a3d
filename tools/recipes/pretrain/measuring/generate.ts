// Answers many prompts in one batch. Runs the engine's loop in this process, so that the measurement uses the code that
// serves requests. Works on token ids only.
import type { GenerationEvent, GenerationRequest } from "../../../../src/base/domain/generation.ts";
import { plainSampling } from "../../../../src/base/domain/sampling.ts";
import { createGraphRunner } from "../../../../src/inference/engine/graph-runner.ts";
import { EngineLoop } from "../../../../src/inference/engine/loop/engine-loop.ts";
import type { ModelRunner } from "../../../../src/inference/engine/model-runner.ts";
import type { ModelConfig } from "../../../../src/inference/architectures/config.ts";
import type { WeightSource } from "../../../../src/lib/graph/weight-source.ts";

export interface GenerateOptions {
  readonly tokenCountMax: number;
  /** Sampling temperature; 0 is greedy. */
  readonly temperature: number;
  /** Seed; the same seed gives the same answers to the same prompts. */
  readonly seed: number;
}

export interface Generator {
  /** Returns the tokens of each answer in the order of the prompts, without the token that ended the answer. */
  generate(
    prompts: readonly (readonly number[])[],
    options: GenerateOptions,
  ): Promise<readonly (readonly number[])[]>;
  close(): Promise<void>;
}

const limits = {
  slotCountMax: 64,
  kvCacheBytesMax: 2 ** 30,
  tokensPerStepMax: 4096,
  promptChunkTokens: 4096,
  prefixCachePercent: 0,
} as const;

export async function createGenerator(
  config: ModelConfig,
  weights: ReadonlyMap<string, WeightSource>,
  { threads }: { readonly threads: number },
): Promise<Generator> {
  const runner = await createGraphRunner({ config, weights, threads, adapterCountMax: 1 });
  return {
    generate: (prompts, options) => answer(runner, config.endOfTextIds, prompts, options),
    close: () => runner.close(),
  };
}

async function answer(
  runner: ModelRunner,
  stopTokenIds: readonly number[],
  prompts: readonly (readonly number[])[],
  { tokenCountMax, temperature, seed }: GenerateOptions,
): Promise<readonly (readonly number[])[]> {
  const answers = prompts.map((): number[] => []);
  const loop = new EngineLoop(runner, limits);
  for (const [index, tokenIds] of prompts.entries()) {
    const output = {
      push: (event: GenerationEvent) => {
        if (event.kind === "tokens") answers[index].push(...event.tokens.map(({ id }) => id));
      },
      fail: (error: Error) => {
        throw error;
      },
    };
    const request: GenerationRequest = {
      id: `prompt ${index}`,
      prompt: { tokenIds, adapter: null },
      sampling: { ...plainSampling, temperature, seed: seed * prompts.length + index },
      constraint: null,
      stopping: { maxTokens: tokenCountMax, minTokens: 0, stopTokenIds },
      outputs: { topLogprobCount: null, promptLogprobCount: null },
      choices: { kind: "sample", count: 1 },
      priority: 0,
      cacheOwner: "",
      cacheSalt: null,
    };
    loop.submit(request, output);
  }
  while (loop.hasWork) await loop.step();
  return answers.map((tokens) => tokens.filter((id) => !stopTokenIds.includes(id)));
}
