// Tests the defaults that a model's makers recommend, as read from the model's files.
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { TestContext } from "node:test";
import { readGenerationDefaults } from "./served-base.ts";
import { noDefaults } from "./testing/no-defaults.ts";
import type { Recommendations } from "./served-base.ts";

async function check(t: TestContext, files: Readonly<Record<string, object>>): Promise<Recommendations> {
  const folder = await mkdtemp(join(tmpdir(), "defaults-"));
  t.after(() => rm(folder, { recursive: true }));
  for (const [name, value] of Object.entries(files))
    await writeFile(join(folder, name), JSON.stringify(value));
  return readGenerationDefaults(folder, [2, 7]);
}

test("reads the recommended sampling, and uses the given end tokens", async (t) => {
  const generation = {
    eos_token_id: 9,
    temperature: 0.6,
    top_p: 0.95,
    top_k: -1,
    min_p: 0.1,
    repetition_penalty: 1.05,
    max_new_tokens: 2048,
  };
  assert.deepEqual(await check(t, { "generation_config.json": generation }), {
    defaults: {
      endTokenIds: [2, 7],
      temperature: 0.6,
      topP: 0.95,
      topK: 0,
      minP: 0.1,
      repetitionPenalty: 1.05,
      maxTokens: 2048,
    },
    notApplied: [],
  });
});

test("returns no defaults if the makers recommend nothing", async (t) => {
  assert.deepEqual(await check(t, {}), {
    defaults: noDefaults([2, 7]),
    notApplied: [],
  });
});

test("names recommendations that are not applied", async (t) => {
  const generation = {
    do_sample: true,
    transformers_version: "4.57.1",
    no_repeat_ngram_size: 3,
    typical_p: 0.9,
    length_penalty: null,
    // Common settings that have no effect on sampling.
    use_cache: true,
    output_attentions: false,
    return_dict_in_generate: true,
    num_beams: 1,
    early_stopping: false,
    typical: 1,
  };
  const { notApplied } = await check(t, { "generation_config.json": generation });
  assert.deepEqual(notApplied, ["no_repeat_ngram_size 3", "typical_p 0.9", "typical 1"]);
});

test("refuses a value out of its range and names it", async (t) => {
  for (const [member, value] of [
    ["temperature", -1],
    ["top_p", 0],
    ["top_k", 1.5],
    ["top_p", "1"],
    ["min_p", 1.5],
    ["repetition_penalty", 0],
    ["max_new_tokens", 0],
  ] as const) {
    await assert.rejects(check(t, { "generation_config.json": { [member]: value } }), {
      code: "unsupported",
      message: new RegExp(`generation_config.json: ${member} is`),
    });
  }
});
