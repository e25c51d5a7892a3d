// Tests the committed model: it is complete and small, and performs as its card claims.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { readModelConfig } from "../../../../src/inference/architectures/config/read-config.ts";
import { readModelWeights } from "../../../../src/inference/architectures/weights.ts";
import { inProof, searchCount } from "../../../../src/base/domain/testing/search.ts";
import { loadTokenizer } from "../../../../src/lib/tokenizer/tokenizer.ts";
import { measureAccuracy, measureDemoStart, measuredKinds, type Model } from "../measuring/accuracy.ts";
import { writeConfiguration } from "./folder.ts";
import { createGenerator } from "../measuring/generate.ts";

const folder = "models/hone-tiny";
const config = readModelConfig(folder);
const generator = await createGenerator(config, readModelWeights(folder, config, { cacheFolder: null }), {
  threads: 1,
});
after(() => generator.close());
const model: Model = { tokenizer: await loadTokenizer(folder), generator };

test("takes at most 8 MB, and its configuration equals the recipe's", () => {
  const byteCount = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  assert.ok(byteCount <= 8e6, `${byteCount} bytes`);
  const written = mkdtempSync(join(tmpdir(), "hone-tiny-"));
  writeConfiguration(written);
  for (const name of readdirSync(written)) {
    assert.equal(readFileSync(join(folder, name), "utf8"), readFileSync(join(written, name), "utf8"), name);
  }
  rmSync(written, { recursive: true });
});

/** Returns the fraction of right answers by kind, as claimed in the model card. */
function cardAccuracy(): ReadonlyMap<string, number> {
  const card = readFileSync(join(folder, "README.md"), "utf8");
  const table = /<!-- accuracy -->([\s\S]*)<!-- end -->/.exec(card)?.[1] ?? "";
  const rows = table.matchAll(/^\| (\w+) \|(?: 200 \|)? (\d\.\d+) \|/gm);
  return new Map([...rows].map(([, kind = "", rate]) => [kind, Number(rate)]));
}

test("answers held-out prompts of each kind about as well as its card claims", inProof, async () => {
  const claimed = cardAccuracy();
  assert.ok(claimed.size >= 12);
  for (const kind of claimed.keys()) assert.ok(measuredKinds.includes(kind), kind);
  const results = await measureAccuracy(model, { seed: "test", count: searchCount(8) });
  const rates = results
    .filter(({ kind }) => claimed.has(kind))
    .map(({ kind, prompts: { right, count } }) => ({ kind, rate: right / count }));
  const mean = rates.reduce((sum, { rate }) => sum + rate, 0) / rates.length;
  assert.ok(mean >= 0.88, `mean ${mean}`);
  for (const { kind, rate } of rates) assert.ok(rate >= 0.6, `${kind} ${rate}`);
});

test("starts the demo's task without a preferred answer, so that there is something to learn", async () => {
  const { rewards, words, greedy } = await measureDemoStart(model, { seeds: 2, samplesPerPrompt: 8 });
  for (const [task, reward] of Object.entries(rewards))
    assert.ok(reward > 0.5 && reward < 0.85, `${task}: ${reward}`);
  for (const word of ["yes", "no", "maybe"])
    assert.ok((words[word] ?? 0) >= 10, `${word}: ${words[word]} of 128`);
  assert.ok(new Set(greedy.map(({ answer }) => answer)).size >= 2, "greedy answers differ between prompts");
});
