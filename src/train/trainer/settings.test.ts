// Tests the settings that are fixed when a job begins, so that all attempts use the same. Also tests the adapter shape
// of the job's model.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AdapterWish } from "../../base/domain/model.ts";
import { pinnedSettings, trainingSettings } from "./settings.ts";

const settings = trainingSettings.with({ loraRank: 8 });

test("adapters have the rank and scale that their model asks for, or else the server's", () => {
  const shapeOf = (rank: number | null, alpha: number | null): readonly number[] => {
    const { loraRank, loraAlpha } = pinnedSettings(settings, { rank, alpha, targets: null });
    return [loraRank, loraAlpha];
  };
  assert.deepEqual(shapeOf(null, null), [8, 16]);
  assert.deepEqual(shapeOf(32, null), [32, 64]);
  assert.deepEqual(shapeOf(32, 5), [32, 5]);
  assert.deepEqual(shapeOf(null, 5), [8, 5]);
});

test("pins the projections for adapters only if the model names some", () => {
  const targetsOf = (targets: AdapterWish["targets"]): unknown =>
    pinnedSettings(settings, { rank: null, alpha: null, targets }).loraTargets;
  assert.deepEqual(targetsOf(["q_proj", "v_proj"]), ["q_proj", "v_proj"]);
  assert.equal("loraTargets" in pinnedSettings(settings), false, "jobs of earlier programs stay comparable");
});
