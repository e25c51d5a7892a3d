// Training data for benchmarks of training steps: rows of random tokens for a given model folder. All tokens but the
// first of each row are trained on.
import { join } from "node:path";
import { dataFolderAt } from "../../src/store/artifacts/testing/data-folder.ts";
import { projectionNames } from "../../src/base/domain/model.ts";
import type { BasePrecision } from "../../src/base/domain/trainer/base-precision.ts";
import { seededRandom } from "../../src/base/domain/random.ts";
import { readModelConfig } from "../../src/inference/architectures/config/read-config.ts";
import { readModelWeights } from "../../src/inference/architectures/weights.ts";
import { EmbeddedTrainers } from "../../src/train/trainer/embedded/embedded-trainer.ts";
import { int8Base } from "../../src/train/trainer/embedded/load-trainers.ts";
import type { TrainingSequence } from "../../src/train/trainer/trainer.ts";
import { integerKernels } from "../../src/inference/onnx/integer-kernels.ts";

export interface RandomRows {
  readonly rows: number;
  /** Length of each row in tokens. */
  readonly length: number;
}

export function randomRows(
  { rows, length }: RandomRows,
  vocabularySize: number,
): readonly TrainingSequence[] {
  const random = seededRandom("rows of a benchmark");
  return Array.from({ length: rows }, (_, row) => ({
    tokenIds: Int32Array.from({ length }, () => random.index(vocabularySize)),
    mask: Uint8Array.from({ length }, (_each, index) => (index === 0 ? 0 : 1)),
    oldLogprobs: new Float32Array(length).fill(NaN),
    advantage: row % 2 === 0 ? 1 : -1,
    weight: 1,
    group: 0,
  }));
}

/** Returns trainers that compute all these rows in one batch and split no row. */
export async function benchTrainers(
  folder: string,
  { rows, length }: RandomRows,
  {
    rank,
    threads,
    basePrecision = "float32",
  }: { readonly rank: number; readonly threads: number; readonly basePrecision?: BasePrecision },
): Promise<EmbeddedTrainers> {
  const kernels = await integerKernels(null);
  const config = readModelConfig(folder);
  return new EmbeddedTrainers({
    config,
    ...(basePrecision === "int8"
      ? int8Base(folder, config, { cacheFolder: join(folder, ".cache"), kernels })
      : { readWeights: () => readModelWeights(folder, config, { cacheFolder: null }) }),
    lora: { rank, alpha: 16, targets: projectionNames },
    baseModelName: "bench",
    artifacts: dataFolderAt(".").artifacts,
    sequenceLengthMax: length,
    microbatchTokens: rows * length,
    sharesPrefixes: false,
    threads,
  });
}
