import assert from "node:assert/strict";
import { test } from "node:test";
import { terminalDisplay } from "./display.ts";
import type { RoundReport } from "./round-report.ts";
import type { TrainEvent } from "./train-event.ts";

const report: RoundReport = {
  round: 3,
  step: 3,
  newStep: 4,
  reward: 0.5,
  rewardMin: 0,
  rewardMax: 1,
  spread: 0.25,
  groups: 4,
  groupsWithoutSpread: 1,
  rollouts: 31,
  failures: 1,
  failureReasons: [],
  completionTokens: 620,
  seconds: { rollouts: 2.04, training: 1 },
  metrics: {},
  jobId: "j",
  warnings: [],
  validation: null,
};

/** What stands in a terminal after these events, line by line. */
function check(events: readonly TrainEvent[], expected: readonly string[]): void {
  const lines = [""];
  const terminal = {
    write: (text: string) => {
      const clear = "\r\u001b[K";
      assert.equal(text.lastIndexOf(clear), 0, "every text begins its line anew");
      lines.splice(-1, 1, ...text.slice(clear.length).split("\n"));
    },
  };
  const display = terminalDisplay({ terminal: () => terminal });
  for (const event of events) display?.show(event);
  display?.end();
  assert.deepEqual(lines, [...expected, ""]);
}

test("a line for each round stays; what goes on is written over, and gone in the end", () => {
  check(
    [
      { type: "rollouts-started", of: "round", round: 3, step: 3, total: 32 },
      { type: "rollout-ended", ended: 1, failures: 1, total: 32 },
      { type: "job-started", round: 3, jobId: "j" },
      { type: "job-event", round: 3, event: { id: "e", type: "gradient_step", data: {} } },
      {
        type: "version-validated",
        round: 4,
        validation: { step: 4, reward: 0.75, isBest: true, metrics: {} },
      },
      { type: "round-ended", report },
      { type: "rollouts-started", of: "round", round: 4, step: 4, total: 32 },
    ],
    [
      "version 4  validation 0.750  best so far",
      "round  3  ▕██████████          ▏ reward 0.500 ± 0.250  620 tokens  2.0 s + 1.0 s  1 failed  1 of 4 tasks alike",
    ],
  );
});

test("says where a run goes on, or that nothing is left, and shows rewards of any size", () => {
  check(
    [
      { type: "run-resumed", round: 2, rounds: 5, step: 3 },
      { type: "run-resumed", round: 5, rounds: 5, step: 6 },
      {
        type: "round-ended",
        report: { ...report, reward: -100, rewardMin: -100, rewardMax: -100, newStep: null, failures: 0 },
      },
      {
        type: "round-ended",
        report: { ...report, reward: null, rewardMin: null, rewardMax: null, failures: 0 },
      },
    ],
    [
      "goes on with round 2, version 3",
      "5 rounds were done before; ask for more of them, for another run, or for a new model",
      "round  3  ▕                    ▏ reward -100.000 ± 0.250  620 tokens  2.0 s + 1.0 s  1 of 4 tasks alike  nothing to train",
      "round  3  no reward  620 tokens  2.0 s + 1.0 s  1 of 4 tasks alike",
    ],
  );
});

test("where nobody watches, nothing is drawn", () => {
  assert.equal(terminalDisplay({ terminal: () => null }), null);
});
