// Tests whole runs of a very small model, whose result must depend only on the recipe.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { writeModelWeights } from "../../../src/inference/architectures/testing/random-weights.ts";
import { writeCheckpoint } from "./checkpoint.ts";
import type { Recipe } from "./recipe.ts";
import { openRun, takeSteps } from "./training-run.ts";

const folder = mkdtempSync(join(tmpdir(), "hone-run-"));
after(() => rmSync(folder, { recursive: true }));

const recipe: Recipe = {
  seed: "test",
  sizes: { vocabulary: 420, width: 16, layers: 2, heads: 2, intermediate: 24, context: 256 },
  vocabularyChats: 200,
  tokenCount: 6 * 4 * 200,
  rowCount: 4,
  length: 200,
  workers: 2,
  learningRate: 0.01,
  risingSteps: 2,
  fallingPart: 0.5,
};

/** Continues a run for at most `steps` steps, like one start of the command. Returns true once the run is finished. */
async function goOn(name: string, steps: number, made = recipe): Promise<boolean> {
  const state = join(folder, name);
  const run = await openRun(state, made);
  const from = run.start.progress.stepCount;
  const stepCount = await takeSteps(run, (report) => report.stepCount < from + steps);
  const progress = { ...run.start.progress, stepCount };
  writeCheckpoint(state, run.config, { ...run.start, progress });
  writeModelWeights(run.modelFolder, run.config, { weights: run.start.weights, type: "BF16" });
  return stepCount === 6;
}

function digest(name: string, file: string): string {
  return createHash("sha256")
    .update(readFileSync(join(folder, name, "model", file)))
    .digest("hex");
}

test("two runs of a recipe write identical files, whether in one piece or in several", async () => {
  assert.ok(await goOn("whole", 100));
  assert.ok(!(await goOn("pieces", 1)));
  assert.ok(!(await goOn("pieces", 3)));
  assert.ok(await goOn("pieces", 100));
  assert.ok(await goOn("pieces", 100), "a finished run takes no more steps");
  for (const file of ["tokenizer.json", "model.safetensors"])
    assert.equal(digest("pieces", file), digest("whole", file), file);
  assert.ok(await goOn("other", 100, { ...recipe, seed: "other" }));
  assert.notEqual(digest("other", "model.safetensors"), digest("whole", "model.safetensors"));
});

test("refuses to continue a run with another recipe, or from a checkpoint of unknown origin", async () => {
  const refused = {
    code: "conflict",
    message: /contains the run of another recipe or corpus. Delete the folder/,
  };
  await goOn("changed", 1);
  await assert.rejects(goOn("changed", 1, { ...recipe, tokenCount: 9 * 800 }), refused);
  rmSync(join(folder, "changed", "fingerprint"));
  await assert.rejects(goOn("changed", 1), refused);
});
