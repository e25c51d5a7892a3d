// Checkpoints of pre-training: weights, optimizer moments and position, so that a resumed run continues exactly as if
// it had never stopped. A checkpoint's folder is renamed into place only once it is complete.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { present } from "../../../src/base/domain/assert.ts";
import type { ModelConfig } from "../../../src/inference/architectures/config.ts";
import { modelParameters } from "../../../src/inference/architectures/parameters.ts";
import { readSafetensorsHeader } from "../../../src/lib/model-files/safetensors.ts";
import { readFloats } from "../../../src/lib/model-files/stored-tensor.ts";
import { writeSafetensors } from "../../../src/lib/model-files/write-safetensors.ts";
import type { AdamWState } from "../../../src/train/trainer/adamw.ts";

/** Cost so far, summed over all pieces of a run. It does not influence the run. */
export interface Cost {
  readonly pieces: number;
  readonly wallSeconds: number;
  readonly processorSeconds: number;
  /** Peak memory of any piece, in bytes. */
  readonly memoryBytes: number;
}

/** Progress of a run. */
export interface Progress {
  readonly stepCount: number;
  readonly cost: Cost;
}

export interface Checkpoint {
  readonly weights: ReadonlyMap<string, Float32Array>;
  readonly optimizer: AdamWState;
  readonly progress: Progress;
}

/** Replaces `<folder>/checkpoint` by renaming a complete folder. */
export function writeCheckpoint(folder: string, config: ModelConfig, checkpoint: Checkpoint): void {
  const final = join(folder, "checkpoint");
  const partial = join(folder, "checkpoint.partial");
  const previous = join(folder, "checkpoint.previous");
  rmSync(partial, { recursive: true, force: true });
  mkdirSync(partial, { recursive: true });
  const write = (file: string, arrays: ReadonlyMap<string, Float32Array>): void =>
    writeSafetensors(
      join(partial, file),
      modelParameters(config).map(({ name, shape }) => ({
        name,
        shape,
        data: present(arrays.get(name), name),
      })),
      { type: "F32" },
    );
  write("weights.safetensors", checkpoint.weights);
  write("first-moments.safetensors", checkpoint.optimizer.firstMoments);
  write("second-moments.safetensors", checkpoint.optimizer.secondMoments);
  writeFileSync(join(partial, "progress.json"), `${JSON.stringify(checkpoint.progress, null, 2)}\n`);
  rmSync(previous, { recursive: true, force: true });
  if (existsSync(final)) renameSync(final, previous);
  renameSync(partial, final);
}

/** Returns the newest complete checkpoint; null if there is none. */
export function readCheckpoint(folder: string): Checkpoint | null {
  // After a crash between the two renames, only the previous checkpoint exists.
  const found = ["checkpoint", "checkpoint.previous"]
    .map((name) => join(folder, name))
    .find((path) => existsSync(path));
  if (found === undefined) return null;
  const read = (file: string): ReadonlyMap<string, Float32Array> =>
    new Map(
      [...readSafetensorsHeader(join(found, file)).tensors].map(([name, tensor]) => [
        name,
        readFloats(tensor),
      ]),
    );
  // Safe cast: writeCheckpoint above wrote the file.
  const progress = JSON.parse(readFileSync(join(found, "progress.json"), "utf8")) as Progress;
  return {
    weights: read("weights.safetensors"),
    optimizer: {
      stepCount: progress.stepCount,
      firstMoments: read("first-moments.safetensors"),
      secondMoments: read("second-moments.safetensors"),
    },
    progress,
  };
}
