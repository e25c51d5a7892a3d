// The models that the benchmarks measure: a Llama with 135 million random weights, and the built-in model if it is
// present.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { ensureGgufFolder } from "../../src/lib/model-files/gguf/gguf-model.ts";
import type { ModelConfig } from "../../src/inference/architectures/config.ts";
import { readModelConfig } from "../../src/inference/architectures/config/read-config.ts";
import {
  createRandomWeights,
  writeModelWeights,
} from "../../src/inference/architectures/testing/random-weights.ts";
import type { WeightSource } from "../../src/lib/graph/weight-source.ts";
import type { FormChoice } from "../../src/inference/architectures/quantized/choose-forms.ts";
import type { WeightForms } from "../../src/inference/architectures/quantized/weight-forms.ts";
import {
  type ModelWeights,
  readModelWeights,
  readQuantizedWeights,
} from "../../src/inference/architectures/weights.ts";
import { weightsInMemory } from "../../src/inference/architectures/testing/weights-in-memory.ts";
import { integerKernels } from "../../src/inference/onnx/integer-kernels.ts";
import { llama135m } from "./llama-135m.ts";
import { type BenchOptions, ownFolder } from "./run-bench.ts";

export interface Subject {
  readonly name: string;
  readonly size: "tiny" | "135m";
  readonly config: ModelConfig;
  readonly weights: ReadonlyMap<string, WeightSource>;
  /** Storage form of each weight; float32 by default. */
  readonly forms?: WeightForms;
}

/** Yields the subjects. If `--model` is given, its model replaces the one with random weights. */
export async function* subjects({
  only,
  quantize,
  model = null,
}: Pick<BenchOptions, "only" | "quantize"> & Partial<Pick<BenchOptions, "model">>): AsyncGenerator<Subject> {
  const kernels = await integerKernels(null);
  if (only !== "tiny" && model !== null)
    yield modelOfFile(model, { quantization: quantize ?? "off", kernels });
  else if (only !== "tiny") {
    const config = llama135m();
    const random = createRandomWeights(config, { seed: 1 });
    if (quantize === null)
      yield { name: "llama-135m (random)", size: "135m", config, weights: weightsInMemory(config, random) };
    else {
      const { sources: weights, forms } = quantizedInMemory(config, random, {
        quantization: quantize,
        kernels,
      });
      yield { name: `llama-135m (random, ${quantize} bits)`, size: "135m", config, weights, forms };
    }
  }
  const folder = join(ownFolder, "models", "hone-tiny");
  if (only !== "135m" && existsSync(folder)) {
    const config = readModelConfig(folder);
    const weights = readModelWeights(folder, config, { cacheFolder: null });
    yield { name: "hone-tiny", size: "tiny", config, weights };
  }
}

/** Opens a GGUF file as a subject. Deletes the files derived from its weights when the process exits. */
function modelOfFile(file: string, choice: FormChoice): Subject {
  const cacheFolder = mkdtempSync(join(tmpdir(), "hone-bench-"));
  process.once("exit", () => rmSync(cacheFolder, { recursive: true, force: true }));
  const folder = ensureGgufFolder(file, cacheFolder);
  const config = readModelConfig(folder);
  const { sources: weights, forms } = readQuantizedWeights(folder, config, { cacheFolder, ...choice });
  return { name: `${basename(file)} (${choice.quantization})`, size: "135m", config, weights, forms };
}

/** Quantizes the weights in the same way as those of a model folder. */
function quantizedInMemory(
  config: ModelConfig,
  weights: ReadonlyMap<string, Float32Array>,
  choice: FormChoice,
): ModelWeights {
  const folder = mkdtempSync(join(tmpdir(), "hone-bench-"));
  try {
    writeModelWeights(folder, config, { weights, type: "F32" });
    return readQuantizedWeights(folder, config, { cacheFolder: null, ...choice });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
