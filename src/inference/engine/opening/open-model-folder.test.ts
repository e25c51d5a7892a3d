// Tests the first start with large weights: when it arranges them, and that results do not depend on that.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { silentLogger } from "../../../base/telemetry/testing/silent-logger.ts";
import { readModelConfig } from "../../architectures/config/read-config.ts";
import { largeWeightBytes } from "../../architectures/large-weights.ts";
import { modelParameters } from "../../architectures/parameters.ts";
import { writeModelWeights } from "../../architectures/testing/random-weights.ts";
import { KvLane } from "../cache/kv-lane.ts";
import { engineSettings } from "../settings.ts";
import { openingOf } from "./model-opening.ts";
import { openModelFolder } from "./open-model-folder.ts";

const width = 512;
const configuration = {
  architectures: ["LlamaForCausalLM"],
  // In 8 bits, the table of tokens is as large as weights must be to be mapped.
  vocab_size: largeWeightBytes / width,
  hidden_size: width,
  intermediate_size: width,
  num_hidden_layers: 1,
  num_attention_heads: 8,
  num_key_value_heads: 8,
  max_position_embeddings: 64,
  tie_word_embeddings: true,
  eos_token_id: 2,
};

function writeModel(folder: string): void {
  mkdirSync(folder);
  writeFileSync(join(folder, "config.json"), JSON.stringify(configuration));
  const config = readModelConfig(folder);
  const weights = modelParameters(config).map(({ name, shape }) => {
    const values = new Float32Array(shape.reduce((product, size) => product * size, 1));
    for (const index of values.keys()) values[index] = ((index * 7919) % 1021) / 5000 - 0.1;
    return [name, values] as const;
  });
  writeModelWeights(folder, config, { weights: new Map(weights), type: "BF16" });
}

test("a first start arranges 8-bit weights later if there is room for a private copy, with the same results", async (t) => {
  const root = mkdtempSync(join(tmpdir(), "hone-first-start-"));
  t.after(() => rmSync(root, { recursive: true }));
  const [modelFolder, cacheFolder] = [join(root, "model"), join(root, "cache")];
  writeModel(modelFolder);
  const settings = engineSettings.with({ threads: 1, draftTokensMax: 0 });
  const opening = openingOf({ modelFolder, cacheFolder, quantization: "8", settings });
  const compute = async (availableBytes: number): Promise<readonly Float32Array[]> => {
    const { runner } = await openModelFolder(opening, silentLogger, availableBytes);
    const lane = new KvLane(runner.shape);
    lane.reshape(1, 16);
    lane.takeSlot();
    const prompt = await runner.prefill(lane, null, [{ slot: 0, tokenIds: [1, 5, 3], logits: "all" }]);
    const decoded = await runner.decode(lane, null, [7]);
    await runner.close();
    return [...prompt, decoded];
  };
  const hasArranged = (): boolean => readdirSync(cacheFolder).some((name) => name.endsWith(".arranged"));
  const expected = await compute(16 * largeWeightBytes);
  assert.equal(hasArranged(), false);
  assert.deepEqual(await compute(2 * largeWeightBytes), expected);
  assert.equal(hasArranged(), true, "a private copy would take more than half of the memory");
  assert.deepEqual(await compute(16 * largeWeightBytes), expected);
});
