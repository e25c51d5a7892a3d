import assert from "node:assert/strict";
import { test } from "node:test";
import { differingTexts } from "./differing-texts.ts";

test("shortens the beginning that all texts share, and keeps words whole", () => {
  const texts = [
    "Write one short sentence about the rain.",
    "Write one short sentence about the rivers.",
    "",
  ];
  assert.deepEqual(differingTexts(texts), ["Write one short … rain.", "Write one short … rivers.", ""]);
});

test("keeps texts that share little, and rows that all have the same text", () => {
  for (const texts of [
    ["Where is Oslo?", "Where is Rome?"],
    ["The same long prompt in each of the rows."],
    [],
  ]) {
    assert.deepEqual(differingTexts(texts), texts);
    assert.deepEqual(differingTexts([...texts, ...texts]), [...texts, ...texts]);
  }
});
