import assert from "node:assert/strict";
import { test } from "node:test";
import { resolvePreferenceConfig } from "../../base/domain/preferences/preference-config.ts";
import { resolveSupervisedConfig } from "../../base/domain/supervised/supervised-config.ts";
import { resolveTrainingConfig } from "../../base/domain/training-config.ts";
import { changedSettings } from "./changed-settings.ts";

test("names the settings that differ from the defaults of the job's loss", () => {
  const rl = (config: Parameters<typeof resolveTrainingConfig>[0]) =>
    changedSettings({ kind: "rl", config: resolveTrainingConfig(config) });
  assert.deepEqual(rl({}), []);
  assert.deepEqual(rl({ learningRate: 1e-4, passCount: 3 }), ["passes"]);
  assert.deepEqual(rl({ ppo: true, epsilon: 0.2, epsilonHigh: 0.3 }), ["ppo", "epsilon_high"]);
  const supervised = resolveSupervisedConfig({ learningRate: [1e-4, 1e-5], epochCount: 1 });
  assert.deepEqual(changedSettings({ kind: "sft", config: supervised }), ["learning_rate"]);
  const preference = resolvePreferenceConfig({ loss: "simpo", beta: 2, isShuffled: false });
  assert.deepEqual(changedSettings({ kind: "preference", config: preference }), ["loss", "shuffle"]);
});
