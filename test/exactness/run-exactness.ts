// Checks that requests get the same answer, bit for bit, in every mode of the engine.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { AdapterReference, GenerationRequest } from "../../src/base/domain/generation.ts";
import type { Quantization } from "../../src/base/domain/model.ts";
import { BlockSession } from "../../src/inference/engine/logits/blocks/block-session.ts";
import { createGraphRunner } from "../../src/inference/engine/graph-runner.ts";
import type { ModelConfig } from "../../src/inference/architectures/config.ts";
import { readModelConfig } from "../../src/inference/architectures/config/read-config.ts";
import { writeLoraAdapter } from "../../src/inference/architectures/peft-folder.ts";
import { createRandomAdapter } from "../../src/inference/architectures/testing/random-adapter.ts";
import { readQuantizedWeights } from "../../src/inference/architectures/weights.ts";
import { ensureGgufFolder } from "../../src/lib/model-files/gguf/gguf-model.ts";
import { exactRequests, requirePromptRoom } from "./exact-requests.ts";
import { alone, modes, type Mode } from "./modes.ts";
import { runMode, type Answer } from "./run-mode.ts";
import { integerKernels } from "../../src/inference/onnx/integer-kernels.ts";

/** Precisions for serving, as values of `--quantize`. */
export const precisions = ["off", "8", "4"] as const satisfies readonly Quantization[];

export interface ExactnessOptions {
  /** Model folder or GGUF file. */
  readonly model: string;
  readonly precision: Quantization;
  readonly count: number;
  readonly seed: number;
  readonly threads: number;
  /** Maximum length of a prompt in tokens: at least 40, and with an answer at most the context length. */
  readonly promptLengthMax: number;
  /** Runs only modes whose names contain this text; all if absent. */
  readonly only?: string;
}

export interface ExactnessReport {
  readonly precision: Quantization;
  readonly mode: string;
  readonly requestCount: number;
  readonly equalCount: number;
  readonly tokenCount: number;
  readonly stepCount: number;
  readonly keptCount: number;
  readonly draftedCount: number;
  readonly heldBytes: number;
  /** Indices of the requests whose answers differ. */
  readonly differing: readonly number[];
}

/** Adapter ranks: one below and one above the rank at which the form of an adapter's matrices changes. */
const adapterRanks = [4, 40];

/**
 * Sends all requests in every mode, one mode after the other. Yields the report of a mode as soon as it is complete.
 */
export async function* checkExactness(options: ExactnessOptions): AsyncGenerator<ExactnessReport, void> {
  const { model, precision, count, seed, threads, promptLengthMax, only = "" } = options;
  const folder = mkdtempSync(join(tmpdir(), "hone-exact-"));
  const modelFolder = model.endsWith(".gguf") ? ensureGgufFolder(model, folder) : model;
  const config = readModelConfig(modelFolder);
  requirePromptRoom(promptLengthMax, config.contextLength);
  const read = { cacheFolder: folder, quantization: precision, kernels: await integerKernels(null) };
  const { sources: weights, forms } = readQuantizedWeights(modelFolder, config, read);
  const runner = await createGraphRunner({ config, weights, forms, threads, adapterCountMax: 2 });
  const blocks = await BlockSession.open(config.vocabularySize, threads);
  try {
    const adapters = adapterRanks.map((rank) => writtenAdapter(join(folder, `rank ${rank}`), config, rank));
    const { vocabularySize } = config;
    const requests = exactRequests(seed, count, { vocabularySize, adapters, promptLengthMax });
    const tokens = new Map<GenerationRequest, readonly (readonly number[])[]>();
    const known = { vocabularySize, answersOf: (request: GenerationRequest) => tokens.get(request) ?? [] };
    const compute = (mode: Mode) => runMode({ runner, blocks, adapters, known }, mode, requests);
    const { answers: expected } = await compute(alone);
    for (const [index, { choices }] of expected.entries())
      tokens.set(
        requests[index],
        choices.map(([ids]) => ids),
      );
    for (const mode of modes.filter(({ name }) => name.includes(only))) {
      const { answers, ...counts } = await compute(mode);
      const differing = [...answers.keys()].filter((index) => !isSame(answers[index], expected[index]));
      const equalCount = count - differing.length;
      const tokenCount = answers.reduce((sum, answer) => sum + tokensOf(answer), 0);
      yield { precision, mode: mode.name, requestCount: count, equalCount, tokenCount, ...counts, differing };
    }
  } finally {
    await blocks?.close();
    await runner.close();
    rmSync(folder, { recursive: true });
  }
}

/** True for equal answers; a failed request never counts as equal. */
function isSame(answer: Answer, expected: Answer): boolean {
  return answer.failure === null && isDeepStrictEqual(answer, expected);
}

function tokensOf({ choices }: Answer): number {
  return choices.reduce((sum, [ids]) => sum + ids.length, 0);
}

function writtenAdapter(folder: string, config: ModelConfig, rank: number): AdapterReference {
  const adapter = createRandomAdapter(config, { rank, seed: rank, bound: 0.05 });
  writeLoraAdapter(folder, adapter, { config, baseModelName: "exact" });
  return { id: `rank ${rank}`, folder };
}
