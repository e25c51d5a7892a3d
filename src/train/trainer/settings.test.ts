// What a job is pinned to of the settings, and of what its model asks for.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AdapterWish } from "../../base/domain/model.ts";
import { pinnedSettings, trainingSettings } from "./settings.ts";

const settings = trainingSettings.with({ loraRank: 8 });

test("a model's adapters have the rank and scale that it asks for, and the server's otherwise", () => {
  const shapeOf = (rank: number | null, alpha: number | null): readonly number[] => {
    const { loraRank, loraAlpha } = pinnedSettings(settings, { rank, alpha, targets: null });
    return [loraRank, loraAlpha];
  };
  assert.deepEqual(shapeOf(null, null), [8, 16]);
  assert.deepEqual(shapeOf(32, null), [32, 64]);
  assert.deepEqual(shapeOf(32, 5), [32, 5]);
  assert.deepEqual(shapeOf(null, 5), [8, 5]);
});

test("what a model asks its adapters to be on is pinned, and only where it asks", () => {
  const targetsOf = (targets: AdapterWish["targets"]): unknown =>
    pinnedSettings(settings, { rank: null, alpha: null, targets }).loraTargets;
  assert.deepEqual(targetsOf(["q_proj", "v_proj"]), ["q_proj", "v_proj"]);
  assert.equal("loraTargets" in pinnedSettings(settings), false, "jobs of earlier programs stay comparable");
});
