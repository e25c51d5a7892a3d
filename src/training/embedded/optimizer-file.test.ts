// The optimizer's state through its file, and files that do not fit.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { ServiceError } from "../../domain/service-error.ts";
import { adamWStep, createAdamWState, reinforcementLearningAdamW } from "../adamw.ts";
import { readOptimizerState, writeOptimizerState } from "./optimizer-file.ts";

const folder = mkdtempSync(join(tmpdir(), "hone-optimizer-"));
after(() => rmSync(folder, { recursive: true }));

const matrices = (): Map<string, Float32Array> =>
  new Map([
    ["a", Float32Array.of(1, 2, 3)],
    ["b", Float32Array.of(4)],
  ]);

const file = join(folder, "optimizer.safetensors");

test("says that a state is missing", () => {
  assert.throws(
    () => readOptimizerState(join(folder, "other.safetensors"), matrices()),
    (error) => error instanceof ServiceError && error.code === "not_found",
  );
});

test("reads back what it wrote", () => {
  const state = createAdamWState(matrices());
  const options = { ...reinforcementLearningAdamW, learningRate: 0.1 };
  adamWStep(state, matrices(), matrices(), options);
  writeOptimizerState(file, state);
  assert.equal(state.stepCount, 1);
  assert.deepEqual(readOptimizerState(file, matrices()), state);
});

test("refuses a state that belongs to other matrices", () => {
  for (const other of [new Map([["a", new Float32Array(4)]]), new Map([["c", new Float32Array(3)]])]) {
    assert.throws(
      () => readOptimizerState(file, other),
      (error) => error instanceof ServiceError && error.code === "invalid",
    );
  }
});
