import assert from "node:assert/strict";
import { test } from "node:test";
import { baseSamples } from "../plans/reinforcement.ts";
import { oldestVersionOf, stalenessMetrics } from "./staleness.ts";

const batchOf = (...lengths: readonly number[]): readonly { readonly tokenCount: number }[] =>
  lengths.map((tokenCount) => ({ tokenCount }));

function check(
  batches: readonly (readonly number[])[],
  share: number,
  expected: readonly (readonly number[])[],
): void {
  assert.deepEqual(
    baseSamples(
      batches.map((lengths) => batchOf(...lengths)),
      share,
    ),
    expected,
  );
}

test("compares a share of the tokens with the base model, and carries unused share over to the next step", () => {
  check([[10, 10, 10, 10, 10]], 0.2, [[0]]);
  check(
    [
      [10, 10, 10],
      [10, 10, 10],
      [10, 10, 10, 10],
    ],
    0.25,
    [[], [0], [0]],
  );
  check([[40], [40], [40], [40], [40], [40]], 0.2, [[], [], [], [], [0], []]);
});

test("compares the shortest sequence of a job too small for its share", () => {
  check([[40], [30], [50]], 0.15, [[], [0], []]);
  check([[40, 30, 30]], 0.15, [[1]]);
  check([], 0.15, []);
});

test("compares everything at a share of 1, and nothing at 0", () => {
  check([[7, 6], [3]], 1, [[0, 1], [0]]);
  check([[7, 6], [3]], 0, [[], []]);
});

test("staleness counts the versions since the oldest one recorded for a trajectory", () => {
  assert.equal(oldestVersionOf({ initialPolicyVersion: 3, finalPolicyVersion: 5 }), 3);
  assert.equal(oldestVersionOf({ initialPolicyVersion: null, finalPolicyVersion: 5 }), 5);
  assert.equal(oldestVersionOf({ initialPolicyVersion: null, finalPolicyVersion: null }), null);
  assert.deepEqual(stalenessMetrics([7, 4, null, 7], 7), {
    "offpolicy/policy_staleness_mean": 1,
    "offpolicy/policy_staleness_max": 3,
  });
  assert.deepEqual(stalenessMetrics([null], 7), {});
});
