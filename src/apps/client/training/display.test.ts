import assert from "node:assert/strict";
import { test } from "node:test";
import { displayOn } from "./display.ts";
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
  answers: 31,
  answersCutOff: 0,
  training: {
    steps: 24,
    loss: 0.1,
    entropy: 0.5,
    klDiv: 0.01,
    klUpdate: 0.0312,
    klPolicyRef: 0.1,
    gradNorm: 0.2,
  },
  seconds: { rollouts: 2.04, training: 1 },
  metrics: {},
  jobId: "j",
  warnings: [],
  validation: null,
};

/** Checks the lines that a terminal shows after these events. */
function check(events: readonly TrainEvent[], expected: readonly string[]): void {
  const lines = [""];
  const terminal = {
    isTerminal: true,
    write: (text: string) => {
      const clear = "\r\u001b[K";
      assert.equal(text.lastIndexOf(clear), 0, "every text begins its line anew");
      lines.splice(-1, 1, ...text.slice(clear.length).split("\n"));
    },
  };
  const display = displayOn({ output: () => terminal, monotonicMs: () => 0 });
  for (const event of events) display?.show(event);
  display?.end();
  assert.deepEqual(lines, [...expected, ""]);
}

test("keeps a line per round, overwrites the status line, and removes it at the end", () => {
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
      "round  3  ▕██████████          ▏ reward 0.500 ± 0.250  620 tokens  2.0 s + 1.0 s  moved 0.031  1 failed  1 of 4 tasks had no reward spread",
    ],
  );
});

test("shows a resumed run, rewards of any size, warnings, failures and truncated answers", () => {
  const failed = {
    ...report,
    failures: 3,
    failureReasons: [
      { message: "no luck", count: 2 },
      { message: "late", count: 1 },
    ],
  };
  check(
    [
      { type: "run-started", model: "e/p/m", round: 0, rounds: 5, step: 3 },
      { type: "run-resumed", round: 2, rounds: 5, step: 3 },
      { type: "run-resumed", round: 5, rounds: 5, step: 6 },
      {
        type: "round-ended",
        report: { ...report, reward: -100, rewardMin: -100, rewardMax: -100, training: null, failures: 0 },
      },
      {
        type: "round-ended",
        report: {
          ...failed,
          reward: null,
          rewardMin: null,
          rewardMax: null,
          answersCutOff: 8,
          warnings: ["too far"],
        },
      },
      { type: "run-ended", summary: "Learned." },
    ],
    [
      "trains e/p/m from version 3, 5 rounds",
      "continues with round 2 of 5, version 3",
      "round  3  ▕                    ▏ reward -100.000 ± 0.250  620 tokens  2.0 s + 1.0 s  1 of 4 tasks had no reward spread  nothing trained",
      "round  3  no reward  620 tokens  2.0 s + 1.0 s  moved 0.031  3 failed  8 of 31 answers cut off  1 of 4 tasks had no reward spread",
      "  failed 2 times: no luck",
      "  failed once: late",
      "  warning: too far",
      "Learned.",
    ],
  );
});

test("appends plain lines if the output is not a terminal, including the status of a run that is quiet for long", () => {
  let text = "";
  let nowMs = 0;
  const output = { isTerminal: false, write: (written: string) => void (text += written) };
  const display = displayOn({ output: () => output, monotonicMs: () => nowMs });
  const show = (event: TrainEvent, atMs: number): void => {
    nowMs = atMs;
    display?.show(event);
  };
  show({ type: "server-awaited", reason: "loading", waitedMs: 0 }, 0);
  show({ type: "server-awaited", reason: "loading", waitedMs: 1000 }, 1000);
  show({ type: "rollouts-started", of: "round", round: 0, step: 0, total: 32 }, 2000);
  show({ type: "rollout-ended", ended: 1, failures: 0, total: 32 }, 20_000);
  show({ type: "rollout-ended", ended: 2, failures: 1, total: 32 }, 40_000);
  show({ type: "rollout-ended", ended: 3, failures: 1, total: 32 }, 50_000);
  show(
    { type: "round-ended", report: { ...report, warnings: ["learning_rat was sent and is not applied"] } },
    55_000,
  );
  show({ type: "run-ended", summary: "Learned." }, 56_000);
  display?.end();
  assert.deepEqual(text.split("\n"), [
    "waiting for the server (0 s): loading",
    "2 of 32 rollouts, 1 failed",
    "round  3  ▕██████████          ▏ reward 0.500 ± 0.250  620 tokens  2.0 s + 1.0 s  moved 0.031  1 failed  1 of 4 tasks had no reward spread",
    "  warning: learning_rat was sent and is not applied",
    "Learned.",
    "",
  ]);
});

test("shows nothing if there is no output", () => {
  assert.equal(displayOn({ output: () => null, monotonicMs: () => 0 }), null);
});
