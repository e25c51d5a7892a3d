// Measures a LoRA gradient step: its speed, its memory, and its rate relative to a plain matrix product on the same
// machine. Each side, such as PyTorch, runs in a separate process (step-process.ts). The sides take turns and the best
// step of each counts, so that a busy machine hardly changes the ratios.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { basePrecisions } from "../../src/base/domain/trainer/base-precision.ts";
import { projectionNames } from "../../src/base/domain/model.ts";
import { parseModelConfig, readModelConfig } from "../../src/inference/architectures/config/read-config.ts";
import type { ModelConfig } from "../../src/inference/architectures/config.ts";
import { loraProjections, modelParameters } from "../../src/inference/architectures/parameters.ts";
import {
  createRandomWeights,
  writeModelWeights,
} from "../../src/inference/architectures/testing/random-weights.ts";
import { computeEnvironment } from "../../src/inference/onnx/environment.ts";
import { matMulRate } from "./limits.ts";
import { llama135mFile } from "./llama-135m.ts";
import { type BenchOptions, measureEach, ownFolder, runBench } from "./run-bench.ts";
import { type StepJob, StepProcess, readModelFile } from "./step-process.ts";

const help = `Usage: node dist/tools/bench/train-step.js [flags]
Times LoRA steps (rank 8, all seven projections): 4 rows of 128 tokens, 1 of 2,048 and 1 of 4,096 with a 135 M Llama of random
weights, and 16 rows of 128 tokens with models/hone-tiny. Prints tokens/s, the peak memory of the process, and FLOP/s relative to
the rate of a plain MatMul.

Each shape is timed with base weights in float32 and in 8 bits (base_precision int8), alternating, and the two are compared.

With --against-pytorch, PyTorch 2 with PEFT takes the same steps (tools/conformance/python/train_step.py), except those of 4,096
tokens, and the two are compared. Hone's side runs in the environment that the server sets for its child processes. The Python
interpreter needs the packages in tools/conformance/python/requirements-train-step.txt.

FLOPs, with P weights in products and N tokens, where all tokens but the first of each row are trained on:
  forward 2PN, gradient of inputs 2PN (frozen weights need no gradient);
  LoRA 6 rank (in + out) N per projection (forward, and both gradients);
  attention 4 T² heads headSize per row and layer forward, twice that backward (the masked half is included).`;

const rank = 8;

interface Shape {
  readonly size: "tiny" | "135m";
  readonly rows: number;
  readonly length: number;
  /** True to run the step in PyTorch too; false for shapes that would take PyTorch a minute per step. */
  readonly isCompared: boolean;
}

const shapes: readonly Shape[] = [
  { size: "135m", rows: 4, length: 128, isCompared: true },
  { size: "tiny", rows: 16, length: 128, isCompared: true },
  { size: "135m", rows: 1, length: 2048, isCompared: true },
  { size: "135m", rows: 1, length: 4096, isCompared: false },
];

interface Side {
  readonly stepMs: number;
  readonly tokensPerSecond: number;
  readonly memoryGb: number;
}

interface Measurement extends Side {
  readonly name: string;
  readonly gflopPerSecond: number;
  readonly matMulGflopPerSecond: number;
  /** Rate divided by that of a plain matrix product. */
  readonly ratio: number;
  /** Figures with base weights in 8 bits. */
  readonly int8: Side;
  readonly pytorch: Side | null;
}

await runBench<Measurement>({
  script: import.meta.url,
  help,
  measure: async (options) => {
    const folder = mkdtempSync(join(tmpdir(), "train-step-"));
    try {
      return await measureEach(shapes, options, async (shape) => [
        await measure(shape, modelFolder(shape, folder), options),
      ]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
  textOf,
});

/** Returns the model folder of a shape; if missing, writes it with random weights. */
function modelFolder({ size }: Shape, folder: string): string {
  if (size === "tiny") return join(ownFolder, "models", "hone-tiny");
  const written = join(folder, size);
  if (mkdirSync(written, { recursive: true }) === undefined) return written;
  const file = { ...llama135mFile, max_position_embeddings: 4096 };
  writeFileSync(join(written, "config.json"), JSON.stringify(file));
  const config = parseModelConfig(file, {}, written);
  writeModelWeights(written, config, { weights: createRandomWeights(config, { seed: 1 }), type: "F32" });
  return written;
}

async function measure(
  shape: Shape,
  folder: string,
  { rounds, threads, pytorch }: BenchOptions,
): Promise<Measurement> {
  const { rows, length } = shape;
  const file = readModelFile(folder);
  const shared = { folder, config: file, rows, length, rank, targets: projectionNames, threads };
  const worker = fileURLToPath(new URL("./train-step-worker.js", import.meta.url));
  const script = join(ownFolder, "tools", "conformance", "python", "train_step.py");
  const jobs: readonly StepJob[] = basePrecisions.map((basePrecision) => ({ ...shared, basePrecision }));
  const sides = jobs.map((job) => new StepProcess([process.execPath, worker], job, computeEnvironment));
  if (pytorch !== null && shape.isCompared) sides.push(new StepProcess([pytorch, script], jobs[0]));
  for (const side of sides) await side.step();
  const best = sides.map(() => Infinity);
  let matMulFlopsPerSecond = 0;
  for (let round = 0; round < rounds; round++) {
    matMulFlopsPerSecond = Math.max(matMulFlopsPerSecond, await matMulRate({ threads, seconds: 0.3 }));
    for (const [index, side] of sides.entries()) best[index] = Math.min(best[index], await side.step());
  }
  const [own, int8, other] = await Promise.all(
    sides.map(async (side, index) => sideOf(best[index], await side.end(), shape)),
  );
  const gflopPerSecond = flopCount(readModelConfig(folder), shape) / own.stepMs / 1e6;
  const matMulGflopPerSecond = matMulFlopsPerSecond / 1e9;
  return {
    name: `${shape.size === "tiny" ? "hone-tiny" : "llama-135m (random)"}, ${rows} x ${length}`,
    ...own,
    gflopPerSecond,
    matMulGflopPerSecond,
    ratio: gflopPerSecond / matMulGflopPerSecond,
    int8,
    pytorch: other ?? null,
  };
}

function sideOf(stepMs: number, memoryBytes: number, { rows, length }: Shape): Side {
  return { stepMs, tokensPerSecond: (rows * length) / (stepMs / 1000), memoryGb: memoryBytes / 1e9 };
}

function flopCount(config: ModelConfig, { rows, length }: Shape): number {
  const tokenCount = rows * length;
  const trainedCount = rows * (length - 1);
  const projections = loraProjections(config, projectionNames);
  const layerWeights = projections.reduce(
    (sum, { inputSize, outputSize }) => sum + inputSize * outputSize,
    0,
  );
  const [embedding] = modelParameters(config);
  const outputWeights = embedding.shape[0] * embedding.shape[1];
  const adapterWeights = projections.reduce(
    (sum, { inputSize, outputSize }) => sum + rank * (inputSize + outputSize),
    0,
  );
  const attention =
    3 * 4 * length * length * config.headCount * config.headSize * rows * config.layers.length;
  return (
    4 * layerWeights * tokenCount +
    4 * outputWeights * trainedCount +
    6 * adapterWeights * tokenCount +
    attention
  );
}

function textOf(measurement: Measurement): string {
  const { name, stepMs, gflopPerSecond, matMulGflopPerSecond, ratio, int8, pytorch } = measurement;
  const rate = `${gflopPerSecond.toFixed(0)} GFLOP/s of ${matMulGflopPerSecond.toFixed(0)} (${ratio.toFixed(2)} of MatMul)`;
  const faster = (stepMs / int8.stepMs).toFixed(2);
  const own = `${name}: ${sideText(measurement)}; ${rate}\n  base in 8 bits: ${sideText(int8)}; ${faster} times as fast`;
  if (pytorch === null) return own;
  const speed = (measurement.tokensPerSecond / pytorch.tokensPerSecond).toFixed(2);
  const memory = (measurement.memoryGb / pytorch.memoryGb).toFixed(2);
  return `${own}\n  PyTorch: ${sideText(pytorch)}; ${speed} times its speed, ${memory} times its memory`;
}

function sideText({ stepMs, tokensPerSecond, memoryGb }: Side): string {
  return `${stepMs.toFixed(0)} ms, ${tokensPerSecond.toFixed(0)} tokens/s, ${memoryGb.toFixed(2)} GB`;
}
