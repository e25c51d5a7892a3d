// Saves the measurement of a processor's kernels for later starts. This module loads no native code, because the server
// process also reads the measurement and must not load any.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { KernelMeasurement } from "../../base/domain/kernels/integer-kernels.ts";
import { processorKind } from "./processor-kind.ts";

/** Version of the installed ONNX Runtime. A test checks that it matches the package. */
export const runtimeVersion = "1.30.0";

/** Version of the saved measurements. Must change whenever a new measurement would give another result. */
const format = `hone-kernels-2 onnxruntime-${runtimeVersion}`;

/** Returns the saved measurement for this kind of processor; null if its file is missing or incomplete. */
export function readSavedKernels(cacheFolder: string): KernelMeasurement | null {
  try {
    // Safe cast: `saveKernels` wrote the file, and the file's name contains the format.
    return JSON.parse(readFileSync(fileIn(cacheFolder), "utf8")) as KernelMeasurement;
  } catch {
    // The file is missing or incomplete, so the caller measures again.
    return null;
  }
}

/** Saves a measurement. Ignores failures such as a full disk; the next start then measures again. */
export function saveKernels(cacheFolder: string, measurement: KernelMeasurement): void {
  const file = fileIn(cacheFolder);
  const partial = `${file}.${process.pid}.partial`;
  try {
    mkdirSync(cacheFolder, { recursive: true });
    writeFileSync(partial, JSON.stringify(measurement));
    renameSync(partial, file);
  } catch {
    // A failed write only makes the next start slower, so its error is ignored.
  }
}

function fileIn(cacheFolder: string): string {
  const key = createHash("sha256").update(JSON.stringify([format, processorKind()]));
  return join(cacheFolder, `kernels-${key.digest("hex").slice(0, 16)}.json`);
}
