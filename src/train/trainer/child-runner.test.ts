// Runs whole jobs in real training processes, on a small model.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { readGoldenTraining } from "../../../test/golden-training.ts";
import { goldenGroups, groupOf, trajectoryOf } from "../../../test/golden-trajectories.ts";
import { systemClock } from "../../base/domain/clock.ts";
import { FakeClock } from "../../base/domain/testing/fake-clock.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { JsonObject } from "../../base/domain/text/json.ts";
import type { HistoryItem } from "../../base/domain/trajectory.ts";
import { checkService } from "../../base/domain/testing/check-service.ts";
import { silentLogger } from "../../base/telemetry/testing/silent-logger.ts";
import { type ChildJobRunner } from "./child-runner.ts";
import { pinnedSettings } from "./settings.ts";
import { settings, type Given, Bench, shared, assignmentOf, rejectsWith } from "./testing/runner-bench.ts";

function isAlive(processId: number): boolean {
  try {
    return process.kill(processId, 0);
  } catch {
    // `process.kill` throws if no process has this id.
    return false;
  }
}

checkService({
  name: "training runner",
  make: (t) => {
    const bench = new Bench(t);
    // The runner starts processes on demand. A successful training run therefore shows that a process is running.
    const upCount = (): Promise<number> =>
      bench.run(1).then(
        () => 1,
        () => bench.runner.processIds().length,
      );
    return { service: bench.runner, upCount };
  },
  failing: null,
});

test("stop ends the running attempt and leaves no process", async (t) => {
  const bench = new Bench(t);
  const { runner } = bench;
  const stopped: Promise<void>[] = [];
  const started = async (): Promise<void> => void stopped.push(runner.stop());
  await assert.rejects(bench.run(1, {}, { on: { started } }), rejectsWith("cancelled"));
  await Promise.all(stopped);
  assert.deepEqual([stopped.length, runner.processIds()], [1, []]);
});

test("trains, publishes a version and reports each step", async (t) => {
  const bench = new Bench(t);
  const { outcome, started, steps } = await bench.run(1);
  assert.equal(outcome.adapterFolder, join("adapters", "m", "1"));
  assert.equal(outcome.trainerState, `embedded:${join("adapters", "m", "1", "optimizer.safetensors")}`);
  assert.deepEqual(outcome.counts, {
    groupsSubmitted: 2,
    groupsTrainable: 2,
    trajectories: 6,
    sequences: 5,
    trainableTokens: 71,
    skipped: { at_group_mean: 1 },
    skippedGroups: { at_group_mean: 1 },
    steps: { count: 2, passCount: 1, sequencesMax: 3 },
  });
  assert.deepEqual(started, [
    {
      num_sequences: steps.length,
      num_gradient_steps: 2,
      num_trained_sequences: 5,
      num_sequences_per_step_max: 3,
      num_passes: 1,
      num_groups_submitted: 2,
      num_groups_trainable: 2,
      num_trajectories: 6,
      num_trainable_tokens: 71,
    },
  ]);
  assert.equal(outcome.metrics["data/step_num_gradient_steps"], steps.length);
  assert.ok(steps.length >= 2);
  for (const step of steps) {
    assert.equal(step["learning_rate"], 1e-3);
    assert.equal(step["num_trainable_tokens"], 71);
    assert.equal(step["num_groups_trainable"], 2);
    assert.ok(Object.values(step).every(Number.isFinite));
  }
  bench.published(1);
  assert.deepEqual(readdirSync(join(bench.dataFolder, "adapters", "m")), ["1"]);
  assert.equal(existsSync(join(bench.dataFolder, "jobs", "job")), false);
});

test("gives the same adapter, byte for byte, for the same version, data and pins, and replaces an orphaned one", async () => {
  const { steps } = await shared.run(1);
  const first = shared.published(1);
  assert.deepEqual((await shared.run(1, { jobId: "later" })).steps, steps);
  assert.deepEqual(shared.published(1), first);
  assert.deepEqual((await shared.run(1, {}, { runner: shared.newRunner() })).steps, steps);
  assert.deepEqual(shared.published(1), first);
  await shared.run(1, { pins: { seed: "another" } });
  assert.notDeepEqual(shared.published(1), first);
});

test("continues from a version with its optimizer state, and reports how stale the data is", async () => {
  await shared.run(1);
  const { steps } = await shared.run(2, { from: 1, precalculateLogprobs: true });
  // The recorded answers came from version 0, so they are one version old.
  for (const step of steps) assert.equal(step["offpolicy/policy_staleness_mean"], 1);
  await shared.run(3, { from: 1 });
  const versions = [1, 2, 3].map((step) => shared.published(step)["adapter_model.safetensors"]);
  assert.equal(new Set(versions).size, 3);
});

test("continues from a version without its optimizer state, and says so", async () => {
  const { outcome } = await shared.run(1);
  await shared.run(2, { from: 1 });
  for (let call = 0; call < 2; call++) await shared.runner.discardState(outcome.trainerState ?? "");
  const folder = join(shared.dataFolder, outcome.adapterFolder);
  assert.deepEqual(readdirSync(folder).toSorted(), ["adapter_config.json", "adapter_model.safetensors"]);
  const warnings: string[] = [];
  const warned = async ({ warning }: { readonly warning: string }): Promise<void> =>
    void warnings.push(warning);
  await shared.run(3, { from: 1, withState: false }, { on: { warned } });
  assert.match(warnings.join(), /^Training continues .* with a fresh optimizer/);
  assert.notDeepEqual(shared.published(3), shared.published(2));
});

test("leaves another trainer's state in place and names it in the log, also for a job that has ended", async () => {
  const states: unknown[] = [];
  const logger = { ...silentLogger, warn: (fields: object) => void states.push({ ...fields }) };
  const runner = shared.newRunner({ logger });
  await runner.discardState("remote:remote://model/1");
  const folder = join(shared.dataFolder, "jobs", "ended");
  mkdirSync(folder, { recursive: true });
  const mark = { metrics: [], warnings: [], seconds: 0, key: {}, state: "remote:remote://model/2" };
  writeFileSync(join(folder, "step-4.json"), JSON.stringify(mark));
  await runner.discardWork("ended");
  assert.deepEqual(
    states,
    [1, 2].map((index) => ({ state: `remote:remote://model/${index}` })),
  );
  assert.equal(existsSync(folder), false);
});

test("a job keeps its pinned settings when the server's have changed since", async () => {
  const pinned = await assignmentOf(shared.runner, 1, {});
  const { steps } = await shared.run(1);
  const sizes = { batchTokens: 2048, loraRank: 3, sequenceLengthMax: 8 };
  const changed = { ...settings, ...sizes, weightDecay: 5 };
  const runner = shared.newRunner({ settings: changed });
  const first = shared.published(1);
  assert.deepEqual((await shared.run(1, { pins: pinned.pins }, { runner })).steps, steps);
  assert.deepEqual(shared.published(1), first);
  // The microbatch size may change between attempts, because it changes results only by rounding.
  const smaller = shared.newRunner({ settings: { ...settings, microbatchTokens: 1 } });
  const inParts = (await shared.run(1, {}, { runner: smaller })).steps;
  assert.equal(inParts.length, steps.length);
  inParts.forEach(({ loss }, index) => assert.ok(Math.abs(loss - steps[index]["loss"]) < 1e-4));
});

test("a continued job renders tools in prompts as it did when it began", async (t) => {
  const tools = [{ type: "function", function: { name: "f" } }];
  const groups = goldenGroups().map((group) => ({
    ...group,
    trajectories: group.trajectories.map((trajectory) => {
      const [{ prompt_token_ids: _lost, ...choice }] = trajectory.messagesAndChoices as readonly JsonObject[];
      const messagesAndChoices = [
        { role: "user", content: "Hi" },
        choice,
      ] as unknown as readonly HistoryItem[];
      return { ...trajectory, tools, messagesAndChoices };
    }),
  }));
  const bench = new Bench(t, groups);
  const asText = bench.newRunner({ toolsAsText: new Set(["tiny"]) });
  const { pins } = await assignmentOf(asText, 1, {});
  const { steps } = await bench.run(1, {}, { runner: asText });
  assert.notDeepEqual((await bench.run(1)).steps, steps);
  assert.deepEqual((await bench.run(1, { pins })).steps, steps);
});

test("a job over a quantized base computes its own old log-probabilities until its end", async () => {
  const quantized = shared.newRunner({ precisions: new Map([["tiny", "int8"]]) });
  const { pins } = await assignmentOf(quantized, 1, {});
  assert.equal(pins.settings["servedPrecision"], "int8");
  const { steps } = await shared.run(1, {}, { runner: quantized });
  assert.deepEqual((await shared.run(1, { precalculateLogprobs: true })).steps, steps);
  assert.deepEqual((await shared.run(1, { pins })).steps, steps);
  assert.notDeepEqual((await shared.run(1)).steps, steps);
});

test("one process runs jobs with different settings in turn", async () => {
  await shared.run(1);
  const pins = { settings: { ...pinnedSettings(settings), batchTokens: 2048 } };
  assert.equal((await shared.run(1, { pins })).steps.length, 1);
  assert.equal(shared.runner.processIds().length, 1);
});

test("an idle process may be silent for longer than one that trains", async (t) => {
  const clock = new FakeClock();
  const kept = { ...settings, idleMs: 10 * settings.stallDeadlineMs };
  const bench = new Bench(t, goldenGroups(), { clock, settings: kept });
  await bench.run(1);
  const idle = bench.runner.processIds();
  await clock.advance(settings.stallDeadlineMs);
  await bench.run(2);
  assert.deepEqual([bench.runner.processIds(), idle.length], [idle, 1]);
});

test("an idle process that is shutting down gets no job", async (t) => {
  const clock = new FakeClock();
  const kept = { ...settings, idleMs: 10 * settings.stallDeadlineMs };
  const bench = new Bench(t, goldenGroups(), { clock, settings: kept });
  await bench.run(1);
  const [idle = 0] = bench.runner.processIds();
  // Suspends the process: it cannot read the request to end, and so stays alive.
  process.kill(idle, "SIGSTOP");
  t.after(() => void process.kill(idle, "SIGKILL"));
  await clock.advance(kept.idleMs);
  await bench.run(2);
  assert.deepEqual([isAlive(idle), bench.runner.processIds().includes(idle)], [true, false]);
});

test("ends a process after its job if idle processes are not kept", async (t) => {
  const bench = new Bench(t, goldenGroups(), { settings: { ...settings, idleMs: 0 } });
  const ids: number[] = [];
  await bench.run(1, {}, { on: { started: async () => void ids.push(...bench.runner.processIds()) } });
  assert.equal(ids.length, 1);
  while (isAlive(ids[0])) await systemClock.sleep(5);
});

test("refuses to continue with another base model, and names both", async () => {
  const baseHash = "0".repeat(64);
  const { baseHash: current } = (await assignmentOf(shared.runner, 1, {})).pins;
  await assert.rejects(
    shared.run(1, { pins: { baseHash } }),
    (error) =>
      error instanceof ServiceError &&
      error.code === "conflict" &&
      error.message.includes(baseHash) &&
      error.message.includes(current),
  );
});

test("continues in another build, and says so in the log", async (t) => {
  const warnings: unknown[] = [];
  const logger = { ...silentLogger, warn: (fields: unknown) => void warnings.push(fields) };
  const bench = new Bench(t, goldenGroups(), { logger });
  await bench.run(1);
  assert.deepEqual(warnings, []);
  await bench.run(1, { pins: { trainerBuild: "hone-0.0.1" } });
  assert.equal(warnings.length, 1);
});

test("a job without trainable data publishes the version it started from, and says why", async (t) => {
  const [sequence] = readGoldenTraining().sequences;
  const same = [trajectoryOf(sequence, 1), trajectoryOf(sequence, 1)];
  const silent = [
    { ...same[0], messagesAndChoices: [], reward: 0 },
    { ...same[1], messagesAndChoices: [] },
  ];
  const bench = new Bench(t, [groupOf(same), groupOf(silent)]);
  await bench.run(1);
  const { outcome, started, steps } = await bench.run(2, { from: 1, pins: { seed: "another" } });
  assert.equal(started[0]["num_sequences"], 0);
  assert.deepEqual(steps, []);
  assert.deepEqual(outcome.counts.skipped, { zero_variance: 2, no_trainable_tokens: 2 });
  assert.equal(outcome.metrics["data/step_num_gradient_steps"], 0);
  assert.deepEqual(bench.published(2), bench.published(1));
});

test("a job's base precision wins over the server's, until the job's end", async (t) => {
  const bench = new Bench(t);
  const ofServer = bench.newRunner({ settings: { ...settings, basePrecision: "int8" } });
  const precisionOf = async (runner: ChildJobRunner, given: Given): Promise<unknown> =>
    (await assignmentOf(runner, 1, given)).pins.settings["basePrecision"];
  assert.deepEqual(
    [
      await precisionOf(bench.runner, {}),
      await precisionOf(ofServer, {}),
      await precisionOf(ofServer, { basePrecision: "float32" }),
      await precisionOf(bench.runner, { basePrecision: "int8" }),
    ],
    ["float32", "int8", "float32", "int8"],
  );
  const { pins } = await assignmentOf(ofServer, 1, {});
  assert.ok("loss/base_precision_difference_mean" in (await bench.run(1, { pins })).steps[0]);
});

test("fails a job whose finite weights cannot serve, gives the reason and publishes nothing", async (t) => {
  const bench = new Bench(t);
  const pins = { settings: { ...pinnedSettings(settings), batchTokens: 2048 } };
  const tooGreat = { learningRate: 1e25, pins };
  await assert.rejects(bench.run(1, tooGreat), { code: "unsupported", message: /^After its last step/ });
  assert.equal(existsSync(join(bench.dataFolder, "adapters")), false);
});

test("refuses jobs that cannot work, in the job's own terms", async (t) => {
  const [sequence] = readGoldenTraining().sequences;
  const foreign = trajectoryOf({ ...sequence, token_ids: sequence.token_ids.map((id) => id + 100_000) });
  await assert.rejects(
    new Bench(t, [groupOf([foreign, { ...foreign, reward: 0 }])]).run(1),
    (error) =>
      error instanceof ServiceError &&
      error.code === "invalid" &&
      error.message.startsWith("trajectory_groups.0.trajectories.0.messages_and_choices.0: "),
  );
  await assert.rejects(new Bench(t, null).run(1), rejectsWith("not_found"));
  await assert.rejects(new Bench(t).run(9, { from: 7 }), rejectsWith("internal"));
});
