// The models that the benchmarks measure: a Llama of 135 million random weights, and the built-in model where it is there.
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { ModelConfig } from "../src/model/config.ts";
import { readModelConfig } from "../src/model/config/read-config.ts";
import { createRandomWeights } from "../src/model/testing/random-weights.ts";
import type { WeightSource } from "../src/graph/weight-source.ts";
import { readModelWeights } from "../src/model/weights.ts";
import { weightsInMemory } from "../src/model/testing/weights-in-memory.ts";
import { llama135m } from "./llama-135m.ts";
import { type BenchOptions, ownFolder } from "./run-bench.ts";

export interface Subject {
  readonly name: string;
  readonly size: "tiny" | "135m";
  readonly config: ModelConfig;
  readonly weights: ReadonlyMap<string, WeightSource>;
}

export function* subjects({ only }: Pick<BenchOptions, "only">): Generator<Subject> {
  if (only !== "tiny") {
    const config = llama135m();
    const weights = weightsInMemory(config, createRandomWeights(config, { seed: 1 }));
    yield { name: "llama-135m (random)", size: "135m", config, weights };
  }
  const folder = join(ownFolder, "models", "hone-tiny");
  if (only !== "135m" && existsSync(folder)) {
    const config = readModelConfig(folder);
    const weights = readModelWeights(folder, config, { cacheFolder: null });
    yield { name: "hone-tiny", size: "tiny", config, weights };
  }
}
