// Whole jobs in real training processes, on a small model: what they publish, and how they end.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { readGoldenTraining } from "../../test/golden-training.ts";
import { goldenGroups, groupOf, trajectoryOf } from "../../test/golden-trajectories.ts";
import { systemClock } from "../domain/clock.ts";
import { FakeClock } from "../domain/fake-clock.ts";
import type { JobAssignment, JobOutcome, JobReport } from "../domain/job.ts";
import { ServiceError } from "../domain/service-error.ts";
import { defaultsOf } from "../domain/settings.ts";
import { resolveTrainingConfig } from "../domain/training-config.ts";
import type { TrajectoryGroup } from "../domain/trajectory.ts";
import { silentLogger } from "../telemetry/logger.ts";
import { type ChildJobRunnerOptions, createChildJobRunner } from "./child-runner.ts";
import { trainingSettings } from "./settings.ts";

const dataFolder = mkdtempSync(join(tmpdir(), "hone-training-"));
const settings = { ...defaultsOf(trainingSettings), batchTokens: 80, threads: 1, idleMs: 30_000 };

let groups: readonly TrajectoryGroup[] | null = goldenGroups();

async function* linesOf(list: readonly TrajectoryGroup[]): AsyncGenerator<string> {
  for (const group of list) yield JSON.stringify(group);
}

function runnerWith(options: Partial<ChildJobRunnerOptions>): ReturnType<typeof createChildJobRunner> {
  return createChildJobRunner({
    dataFolder,
    baseFolders: new Map([["tiny", "test/fixtures/goldens/models/qwen3"]]),
    trajectoryLines: async () => (groups === null ? null : linesOf(groups)),
    settings,
    clock: systemClock,
    logger: silentLogger,
    ...options,
  });
}

const runner = runnerWith({});
after(async () => {
  await runner.stop();
  rmSync(dataFolder, { recursive: true });
});

interface Given {
  readonly jobId?: string;
  readonly from?: string | null;
  readonly step?: number;
  readonly baseModel?: string;
  readonly precalculateLogprobs?: boolean;
}

function assignmentOf({
  jobId = "job",
  from = null,
  step = 1,
  baseModel = "tiny",
  ...config
}: Given): JobAssignment {
  const createdAt = new Date(0);
  return {
    job: {
      id: jobId,
      modelId: "m",
      state: "running",
      config: resolveTrainingConfig({ learningRate: 1e-3, ...config }),
      configNotApplied: [],
      createdAt,
      startedAt: createdAt,
      endedAt: null,
      errorMessage: null,
      attemptCount: 1,
      progress: null,
      counts: null,
      resultStep: null,
      cancelRequested: false,
      contentHash: "",
      pins: null,
    },
    model: { id: "m", entity: "e", project: "p", name: "n", baseModel, createdAt },
    from: {
      id: "v",
      modelId: "m",
      step: step - 1,
      adapterFolder: from,
      trainerState: from === null ? null : join(from, "optimizer.safetensors"),
      jobId: null,
      metrics: {},
      createdAt,
    },
    resultStep: step,
  };
}

interface Run {
  readonly outcome: JobOutcome;
  readonly started: readonly unknown[];
  readonly steps: readonly Readonly<Record<string, number>>[];
}

async function run(given: Given, on: Partial<JobReport> = {}, runnerToUse = runner): Promise<Run> {
  const started: unknown[] = [];
  const steps: Readonly<Record<string, number>>[] = [];
  const report: JobReport = {
    started: async (count) => void started.push(count),
    stepped: async (index, metrics) => {
      assert.equal(index, steps.length);
      steps.push(metrics);
    },
    ...on,
  };
  const signal = new AbortController().signal;
  const outcome = await runnerToUse.run(assignmentOf(given), report, { signal });
  return { outcome, started, steps };
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** The hash of every file of a version. */
function published(step: number): Record<string, string> {
  const folder = join(dataFolder, "adapters", "m", String(step));
  const files = ["adapter_config.json", "adapter_model.safetensors", "optimizer.safetensors"];
  assert.deepEqual(readdirSync(folder).sort(), files);
  return Object.fromEntries(files.map((file) => [file, sha256(readFileSync(join(folder, file)))]));
}

function kill(processIds: readonly number[]): void {
  assert.equal(processIds.length, 1);
  process.kill(processIds[0], "SIGKILL");
}

function rejectsWith(code: string): (error: unknown) => boolean {
  return (error) => error instanceof ServiceError && error.code === code;
}

test("trains, publishes a version, and tells every step", async () => {
  const { outcome, started, steps } = await run({});
  assert.equal(outcome.adapterFolder, join("adapters", "m", "1"));
  assert.deepEqual(outcome.counts, {
    groupsSubmitted: 2,
    groupsTrainable: 2,
    trajectories: 6,
    sequences: 5,
    trainableTokens: 71,
    skipped: { zero_variance: 1 },
  });
  assert.deepEqual(started, [steps.length]);
  assert.equal(outcome.metrics["data/step_num_gradient_steps"], steps.length);
  assert.ok(steps.length >= 2);
  for (const step of steps) {
    assert.equal(step["learning_rate"], 1e-3);
    assert.equal(step["num_trainable_tokens"], 71);
    assert.equal(step["num_groups_trainable"], 2);
    assert.ok(Object.values(step).every(Number.isFinite));
  }
  assert.ok(existsSync(join(dataFolder, "adapters", "m", "1", "optimizer.safetensors")));
  assert.deepEqual(readdirSync(join(dataFolder, "adapters", "m")), ["1"]);
  assert.equal(existsSync(join(dataFolder, "jobs", "job")), false);
});

test("the same version, data and job give the same adapter, byte for byte, and replace an orphan", async () => {
  const first = published(1);
  const again = await run({});
  assert.deepEqual(published(1), first);
  const fresh = runnerWith({});
  assert.deepEqual((await run({}, {}, fresh)).steps, again.steps);
  await fresh.stop();
  assert.deepEqual(published(1), first);
});

test("goes on from a version with its optimizer, another job differs", async () => {
  await run({ jobId: "next", from: "adapters/m/1", step: 2, precalculateLogprobs: true });
  assert.notDeepEqual(published(2), published(1));
  await run({ jobId: "other", from: "adapters/m/1", step: 3 });
  assert.notEqual(published(3)["adapter_model.safetensors"], published(2)["adapter_model.safetensors"]);
});

test("a job in which nothing can train publishes what it started from, and says why", async () => {
  const [sequence] = readGoldenTraining().sequences;
  const same = [trajectoryOf(sequence, 1), trajectoryOf(sequence, 1)];
  const silent = [{ ...same[0], messagesAndChoices: [], reward: 0 }, same[1]];
  groups = [groupOf(same), groupOf(silent.map((each) => ({ ...each, messagesAndChoices: [] })))];
  const { outcome, started, steps } = await run({ from: "adapters/m/2", step: 4 });
  assert.deepEqual(started, [0]);
  assert.deepEqual(steps, []);
  assert.deepEqual(outcome.counts.skipped, { zero_variance: 2, no_trainable_tokens: 2 });
  assert.equal(outcome.metrics["data/step_num_gradient_steps"], 0);
  assert.deepEqual(published(4), published(2));
  groups = [];
  await run({ step: 5 });
  assert.notDeepEqual(published(5), published(4));
  groups = goldenGroups();
});

test("a process that dies is a lost attempt, and the next attempt works", async () => {
  const killed = runnerWith({});
  await assert.rejects(
    run({ jobId: "lost", step: 6 }, { started: async () => kill(killed.processIds()) }, killed),
    rejectsWith("unavailable"),
  );
  assert.equal(existsSync(join(dataFolder, "adapters", "m", "6")), false);
  await run({ jobId: "lost", step: 6 }, {}, killed);
  await killed.stop();
  published(6);
});

test("an abort kills the process", async () => {
  const aborting = runnerWith({});
  const controller = new AbortController();
  const report: JobReport = {
    started: async () => controller.abort(),
    stepped: async () => undefined,
  };
  const assignment = assignmentOf({ step: 7 });
  await assert.rejects(
    aborting.run(assignment, report, { signal: controller.signal }),
    rejectsWith("cancelled"),
  );
  await assert.rejects(
    aborting.run(assignment, report, { signal: controller.signal }),
    rejectsWith("cancelled"),
  );
});

test("silence beyond the deadline is a lost attempt", async () => {
  const clock = new FakeClock();
  const stalling = runnerWith({ clock, settings: { ...settings, stallDeadlineMs: 1000 } });
  const running = run({ step: 8 }, {}, stalling);
  const rejected = assert.rejects(running, rejectsWith("unavailable"));
  while (clock.sleepingCount === 0) await new Promise((resolve) => setImmediate(resolve));
  await clock.advance(1001);
  await rejected;
});

test("refuses jobs that cannot work, in the job's own words", async () => {
  await assert.rejects(run({ baseModel: "absent" }), rejectsWith("unsupported"));
  const [sequence] = readGoldenTraining().sequences;
  const foreign = trajectoryOf({ ...sequence, token_ids: sequence.token_ids.map((id) => id + 100_000) });
  groups = [groupOf([foreign, { ...foreign, reward: 0 }])];
  await assert.rejects(
    run({}),
    (error) =>
      error instanceof ServiceError &&
      error.code === "invalid" &&
      error.message.startsWith("trajectory_groups.0.trajectories.0: "),
  );
  groups = null;
  await assert.rejects(run({}), rejectsWith("not_found"));
  groups = goldenGroups();
  await assert.rejects(run({ from: "adapters/m/none", step: 9 }), rejectsWith("not_found"));
});
