import assert from "node:assert/strict";
import { test } from "node:test";
import { resolvePreferenceConfig } from "../../../base/domain/preferences/preference-config.ts";
import { resolveSupervisedConfig } from "../../../base/domain/supervised/supervised-config.ts";
import { resolveTrainingConfig } from "../../../base/domain/training-config.ts";
import { passesIn } from "./settings.ts";

test("counts the passes of a form, and assumes the server's default for an empty field", () => {
  assert.deepEqual([passesIn({ epochs: 3 }), passesIn({ passes: "2" })], [3, 2]);
  const usual = passesIn({ epochs: "" });
  assert.equal(resolveSupervisedConfig({}).epochCount, usual);
  assert.equal(resolvePreferenceConfig({}).epochCount, usual);
  assert.equal(resolveTrainingConfig({}).passCount, usual);
});
