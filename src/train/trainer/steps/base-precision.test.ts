// Tests what a job reports about quantized weights, with a trainer that returns known numbers.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { differencesIn } from "../embedded/saved-differences.ts";
import type { OptimizerBatch, PlannedSequence } from "../data/optimizer-batches.ts";
import type { ForwardOptions, Trainer, TrainingSequence } from "../trainer.ts";
import { comparePrecision, type DifferenceMemory, type PrecisionDifference } from "./base-precision.ts";

/**
 * Compares the two precisions on sequences of 100 tokens, whose last two tokens are trained on. Quantization changes
 * the log-probability of one of these two by 0.1 nats, and of the other by `larger`.
 */
async function check(
  larger: number,
  basePrecision: "float32" | "int8" = "int8",
  differences: DifferenceMemory | null = null,
): Promise<PrecisionDifference & { readonly counts: readonly number[] }> {
  const planned = [0, 1, 2, 3].map(() => ({ tokenCount: 100 }) as PlannedSequence);
  const counts: number[] = [];
  const trainer = {
    forward: async (data: readonly TrainingSequence[], _call: unknown, options: ForwardOptions = {}) => {
      counts.push(data.length);
      assert.equal(options.hasAdapter, false);
      const values = options.isFloat32 === true ? [-1, -2] : [-1.1, -2 + larger];
      return { logprobs: data.map(() => Float32Array.from(values)) };
    },
  } as unknown as Trainer; // Safe cast: no other method is called.
  const read = (batch: readonly PlannedSequence[]): OptimizerBatch =>
    batch.map(() => ({}) as TrainingSequence); // Safe cast: sequences are only passed on.
  const { signal } = new AbortController();
  // The second step uses the same sequences as the first one; they must count only once.
  const batches = [planned.slice(0, 1), planned.slice(0, 1), planned.slice(1)];
  const difference = await comparePrecision(
    trainer,
    { batches, read },
    { basePrecision, differences, signal },
  );
  return { ...difference, counts };
}

test("reports the mean and the largest difference over some of the first sequences, each once", async () => {
  const { metrics, warning, counts } = await check(0.3);
  assert.ok(Math.abs(metrics["loss/base_precision_difference_mean"] - 0.2) < 1e-6);
  assert.ok(Math.abs(metrics["loss/base_precision_difference_max"] - 0.3) < 1e-6);
  assert.equal(warning, null);
  assert.deepEqual(counts, [3, 3]);
});

test("warns of a mean above 0.25 nats, with the cure", async () => {
  const { warning } = await check(0.5);
  assert.match(warning ?? "", /in int8, .* by 0\.300 nats .*0\.25 .* base_precision float32/);
});

test("computes and reports nothing over float32", async () => {
  assert.deepEqual(await check(0.5, "float32"), { metrics: {}, warning: null, counts: [] });
});

test("compares only for the first job of a base model, and reports the same for later ones", async () => {
  const folder = mkdtempSync(join(tmpdir(), "hone-differences-"));
  try {
    const differences = differencesIn(join(folder, "cache", "differences.json"));
    const first = await check(0.5, "int8", differences);
    const later = await check(0.1, "int8", differences);
    assert.deepEqual(later, { ...first, counts: [] });
    assert.match(later.warning ?? "", /0\.300 nats/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
