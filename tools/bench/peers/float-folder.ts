// Converts a GGUF model to a folder in the Hugging Face layout with float32 weights, for programs that need this
// layout.
import { cpSync, existsSync } from "node:fs";
import { basename, join } from "node:path";
import { ensureGgufFolder, readGgufTensors } from "../../../src/lib/model-files/gguf/gguf-model.ts";
import { readFloats } from "../../../src/lib/model-files/stored-tensor.ts";
import { writeSafetensors } from "../../../src/lib/model-files/write-safetensors.ts";

const textFiles = ["config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json"];

/** Returns the folder of the converted model; creates it in `cacheFolder` if missing. */
export function ensureFloatFolder(file: string, cacheFolder: string): string {
  const derived = ensureGgufFolder(file, cacheFolder);
  const folder = join(cacheFolder, `${basename(derived, ".gguf-model")}-float32`);
  const weights = join(folder, "model.safetensors");
  if (existsSync(weights)) return folder;
  for (const name of textFiles) cpSync(join(derived, name), join(folder, name));
  const tensors = [...readGgufTensors(derived).values()];
  writeSafetensors(
    weights,
    tensors.map((tensor) => ({ name: tensor.name, shape: tensor.shape, data: readFloats(tensor) })),
    { type: "F32" },
  );
  return folder;
}
