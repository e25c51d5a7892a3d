// The greatest difference of a batch, and what is said of it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { differenceWarning, greatestDifference } from "./logprob-difference.ts";
import type { TrainingSequence } from "./trainer.ts";

function sequenceOf(...oldLogprobs: readonly number[]): TrainingSequence {
  const values = [NaN, ...oldLogprobs];
  return {
    tokenIds: Int32Array.from(values, () => 1),
    mask: Uint8Array.from(values, (_, index) => (index === 0 ? 0 : 1)),
    oldLogprobs: Float32Array.from(values),
    advantage: 1,
    weight: 1,
    group: 0,
  };
}

test("the greatest difference is found in any row, and what was not recorded counts for nothing", () => {
  const batch = [sequenceOf(-1, -1), sequenceOf(NaN, -3), sequenceOf(-1)];
  const logprobs = [[-1.25, -1], [-9, -1.5], [-1]].map((row) => Float32Array.from(row));
  assert.deepEqual(greatestDifference(batch, { logprobs }), { nats: 1.5, row: 1 });
  const unrecorded = greatestDifference([sequenceOf(NaN)], { logprobs: [Float32Array.of(-1)] });
  assert.deepEqual(unrecorded, { nats: 0, row: null });
});

test("what rounding explains is no warning, and what is beyond it names the place", () => {
  const origin = { place: "trajectory_groups.0.trajectories.4", isRendered: true, policyVersion: null };
  assert.equal(differenceWarning(0.05, origin, 0), null);
  const warning = differenceWarning(0.0501, origin, 0);
  assert.match(warning ?? "", /0\.0501 nats \(trajectory_groups\.0\.trajectories\.4\).*were rendered/);
});

test("the likely cause is another version where the trajectory names one, then a rendered prompt, then another model", () => {
  const causeOf = (isRendered: boolean, policyVersion: number | null): string =>
    differenceWarning(1, { place: "here", isRendered, policyVersion }, 7) ?? "";
  assert.match(causeOf(true, 5), /made with version 5, as it says, and training starts from version 7/);
  assert.match(causeOf(false, 9), /made with version 9/);
  assert.match(causeOf(true, 7), /prompts were rendered/);
  assert.match(causeOf(false, null), /likely of another version/);
  assert.match(causeOf(false, 7), /likely of another model, or were taken after a temperature/);
});
