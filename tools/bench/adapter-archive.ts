// Creates a LoRA adapter that a client can import: random matrices that fit a model, in an archive packed by the
// system's `tar`.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readModelConfig } from "../../src/inference/architectures/config/read-config.ts";
import { createLoraAdapter } from "../../src/inference/architectures/lora.ts";
import { writeLoraAdapter } from "../../src/inference/architectures/peft-folder.ts";

/** Packs an adapter on all seven projections, with weights too small to change an answer. */
export function adapterArchive(
  modelFolder: string,
  { rank, seed }: { readonly rank: number; readonly seed: number },
): Buffer {
  const folder = mkdtempSync(join(tmpdir(), "hone-adapter-"));
  try {
    const config = readModelConfig(modelFolder);
    const adapter = createLoraAdapter(config, { rank, seed });
    for (const [name, matrix] of adapter.matrices)
      if (name.endsWith("lora_B.weight")) matrix.forEach((_, index) => (matrix[index] = (index % 7) / 1e5));
    writeLoraAdapter(folder, adapter, { config, baseModelName: "endless" });
    return execFileSync("tar", ["cf", "-", "-C", folder, "."], { maxBuffer: 2 ** 30 });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
