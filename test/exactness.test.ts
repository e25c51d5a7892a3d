// A short form of tools/bench/exact.ts, which compares hundreds of requests on real weights. This test sends a few
// requests to the built-in model, and to tiny models of other families. In `npm test`, it uses a single precision and
// one of these models.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Quantization } from "../src/base/domain/model.ts";
import { searchCount, searchedOf, searchSeed } from "../src/base/domain/testing/search.ts";
import { checkExactness, precisions } from "./exactness/run-exactness.ts";

interface Counts {
  /** Counts by mode. */
  readonly kept: ReadonlyMap<string, number>;
  readonly drafted: ReadonlyMap<string, number>;
}

/**
 * Checks that every mode gives the same answers. Returns how many tokens each mode took from caches and from drafts.
 */
async function checkModes(model: string, precision: Quantization, count: number): Promise<Counts> {
  const [kept, drafted] = [new Map<string, number>(), new Map<string, number>()];
  const sizes = { count: searchCount(count), promptLengthMax: 60 };
  const options = { model, precision, ...sizes, seed: searchSeed, threads: 2 };
  for await (const report of checkExactness(options)) {
    const { mode, differing, heldBytes, tokenCount, requestCount, keptCount, draftedCount } = report;
    assert.deepEqual({ differing, heldBytes }, { differing: [], heldBytes: 0 }, `${precision}, ${mode}`);
    assert.ok(tokenCount > requestCount, "there is something to compare");
    kept.set(mode, keptCount);
    drafted.set(mode, draftedCount);
  }
  assert.deepEqual([kept.get("in a full batch"), drafted.get("in a full batch")], [0, 0]);
  return { kept, drafted };
}

for (const precision of searchedOf(precisions, 1)) {
  test(`with --quantize ${precision}, an answer is bit-equal no matter how it is computed`, async () => {
    const { kept, drafted } = await checkModes("models/hone-tiny", precision, 6);
    assert.ok((drafted.get("right and wrong drafts") ?? 0) > 0, "drafts were accepted");
    for (const mode of ["prefixes cached for other requests", "prefixes cached in the first round"])
      assert.ok((kept.get(mode) ?? 0) > 0, `${mode}: something was kept`);
  });
}

/** Models that have states besides keys and values, shared keys, or experts. */
const families = [
  ["lfm2", "off"],
  ["lfm2-biases", "8"],
  ["qwen3.5", "off"],
  ["qwen3.5-moe", "off"],
  ["qwen3.5-moe", "8"],
  ["granite4-hybrid", "4"],
  ["nemotron-h", "off"],
  ["gemma4", "8"],
  ["qwen3-moe", "off"],
  ["gpt-oss-mxfp4", "as-stored"],
] as const satisfies readonly (readonly [string, Quantization])[];

for (const [name, precision] of searchedOf(families, 1, "families")) {
  test(`${name}, ${precision}: an answer is bit-equal no matter how it is computed`, async () => {
    await checkModes(`test/fixtures/goldens/models/${name}`, precision, 3);
  });
}

test("refuses prompts that leave no room for an answer in the model's context, and too short ones", async () => {
  const base = { model: "models/hone-tiny", precision: "off", count: 1, seed: 1, threads: 1 } as const;
  for (const promptLengthMax of [39, 1001, 1024, Number.NaN])
    await assert.rejects(checkExactness({ ...base, promptLengthMax }).next(), {
      code: "invalid",
      message: /context of 1024 tokens, name a length from 40 to 1000\.$/,
    });
});
