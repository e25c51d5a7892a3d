import assert from "node:assert/strict";
import { test } from "node:test";
import type { RoundReport } from "./round-report.ts";
import { summaryOf } from "./summary.ts";

const trained = {
  steps: 8,
  loss: 0,
  entropy: 0.5,
  klDiv: 0.01,
  klUpdate: 0.03,
  klPolicyRef: 0,
  gradNorm: 0.1,
};

function round(reward: number | null, more: Partial<RoundReport> = {}): RoundReport {
  return {
    round: 0,
    step: 0,
    newStep: 1,
    reward,
    rewardMin: reward,
    rewardMax: reward,
    spread: 0,
    groups: 4,
    groupsWithoutSpread: 4,
    rollouts: 8,
    failures: 0,
    failureReasons: [],
    completionTokens: 80,
    answers: 8,
    answersCutOff: 0,
    training: null,
    seconds: { rollouts: 1, training: 1 },
    metrics: {},
    jobId: "j",
    warnings: [],
    validation: null,
    ...more,
  };
}

const end = { step: 2, model: "e/p/m:step2", rounds: 2, endedBy: "rounds", best: null } as const;
const spread = { groupsWithoutSpread: 1, training: trained };

function check(
  reports: readonly RoundReport[],
  expected: RegExp,
  more: Partial<Parameters<typeof summaryOf>[1]> = {},
) {
  assert.match(summaryOf(reports, { ...end, ...more }), expected);
}

test("reports what was learned, with the rewards of the first and the last round", () => {
  check(
    [round(0.2, spread), round(0.9, spread)],
    /^Learned in 2 rounds: mean reward 0\.200 in the first round, 0\.900 in the last\. e\/p\/m:step2 is the newest version\.$/,
  );
  check([round(0.2, spread), round(0.9, spread)], /; the best validation is 0\.800, of version 1\.$/, {
    best: { step: 1, reward: 0.8 },
  });
  check(
    [round(0.2, spread), round(0.9, spread)],
    /^Learned in 2 rounds of 5, stopped because validations did not improve: /,
    {
      rounds: 5,
      endedBy: "patience",
    },
  );
  check([round(0.2, spread)], /^One round was trained, which sampled a mean reward of 0\.200/, { rounds: 1 });
});

test("reports why little or nothing was learned", () => {
  check(
    [round(0.5, spread), round(0.501, spread)],
    /^Little was learned in 2 rounds: .* \(2 of 2 rounds had something to train\)/,
  );
  check([round(0.5, spread), round(0.1)], /^It got worse in 2 rounds: .* \(1 of 2 rounds had/);
  check(
    [round(0), round(0)],
    /^Nothing was learned in 2 rounds: every answer earned 0\. The tasks are too hard/,
  );
  check(
    [round(0.2), round(0.3)],
    /^Nothing was learned in 2 rounds: all answers to a task earned the same, 0\.250/,
  );
  check([round(0.2, { groupsWithoutSpread: 0 })], /rewards differed, but no answer was trainable/);
  const failed = { failures: 8, failureReasons: [{ message: "no key.", count: 8 }] };
  check([round(null, failed)], /^Nothing was learned in 1 round of 2: no rollout completed \(no key\)\.$/);
});

test("reports why there was nothing to do", () => {
  check(
    [],
    /^Nothing was done: all 2 rounds of this run were done before, .* Ask for more rounds, name another run/,
  );
  check([], /^Nothing was done: validations of earlier rounds did not improve/, { endedBy: "patience" });
  check([], /^No rounds were asked for/, { rounds: 0 });
});
