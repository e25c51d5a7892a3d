// Writes the trainer contract's tiny model in the form that Transformers and PEFT read. Also writes the preferences
// from which the goldens in test/fixtures/goldens/preferences are computed: `node
// dist/test/golden-preferences/write-tiny-model.js <folder>`.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { present } from "../../src/base/domain/assert.ts";
import { writeSafetensors } from "../../src/lib/model-files/write-safetensors.ts";
import { writeLoraAdapter } from "../../src/inference/architectures/peft-folder.ts";
import { modelParameters } from "../../src/inference/architectures/parameters.ts";
import {
  tinyConfig,
  tinyModelConfig,
  tinyWeights,
  trainedAdapter,
} from "../../src/train/trainer/contract/tiny-model.ts";
import { tinyJudgedAnswers, tinyPairs } from "../../src/train/trainer/contract/tiny-preferences.ts";
import type { TrainingSequence } from "../../src/train/trainer/trainer.ts";

const [, , folder] = process.argv;
if (folder === undefined) throw new Error("Name a folder to write.");
const adapterFolder = join(folder, "adapter");
mkdirSync(adapterFolder, { recursive: true });
writeFileSync(join(folder, "config.json"), JSON.stringify(tinyModelConfig));
const tensors = modelParameters(tinyConfig).map(({ name, shape }) => ({
  name,
  shape,
  data: present(tinyWeights.get(name), name),
}));
writeSafetensors(join(folder, "model.safetensors"), tensors, { type: "F32" });
writeLoraAdapter(adapterFolder, trainedAdapter(), { config: tinyConfig, baseModelName: "tiny" });

/** Returns a sequence's prompt tokens, its answer tokens, and whether it is the chosen one. */
function written({ tokenIds, mask, preference }: TrainingSequence): object {
  const start = mask.indexOf(1);
  return {
    prompt: [...tokenIds.subarray(0, start)],
    answer: [...tokenIds.subarray(start)],
    is_chosen: preference?.isChosen,
  };
}
const preferences = { pairs: tinyPairs().map(written), judged: tinyJudgedAnswers().map(written) };
writeFileSync(join(folder, "preferences.json"), JSON.stringify(preferences));
