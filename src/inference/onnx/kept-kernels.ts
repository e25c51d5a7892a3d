// Keeps the measurement of a processor's kernels from one start to the next. Loads no native code: the server reads it too.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { KernelMeasurement } from "../../base/domain/kernels/integer-kernels.ts";
import { processorKind } from "./processor-kind.ts";

/** Version of ONNX Runtime that is installed; a test compares. */
export const runtimeVersion = "1.30.0";

/** Changes whenever a measurement would find something else. */
const format = `hone-kernels-1 onnxruntime-${runtimeVersion}`;

/** Returns what was measured on a processor of this kind; null if that is not kept, or torn. */
export function readKeptKernels(cacheFolder: string): KernelMeasurement | null {
  try {
    // As `keepKernels` wrote it, under a name that says how.
    return JSON.parse(readFileSync(fileIn(cacheFolder), "utf8")) as KernelMeasurement;
  } catch {
    // Missing, or a part of one: it is measured again.
    return null;
  }
}

/** Keeps a measurement. Ignores failures, such as a full disk: the next start then measures again. */
export function keepKernels(cacheFolder: string, measurement: KernelMeasurement): void {
  const file = fileIn(cacheFolder);
  const partial = `${file}.${process.pid}.partial`;
  try {
    mkdirSync(cacheFolder, { recursive: true });
    writeFileSync(partial, JSON.stringify(measurement));
    renameSync(partial, file);
  } catch {
    // Nothing depends on it but the time that a start takes.
  }
}

function fileIn(cacheFolder: string): string {
  const key = createHash("sha256").update(JSON.stringify([format, processorKind()]));
  return join(cacheFolder, `kernels-${key.digest("hex").slice(0, 16)}.json`);
}
