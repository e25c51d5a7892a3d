import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { honeTiny } from "../recipe.ts";
import { putBetween, writeCard } from "./model-card.ts";

test("the card contains the measurements and the cost of training", () => {
  const folder = mkdtempSync(join(tmpdir(), "hone-card-"));
  const score = { count: 200, right: 190, mistakes: [] };
  const kinds = [
    { kind: "sums", prompts: score, heldOut: "pairs", contents: { ...score, right: 100 } },
    { kind: "facts", prompts: { ...score, right: 200 }, heldOut: null, contents: null },
    { kind: "other", prompts: { ...score, right: 0 }, heldOut: null, contents: null },
  ];
  const cost = { pieces: 3, wallSeconds: 3000, processorSeconds: 5400, memoryBytes: 1.5 * 2 ** 30 };
  writeCard(folder, {
    recipe: { ...honeTiny, tokenCount: 20e6 },
    cost,
    evaluation: { kinds, demo: { rewards: {}, words: {}, greedy: [] } },
  });
  const card = readFileSync(join(folder, "README.md"), "utf8");
  rmSync(folder, { recursive: true });
  assert.match(card, /^\| sums \| 0\.950 \| 0\.500 \| pairs \|$/m);
  assert.match(card, /^\| facts \| 1\.000 \| {2}\| none: /m);
  assert.match(card, /^\| mean without other \| 0\.975 \| 0\.500 \| \|$/m);
  assert.match(
    card.replaceAll("\n", " "),
    /saw 20 million tokens .* took 50 minutes in 3 pieces with 2 threads, 90 minutes of processor time, and at most 1\.5 GiB/,
  );
});

test("refuses a card without a placeholder, and leaves the rest of a card unchanged", () => {
  const text = "a\n<!-- one -->\nold\n<!-- end -->\nb\n<!-- two -->\n<!-- end -->\n";
  assert.equal(
    putBetween(text, "one", "$&"),
    text.replace("old", () => "$&"),
  );
  assert.throws(() => putBetween(text, "three", "x"), /no placeholder <!-- three -->/);
});
