import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { SimilarityMetric } from "../../base/domain/fine-tuning/grader.ts";
import { similarities } from "./similarity.ts";

interface Recorded {
  readonly reference: string;
  readonly text: string;
  readonly scores: Readonly<Record<SimilarityMetric, number>>;
}

test("computes each similarity as NLTK, rouge-score and RapidFuzz do", () => {
  const path = "test/fixtures/goldens/graders/similarity.json";
  const pairs = JSON.parse(readFileSync(path, "utf8")) as readonly Recorded[];
  for (const { reference, text, scores } of pairs)
    for (const [metric, score] of Object.entries(scores)) {
      const computed = similarities[metric as SimilarityMetric](reference, text);
      assert.ok(
        Math.abs(computed - score) < 1e-9,
        `${metric} ${reference} | ${text}: ${computed}, not ${score}`,
      );
    }
});

test("gives 0, not an error, for an empty text", () => {
  for (const [metric, similarity] of Object.entries(similarities))
    assert.equal(similarity("a b", ""), 0, metric);
});

test("refuses to compare texts that would take seconds", () => {
  assert.throws(() => similarities.fuzzy_match("a".repeat(5000), "b".repeat(5000)), /too long/);
});
