// Writes the trainer contract's tiny model as a folder that SkyRL can load: `node tiny-model.js <folder>`. The
// tokenizer is that of the built-in model; SkyRL loads it but never uses it.
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { writeModelWeights } from "../../../dist/src/inference/architectures/testing/random-weights.js";
import {
  tinyConfig,
  tinyModelConfig,
  tinyWeights,
} from "../../../dist/src/train/trainer/contract/tiny-model.js";

const [folder] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const builtIn = fileURLToPath(new URL("../../../models/hone-tiny", import.meta.url));
for (const name of ["tokenizer.json", "tokenizer_config.json"])
  copyFileSync(join(builtIn, name), join(folder, name));
// SkyRL trains in the data type that config.json specifies.
writeFileSync(join(folder, "config.json"), JSON.stringify({ ...tinyModelConfig, torch_dtype: "float32" }));
writeModelWeights(folder, tinyConfig, { weights: tinyWeights, type: "F32" });
