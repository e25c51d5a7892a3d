import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { readModelConfig } from "./read-config.ts";
import { readServedConfig } from "./served-config.ts";

function folderOf(t: TestContext, config: object, generation?: object): string {
  const folder = mkdtempSync(join(tmpdir(), "hone-served-"));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "config.json"), JSON.stringify(config));
  if (generation !== undefined)
    writeFileSync(join(folder, "generation_config.json"), JSON.stringify(generation));
  return folder;
}

test("agrees with the whole configuration of every model here", () => {
  for (const name of ["qwen3", "llama", "gemma3", "mistral-sliding"]) {
    const folder = `test/fixtures/goldens/models/${name}`;
    const { vocabularySize, contextLength, endOfTextIds } = readModelConfig(folder);
    assert.deepEqual(readServedConfig(folder), { vocabularySize, contextLength, endOfTextIds });
  }
});

test("also reads a mixture of experts, which is not computed here, and a multimodal model", (t) => {
  // The relevant fields of Qwen/Qwen3-30B-A3B.
  const experts = {
    architectures: ["Qwen3MoeForCausalLM"],
    max_position_embeddings: 40_960,
    num_experts: 128,
    vocab_size: 151_936,
    eos_token_id: 151_645,
  };
  const folder = folderOf(t, experts, { eos_token_id: [151_645, 151_643] });
  assert.throws(() => readModelConfig(folder), { code: "unsupported" });
  assert.deepEqual(readServedConfig(folder), {
    vocabularySize: 151_936,
    contextLength: 40_960,
    endOfTextIds: [151_645, 151_643],
  });
  const nested = { text_config: { max_position_embeddings: 8, vocab_size: 9 }, eos_token_id: 1 };
  assert.deepEqual(readServedConfig(folderOf(t, nested)), {
    vocabularySize: 9,
    contextLength: 8,
    endOfTextIds: [1],
  });
});

test("names every missing fact", (t) => {
  assert.throws(() => readServedConfig(folderOf(t, { vocab_size: "many" })), {
    code: "unsupported",
    message: /vocab_size.*max_position_embeddings/s,
  });
  assert.throws(() => readServedConfig("test/fixtures"), {
    code: "not_found",
    message: /has no config\.json/,
  });
});

test("has the sizes that the files of Gemma 3 omit", () => {
  const folder = mkdtempSync(join(tmpdir(), "hone-served-"));
  const text = { hidden_size: 2560, model_type: "gemma3_text" };
  writeFileSync(join(folder, "config.json"), JSON.stringify({ model_type: "gemma3", text_config: text }));
  const { vocabularySize, contextLength } = readServedConfig(folder);
  rmSync(folder, { recursive: true });
  assert.deepEqual([vocabularySize, contextLength], [262_208, 131_072]);
});
