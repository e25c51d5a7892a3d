// A short form of tools/bench/exact.ts, which compares hundreds of requests on real weights. This test sends a few
// requests to the built-in model; a sample uses a single precision.
import assert from "node:assert/strict";
import { test } from "node:test";
import { searchCount, searchedOf, searchSeed } from "../src/base/domain/testing/search.ts";
import { checkExactness, precisions } from "./exactness/run-exactness.ts";

const model = "models/hone-tiny";

for (const precision of searchedOf(precisions, 1)) {
  test(`with --quantize ${precision}, an answer is bit-equal no matter how it is computed`, async () => {
    const [kept, drafted] = [new Map<string, number>(), new Map<string, number>()];
    const sizes = { count: searchCount(8), promptLengthMax: 60 };
    const options = { model, precision, ...sizes, seed: searchSeed, threads: 2 };
    for await (const report of checkExactness(options)) {
      const { mode, differing, heldBytes, tokenCount, requestCount, keptCount, draftedCount } = report;
      assert.deepEqual({ differing, heldBytes }, { differing: [], heldBytes: 0 }, `${precision}, ${mode}`);
      assert.ok(tokenCount > requestCount, "there is something to compare");
      kept.set(mode, keptCount);
      drafted.set(mode, draftedCount);
    }
    assert.deepEqual([kept.get("in a full batch"), drafted.get("in a full batch")], [0, 0]);
    assert.ok((drafted.get("right and wrong drafts") ?? 0) > 0, "drafts were accepted");
    for (const mode of ["prefixes cached for other requests", "prefixes cached in the first round"])
      assert.ok((kept.get(mode) ?? 0) > 0, `${mode}: something was kept`);
  });
}
