// Import requests for tools/bench/standstill.ts: ordinary archives, and archives that are expensive to unpack. Each is
// sent once, and 16 times concurrently. This module only defines the requests.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { projectionNames } from "../../src/base/domain/model.ts";
import { seededRandom } from "../../src/base/domain/random.ts";
import {
  tarOfMany,
  zippedTarAndMore,
  zippedTarOfOne,
} from "../../src/lib/archives/testing/hostile-archives.ts";
import { readModelConfig } from "../../src/inference/architectures/config/read-config.ts";
import { loraParameters } from "../../src/inference/architectures/parameters.ts";
import { writeSafetensors } from "../../src/lib/model-files/write-safetensors.ts";
import type { Case } from "./standstill-case.ts";

const rank = 256;

/**
 * Packs an adapter of the built-in model with the system's `tar`, together with an optimizer state like that of a
 * trainer.
 */
function honestArchive(): Buffer {
  const folder = mkdtempSync(join(tmpdir(), "hone-adapter-"));
  try {
    const random = seededRandom("adapter");
    const noise = (count: number): Float32Array =>
      Float32Array.from({ length: count }, () => (random.uniform() - 0.5) / 1e4);
    const parameters = loraParameters(readModelConfig("models/hone-tiny"), {
      targets: projectionNames,
      rank,
    });
    const tensors = parameters.map(({ name, shape }) => ({
      name: `base_model.model.${name}`,
      shape,
      data: noise(shape.reduce((product, size) => product * size, 1)),
    }));
    writeSafetensors(join(folder, "adapter_model.safetensors"), tensors, { type: "F32" });
    const config = { peft_type: "LORA", r: rank, lora_alpha: rank, target_modules: "all-linear" };
    writeFileSync(join(folder, "adapter_config.json"), JSON.stringify(config));
    writeFileSync(join(folder, "optimizer.pt"), noise(11e6));
    return execFileSync("tar", ["czf", "-", "-C", folder, "."], { maxBuffer: 2 ** 30 });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Archives by name. Each is built once, since all requests of a case send the same bytes. */
const archives: readonly (readonly [string, () => Buffer])[] = [
  ["an ordinary archive of 66 MB, zipped", honestArchive],
  ["an ignored file of 2,000 MiB, zipped", () => Buffer.concat([...zippedTarOfOne("x", 2000)])],
  ["2,000 MiB after the end of the archive, zipped", () => Buffer.concat([...zippedTarAndMore(2000)])],
  ["100,000 ignored files", () => Buffer.concat([...tarOfMany(100_000, 0)])],
  ["200 metadata entries of 900 KB", () => Buffer.concat([...tarOfMany(200, 900_000, { type: "x" })])],
];

export const importCases: readonly Case[] = [1, 16].flatMap((times) =>
  archives.map(([what, archive]): Case => {
    let made: Buffer | null = null;
    return {
      name: `import: ${times} × ${what}`,
      path: (modelId) => `/v1/preview/models/${modelId}/checkpoints`,
      contentType: "application/x-tar",
      body: () => (made ??= archive()),
      times,
    };
  }),
);
