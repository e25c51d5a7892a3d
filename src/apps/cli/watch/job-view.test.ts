import assert from "node:assert/strict";
import { test } from "node:test";
import type { TrainingJob } from "../../client/api.ts";
import { addStep, renderJob } from "./job-view.ts";

const job: TrainingJob = {
  id: "job-1",
  model_id: "m",
  model: "acme/p/m",
  kind: "sft",
  state: "running",
  created_at: "2026-01-01T00:00:00.000Z",
  started_at: "2026-01-01T00:00:01.000Z",
  ended_at: null,
  duration_seconds: 20,
  attempts: 1,
  attempts_lost: 0,
  attempts_lost_max: 3,
  restarts: 0,
  restarts_max: 10,
  cancel_requested: false,
  replay_of: null,
  retry_of: null,
  replay: null,
  data_removed_at: null,
  error_message: null,
  cost: null,
  currency: null,
  result_step: null,
  rewards: [],
  phase: "training",
  waiting_for: null,
  warnings: [],
  progress: {
    prepared: 8,
    prepared_total: 8,
    gradient_steps: 5,
    gradient_steps_total: 20,
    gradient_steps_saved: 0,
  },
  seconds_left: 130,
  experimental_config: null,
  config: {
    batch_size: 2,
    learning_rate: 5e-5,
    epochs: 3,
    shuffle: true,
    weight_decay: 0,
    max_grad_norm: 1,
    assistant_turns: "all",
  },
  preference_config: null,
  config_changed: [],
  config_not_applied: [],
  counts: null,
};

function stepsOf(count: number): Map<string, number[]> {
  const series = new Map<string, number[]>();
  for (let index = 0; index < count; index++)
    addStep(series, {
      id: String(index),
      type: "gradient_step",
      data: {
        loss: 5 - index / 4,
        entropy: 1,
        learning_rate: 1e-3,
        grad_norm: index,
        num_tokens: 7,
        note: "x",
      },
    });
  return series;
}

const size = { columns: 60, rows: 24 };

test("shows the state, the progress, a chart of the loss, and a line per metric", () => {
  const lines = renderJob({ job, series: stepsOf(5), notice: null }, size);
  assert.equal(lines[0], "job job-1  sft  running, training");
  assert.match(lines[1], /^▕█+[▏▎▍▌▋▊▉]? *▏ 5 of 20 steps, about 2 min left$/);
  assert.deepEqual(lines.slice(2, 4), ["", "loss"]);
  assert.match(lines[4], /^ +5 ┤/);
  const names = lines.slice(-3).map((line) => line.split(" ")[0]);
  // Neither a constant learning rate nor counts have a curve.
  assert.deepEqual(names, ["loss", "entropy", "grad_norm"]);
  assert.match(lines.at(-1) ?? "", /^grad_norm +4 {2}▁▃▅▆█$/);
});

test("shows the number of optimizer steps, their data and their learning rate", () => {
  const steps = { count: 6, passes: 3, sequences_max: 2 };
  const skips = { skipped: {}, skipped_groups: {} };
  const counts = {
    groups_submitted: 0,
    groups_trainable: 0,
    trajectories: 4,
    sequences: 4,
    trainable_tokens: 9,
    ...skips,
    steps,
  };
  const linesOf = (shown: TrainingJob): readonly string[] =>
    renderJob({ job: shown, series: new Map(), notice: null }, { ...size, columns: 200 });
  assert.equal(
    linesOf({ ...job, counts })[1],
    "steps 6 on 4 conversations (4 sequences), 3 passes, up to 2 sequences per step; learning rate 0.00005",
  );
  const config = job.config && { ...job.config, learning_rate: [0.1, 0.2, 0.3, 0.4] };
  assert.match(linesOf({ ...job, counts, config })[1], /learning rate 0\.1 … 0\.4 \(4\)$/);
  const ofRollouts = {
    ...job,
    kind: "rl",
    config: null,
    experimental_config: { learning_rate: 1e-4 },
  } as const;
  const single = { ...counts, steps: { count: 4, passes: 1, sequences_max: 1 } };
  assert.equal(
    linesOf({ ...ofRollouts, counts: single })[1],
    "steps 4 on 4 sequences, up to 1 sequence per step; learning rate 0.0001",
  );
  assert.equal(linesOf({ ...job, counts: { ...counts, steps: null } })[1], linesOf(job)[1]);
});

test("draws curves of reward margins and accuracies for preference jobs", () => {
  const series = new Map<string, number[]>();
  for (const margin of [0, 0.5])
    addStep(series, {
      id: String(margin),
      type: "gradient_step",
      data: { loss: 0.69 - margin, "rewards/margins": margin, "rewards/accuracies": 1, "logps/chosen": -9 },
    });
  const preferring = { ...job, kind: "preference", config: null } as const;
  const names = renderJob({ job: preferring, series, notice: null }, size)
    .slice(-3)
    .map((line) => line.split(" ")[0]);
  assert.deepEqual(names, ["loss", "rewards/margins", "rewards/accuracies"]);
});

test("shows preparation progress before the first step", () => {
  const progress = {
    prepared: 250,
    prepared_total: 1000,
    gradient_steps: 0,
    gradient_steps_total: null,
    gradient_steps_saved: 0,
  };
  const preparing = { ...job, phase: "preparing", progress } as const;
  const lines = renderJob({ job: preparing, series: new Map(), notice: null }, size);
  assert.match(lines[1], /^▕█+[▏▎▍▌▋▊▉]? *▏ 250 of 1000 prepared, about 2 min left$/);
});

test("fits terminals of any size", () => {
  const warnings = ["w".repeat(500)];
  for (const columns of [1, 20, 80, 300])
    for (const rows of [2, 5, 12, 60]) {
      const view = { job: { ...job, warnings }, series: stepsOf(300), notice: "n".repeat(500) };
      const lines = renderJob(view, { columns, rows });
      assert.ok(lines.length < rows && lines.every((line) => line.length <= columns), `${columns} x ${rows}`);
    }
});

test("shows why the job waits, its result, its error and its warnings", () => {
  const queued = {
    ...job,
    state: "queued",
    phase: null,
    progress: null,
    waiting_for: "a base model",
  } as const;
  assert.deepEqual(renderJob({ job: queued, series: new Map(), notice: "connection lost" }, size), [
    "job job-1  sft  queued",
    "waiting for a base model",
    "connection lost",
  ]);
  const failed = {
    ...job,
    state: "failed",
    phase: null,
    progress: null,
    error_message: "Lower it.",
  } as const;
  assert.ok(renderJob({ job: failed, series: new Map(), notice: null }, size).includes("Lower it."));
  const ended = { ...job, state: "succeeded", phase: null, result_step: 3 } as const;
  assert.ok(renderJob({ job: ended, series: new Map(), notice: null }, size).includes("version 3"));
  assert.deepEqual(renderJob({ job: null, series: new Map(), notice: null }, size), [
    "waiting for the server",
  ]);
});
