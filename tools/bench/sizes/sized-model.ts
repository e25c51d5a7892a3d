// The model that the benchmark measures: its files, and the sizes from which goals are computed.
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import type { Quantization } from "../../../src/base/domain/model.ts";
import type { ModelConfig } from "../../../src/inference/architectures/config.ts";
import { readModelConfig } from "../../../src/inference/architectures/config/read-config.ts";
import { countParameters } from "../../../src/inference/architectures/parameters.ts";
import { keptBytes } from "../../../src/inference/architectures/quantized/weight-forms.ts";
import { readForms } from "../../../src/inference/architectures/weights.ts";
import type { SlotBytes } from "../../../src/inference/engine/cache/kv-cache.ts";
import { machineKernels } from "../../../src/inference/engine/device/machine-kernels.ts";
import { slotBytesIn } from "../../../src/inference/engine/model-swapping/memory-need.ts";
import { ensureGgufFolder } from "../../../src/lib/model-files/gguf/gguf-model.ts";

export interface SizedModel {
  readonly name: string;
  /** Absolute path of the GGUF file or of the model folder. */
  readonly path: string;
  readonly quantize: Quantization;
  readonly config: ModelConfig;
  /** Bytes of the weights in the precision of `quantize`. */
  readonly weightBytes: number;
  /** Bytes of the weights in 8 bits. */
  readonly int8Bytes: number;
  /** Memory of one sequence: keys and values per token, and states. */
  readonly slot: SlotBytes;
  /** Files that a first start reads, with absolute paths. */
  readonly weightFiles: readonly string[];
}

/** @param path GGUF file or model folder */
export async function readSizedModel(path: string, quantize: Quantization): Promise<SizedModel> {
  const scratch = mkdtempSync(join(tmpdir(), "hone-sizes-"));
  try {
    const absolute = resolve(path);
    const folder = absolute.endsWith(".gguf") ? ensureGgufFolder(absolute, scratch) : absolute;
    const config = readModelConfig(folder);
    // Counts each weight once and leaves out scales, so that goals do not depend on how Hone stores weights.
    const bytesIn = (bits: number): number => (countParameters(config) * bits) / 8;
    const forms = { quantization: quantize, kernels: await machineKernels(null) };
    const isRounded = quantize === "8" || quantize === "4";
    const keptForms = quantize === "off" ? new Map() : readForms(folder, config, forms);
    return {
      name: basename(absolute),
      path: absolute,
      quantize,
      config,
      weightBytes: isRounded ? bytesIn(Number(quantize)) : keptBytes(config, keptForms),
      int8Bytes: bytesIn(8),
      slot: slotBytesIn(config),
      weightFiles: statSync(absolute).isFile() ? [absolute] : weightFilesIn(absolute),
    };
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

function weightFilesIn(folder: string): readonly string[] {
  const names = readdirSync(folder).filter((name) => name.endsWith(".safetensors"));
  return names.map((name) => join(folder, name));
}
