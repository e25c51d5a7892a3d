// Tests the largest difference between recorded and computed log-probabilities in a batch, and the warning about it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { differenceWarning, logprobDifference } from "./logprob-difference.ts";
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

test("finds the largest difference in any row and ignores unrecorded tokens", () => {
  const batch = [sequenceOf(-1, -1), sequenceOf(NaN, -3), sequenceOf(-1)];
  const logprobs = [[-1.25, -1], [-9, -1.5], [-1]].map((row) => Float32Array.from(row));
  assert.deepEqual(logprobDifference(batch, { logprobs }), { nats: 1.5, row: 1, meanNats: 1.75 / 4 });
  const unrecorded = logprobDifference([sequenceOf(NaN)], { logprobs: [Float32Array.of(-1)] });
  assert.deepEqual(unrecorded, { nats: 0, row: null, meanNats: 0 });
});

test("does not warn of rounding, and names the place of a larger difference", () => {
  const origin = { place: "trajectory_groups.0.trajectories.4", isRendered: true, policyVersion: null };
  assert.equal(differenceWarning({ nats: 0.05, meanNats: 0.05 }, { origin, startStep: 0 }), null);
  const warning = differenceWarning({ nats: 0.0501, meanNats: 0.01 }, { origin, startStep: 0 });
  assert.match(warning ?? "", /0\.0501 nats \(trajectory_groups\.0\.trajectories\.4\).*were rendered/);
});

test("names the likely cause: another version if the trajectory names one, then a rendered prompt, then another model", () => {
  const causeOf = (isRendered: boolean, policyVersion: number | null): string =>
    differenceWarning(
      { nats: 1, meanNats: 0.1 },
      { origin: { place: "here", isRendered, policyVersion }, startStep: 7 },
    ) ?? "";
  assert.match(causeOf(true, 5), /recorded with version 5, and training starts from version 7/);
  assert.match(causeOf(false, 9), /recorded with version 9/);
  assert.match(causeOf(true, 7), /prompts were rendered/);
  assert.match(causeOf(false, null), /likely comes from another version/);
  assert.match(causeOf(false, 7), /likely come from another model, or were taken after temperature/);
});

test("judges quantized serving or training by the mean difference", () => {
  const context = { origin: undefined, startStep: 0, roundedTo: "int8" };
  assert.equal(differenceWarning({ nats: 3, meanNats: 0.25 }, context), null);
  const warning = differenceWarning({ nats: 3, meanNats: 0.26 }, context);
  assert.match(
    warning ?? "",
    /up to 3\.00 nats, and by 0\.260 on average; weights in int8 explain at most 0\.25/,
  );
});
