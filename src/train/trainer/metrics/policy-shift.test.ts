import assert from "node:assert/strict";
import { test } from "node:test";
import { judgeShift } from "./policy-shift.ts";

const job = { learningRate: 1e-3, startStep: 4, limit: 0 };
const still = { k1: 0.01, k3: 0.01 };

const stepsOf = (...entropies: readonly number[]): readonly { readonly entropy: number }[] =>
  entropies.map((entropy) => ({ entropy }));

test("warns of entropy that vanishes within a job, with both numbers, but not of small or steady entropy", () => {
  const warnings = (...entropies: readonly number[]) =>
    judgeShift(stepsOf(...entropies), still, job).warnings.join("\n");
  const fallen = warnings(2, 1.8, 1, 0.4, 0.3, 0.1, 0.02, 0.02);
  assert.match(
    fallen,
    /^Entropy fell from 1\.9 to 0\.020 nats per token within this job.*lower learning_rate/,
  );
  assert.equal(warnings(2, 1.8, 1.7, 1.9, 1.6, 1.2, 0.9, 1.1), "");
  assert.equal(warnings(0.05, 0.04, 0.03, 0.03, 0.02, 0.01, 0.001, 0.001), "");
  assert.equal(warnings(2, 0.001), "", "two steps are too few to tell");
});

test("suggests a learning rate that is lower the further the policy moved", () => {
  const rateAfter = (k1: number): number => {
    const [warning = ""] = judgeShift([{}], { k1, k3: k1 }, job).warnings;
    return Number(/learning_rate to about ([^ ,]+)/.exec(warning)?.[1]);
  };
  assert.deepEqual([rateAfter(1.1), rateAfter(3), rateAfter(15)], [3e-4, 2e-4, 8e-5]);
});

test("says that a limit was not applied if nothing could be measured", () => {
  const { warnings, refusal, metrics } = judgeShift([{}], null, { ...job, limit: 1 });
  assert.deepEqual([refusal, metrics], [null, {}]);
  assert.match(warnings.join(), /could not be measured, so max_kl_update was not applied/);
});
