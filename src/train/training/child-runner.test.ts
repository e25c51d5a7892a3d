// Whole jobs in real training processes, on a small model: what they publish, and how they end.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { dataFolderAt } from "../../store/artifacts/testing/data-folder.ts";
import { readGoldenTraining } from "../../../test/golden-training.ts";
import { foldedLine } from "../../base/domain/text/folded-lines.ts";
import { goldenGroups, groupOf, trajectoryOf } from "../../../test/golden-trajectories.ts";
import { systemClock } from "../../base/domain/clock.ts";
import { FakeClock } from "../../base/domain/testing/fake-clock.ts";
import { searchedOf } from "../../base/domain/testing/search.ts";
import type { JobAssignment, JobOutcome, JobPins } from "../../base/domain/job.ts";
import { adapterOfServer, projectionNames } from "../../base/domain/model.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { errorOf, failureOf } from "../../base/processes/carried-error.ts";
import { resolveTrainingConfig } from "../../base/domain/training-config.ts";
import type { JsonObject } from "../../base/domain/text/json.ts";
import type { HistoryItem, TrajectoryGroup } from "../../base/domain/trajectory.ts";
import { checkService } from "../../base/domain/testing/check-service.ts";
import type { BasePrecision } from "../../base/domain/trainer/base-precision.ts";
import { silentLogger } from "../../base/telemetry/testing/silent-logger.ts";
import { stateOf } from "../../base/domain/trainer/state.ts";
import { readModelConfig } from "../../inference/model/config/read-config.ts";
import { readModelWeights } from "../../inference/model/weights.ts";
import { EmbeddedTrainers } from "./embedded/embedded-trainer.ts";
import { StubServer } from "./tinker/testing/stub-server.ts";
import { type ChildJobRunner, type ChildJobRunnerOptions, createChildJobRunner } from "./child-runner.ts";
import { pinnedSettings, trainingSettings } from "./settings.ts";
import { type SeenEvents, silentReport } from "./testing/silent-report.ts";

const settings = trainingSettings.with({ batchTokens: 80, memoryBytes: 8e9, idleMs: 30_000 });
const baseFolder = "test/fixtures/small-model";

/** Each is long enough to be folded. */
async function* linesOf(list: readonly TrajectoryGroup[]): AsyncGenerator<string> {
  for (const group of list) yield* foldedLine(JSON.stringify({ ...group, logs: ["x".repeat(1 << 20)] }));
}

interface Given {
  readonly jobId?: string;
  /** The version to go on from; 0 is the base. */
  readonly from?: number;
  /** Whether it goes on with the optimizer of that version. */
  readonly withState?: boolean;
  readonly baseModel?: string;
  readonly learningRate?: number;
  readonly precalculateLogprobs?: boolean;
  readonly basePrecision?: BasePrecision;
  /** In place of what the runner would pin the job to now. */
  readonly pins?: Partial<JobPins>;
}

interface Run {
  readonly outcome: JobOutcome;
  readonly started: readonly Readonly<Record<string, number>>[];
  readonly steps: readonly Readonly<Record<string, number>>[];
}

/** A data folder of its own, and a runner on it whose jobs all train on the same groups. */
class Bench {
  readonly dataFolder = mkdtempSync(join(tmpdir(), "hone-training-"));
  readonly runner: ChildJobRunner;
  readonly #runners: ChildJobRunner[] = [];
  readonly #groups: readonly TrajectoryGroup[] | null;

  constructor(
    t: { readonly after: (cleanUp: () => Promise<void>) => void },
    groups: readonly TrajectoryGroup[] | null = goldenGroups(),
    options: Partial<ChildJobRunnerOptions> = {},
  ) {
    this.#groups = groups;
    this.runner = this.newRunner(options);
    t.after(async () => {
      for (const runner of this.#runners) await runner.stop();
      rmSync(this.dataFolder, { recursive: true });
    });
  }

  newRunner(options: Partial<ChildJobRunnerOptions> = {}): ChildJobRunner {
    const groups = this.#groups;
    const runner = createChildJobRunner({
      ...dataFolderAt(this.dataFolder),
      baseFolders: new Map([["tiny", baseFolder]]),
      trajectoryLines: async () => (groups === null ? null : linesOf(groups)),
      settings,
      version: "1.2.3",
      clock: systemClock,
      logger: silentLogger,
      ...options,
    });
    this.#runners.push(runner);
    return runner;
  }

  /** Runs a job to version `step`. */
  async run(
    step: number,
    given: Given = {},
    { on = {}, runner = this.runner, signal = new AbortController().signal }: RunOptions = {},
  ): Promise<Run> {
    const started: Readonly<Record<string, number>>[] = [];
    const steps: Readonly<Record<string, number>>[] = [];
    const report = silentReport({
      started: async ({ metrics }) => void started.push(metrics),
      stepped: async ({ index, metrics }) => {
        assert.equal(index, steps.length);
        const { tokens_per_second: speed, ...others } = metrics;
        assert.ok(speed > 0);
        // What no two attempts have alike.
        steps.push(others);
      },
      warned: async () => undefined,
      ...on,
    });
    const assignment = await assignmentOf(runner, step, given);
    const outcome = await runner.run(assignment, report, { signal });
    await runner.discardWork(assignment.job.id);
    return { outcome, started, steps };
  }

  /** The hash of every file of a version. */
  published(step: number): Record<string, string> {
    const folder = join(this.dataFolder, "adapters", "m", String(step));
    const files = ["adapter_config.json", "adapter_model.safetensors", "optimizer.safetensors"];
    assert.deepEqual(readdirSync(folder).sort(), files);
    const hashOf = (file: string): string =>
      createHash("sha256")
        .update(readFileSync(join(folder, file)))
        .digest("hex");
    return Object.fromEntries(files.map((file) => [file, hashOf(file)]));
  }
}

/** For the tests that need nothing of their own: a process takes as long to start as most of them. */
const shared = new Bench({ after });

interface RunOptions {
  readonly on?: SeenEvents;
  readonly runner?: ChildJobRunner;
  readonly signal?: AbortSignal;
}

async function assignmentOf(
  runner: ChildJobRunner,
  step: number,
  { jobId = "job", from = 0, withState = from > 0, baseModel = "tiny", pins, ...config }: Given,
): Promise<JobAssignment> {
  const createdAt = new Date(0);
  const model = {
    id: "m",
    entity: "e",
    project: "p",
    name: "n",
    baseModel,
    adapter: adapterOfServer,
    createdAt,
  };
  const adapterFolder = from === 0 ? null : join("adapters", "m", String(from));
  const version = {
    id: "v",
    modelId: "m",
    step: from,
    adapterFolder,
    trainerState: withState && adapterFolder !== null ? join(adapterFolder, "optimizer.safetensors") : null,
    jobId: null,
    metrics: {},
    isPinned: false,
    base: null,
    adapterHash: null,
    copiedKind: null,
    createdAt,
  };
  const task = { kind: "rl", config: resolveTrainingConfig({ learningRate: 1e-3, ...config }) } as const;
  return {
    job: {
      id: jobId,
      modelId: "m",
      state: "running",
      task,
      configNotApplied: [],
      createdAt,
      startedAt: createdAt,
      endedAt: null,
      errorMessage: null,
      attemptCount: 1,
      lostCount: 0,
      restartCount: 0,
      waitingFor: null,
      warnings: [],
      progress: null,
      counts: null,
      resultStep: null,
      cancelRequested: false,
      contentHash: "",
      pins: null,
      replayOf: null,
      retryOf: null,
      comparison: null,
      dataRemovedAt: null,
    },
    model,
    from: version,
    fromKind: from === 0 ? null : "rl",
    replay: null,
    pins: {
      startStep: from,
      resultStep: step,
      seed: "seed",
      hasTrainerState: version.trainerState !== null,
      ...(await runner.pinsFor(model, version, task)),
      ...pins,
    },
  };
}

function kill(processIds: readonly number[]): void {
  assert.equal(processIds.length, 1);
  process.kill(processIds[0], "SIGKILL");
}

function isAlive(processId: number): boolean {
  try {
    return process.kill(processId, 0);
  } catch {
    // There is none of that id.
    return false;
  }
}

function rejectsWith(code: string): (error: unknown) => boolean {
  return (error) => error instanceof ServiceError && error.code === code;
}

checkService({
  name: "training runner",
  make: (t) => {
    const bench = new Bench(t);
    // It starts processes as jobs come, so it is up when it runs one.
    const upCount = (): Promise<number> =>
      bench.run(1).then(
        () => 1,
        () => bench.runner.processIds().length,
      );
    return { service: bench.runner, upCount };
  },
  failing: null,
});

test("a stop ends the attempt that runs, and leaves no process", async (t) => {
  const bench = new Bench(t);
  const { runner } = bench;
  const stopped: Promise<void>[] = [];
  const started = async (): Promise<void> => void stopped.push(runner.stop());
  await assert.rejects(bench.run(1, {}, { on: { started } }), rejectsWith("cancelled"));
  await Promise.all(stopped);
  assert.deepEqual([stopped.length, runner.processIds()], [1, []]);
});

test("trains, publishes a version, and reports every step", async (t) => {
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

test("the same version, data and pins give the same adapter, byte for byte, and replace an orphan", async () => {
  const { steps } = await shared.run(1);
  const first = shared.published(1);
  assert.deepEqual((await shared.run(1, { jobId: "later" })).steps, steps);
  assert.deepEqual(shared.published(1), first);
  assert.deepEqual((await shared.run(1, {}, { runner: shared.newRunner() })).steps, steps);
  assert.deepEqual(shared.published(1), first);
  await shared.run(1, { pins: { seed: "another" } });
  assert.notDeepEqual(shared.published(1), first);
});

test("goes on from a version with its optimizer, and tells how old the data is by then", async () => {
  await shared.run(1);
  const { steps } = await shared.run(2, { from: 1, precalculateLogprobs: true });
  // The rollouts say that they were made with version 0.
  for (const step of steps) assert.equal(step["offpolicy/policy_staleness_mean"], 1);
  await shared.run(3, { from: 1 });
  const versions = [1, 2, 3].map((step) => shared.published(step)["adapter_model.safetensors"]);
  assert.equal(new Set(versions).size, 3);
});

test("goes on from a version without its optimizer, and says so", async () => {
  const { outcome } = await shared.run(1);
  await shared.run(2, { from: 1 });
  for (let call = 0; call < 2; call++) await shared.runner.discardState(outcome.trainerState ?? "");
  const folder = join(shared.dataFolder, outcome.adapterFolder);
  assert.deepEqual(readdirSync(folder).toSorted(), ["adapter_config.json", "adapter_model.safetensors"]);
  const warnings: string[] = [];
  const warned = async ({ warning }: { readonly warning: string }): Promise<void> =>
    void warnings.push(warning);
  await shared.run(3, { from: 1, withState: false }, { on: { warned } });
  assert.match(warnings.join(), /^Training goes on .* with a fresh optimizer/);
  assert.notDeepEqual(shared.published(3), shared.published(2));
});

test("a state of another trainer stays there, and the log names it, also one of a job that has ended", async () => {
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

test("a job keeps the settings that it is pinned to, whatever the server's are by now", async () => {
  const pinned = await assignmentOf(shared.runner, 1, {});
  const { steps } = await shared.run(1);
  const sizes = { batchTokens: 2048, loraRank: 3, sequenceLengthMax: 8 };
  const changed = { ...settings, ...sizes, weightDecay: 5 };
  const runner = shared.newRunner({ settings: changed });
  const first = shared.published(1);
  assert.deepEqual((await shared.run(1, { pins: pinned.pins }, { runner })).steps, steps);
  assert.deepEqual(shared.published(1), first);
  // How much is computed at once is not pinned, and changes nothing but by rounding.
  const smaller = shared.newRunner({ settings: { ...settings, microbatchTokens: 1 } });
  const inParts = (await shared.run(1, {}, { runner: smaller })).steps;
  assert.equal(inParts.length, steps.length);
  inParts.forEach(({ loss }, index) => assert.ok(Math.abs(loss - steps[index]["loss"]) < 1e-4));
});

test("a job goes on with the tools of its prompts shown as when it began", async (t) => {
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

test("a job over a base that is served with fewer bits takes its own old log-probabilities, until its end", async (t) => {
  const bench = new Bench(t);
  const quantized = bench.newRunner({ precisions: new Map([["tiny", "int8"]]) });
  const { pins } = await assignmentOf(quantized, 1, {});
  assert.equal(pins.settings["servedPrecision"], "int8");
  const { steps } = await bench.run(1, {}, { runner: quantized });
  assert.deepEqual((await bench.run(1, { precalculateLogprobs: true })).steps, steps);
  assert.deepEqual((await bench.run(1, { pins })).steps, steps);
  assert.notDeepEqual((await bench.run(1)).steps, steps);
});

test("one process does jobs of other settings one after the other", async (t) => {
  const bench = new Bench(t);
  await bench.run(1);
  const pins = { settings: { ...pinnedSettings(settings), batchTokens: 2048 } };
  assert.equal((await bench.run(1, { pins })).steps.length, 1);
  assert.equal(bench.runner.processIds().length, 1);
});

test("a process that waits for work may be silent for longer than one that trains", async (t) => {
  const clock = new FakeClock();
  const kept = { ...settings, idleMs: 10 * settings.stallDeadlineMs };
  const bench = new Bench(t, goldenGroups(), { clock, settings: kept });
  await bench.run(1);
  const idle = bench.runner.processIds();
  await clock.advance(settings.stallDeadlineMs);
  await bench.run(2);
  assert.deepEqual([bench.runner.processIds(), idle.length], [idle, 1]);
});

test("a process that is just being ended for its idleness takes no job along", async (t) => {
  const clock = new FakeClock();
  const kept = { ...settings, idleMs: 10 * settings.stallDeadlineMs };
  const bench = new Bench(t, goldenGroups(), { clock, settings: kept });
  await bench.run(1);
  const [idle = 0] = bench.runner.processIds();
  // It is there until it has read that it is to end.
  process.kill(idle, "SIGSTOP");
  t.after(() => void process.kill(idle, "SIGKILL"));
  await clock.advance(kept.idleMs);
  await bench.run(2);
  assert.deepEqual([isAlive(idle), bench.runner.processIds().includes(idle)], [true, false]);
});

test("a process is ended after its job where none is kept", async (t) => {
  const bench = new Bench(t, goldenGroups(), { settings: { ...settings, idleMs: 0 } });
  const ids: number[] = [];
  await bench.run(1, {}, { on: { started: async () => void ids.push(...bench.runner.processIds()) } });
  assert.equal(ids.length, 1);
  while (isAlive(ids[0])) await systemClock.sleep(5);
});

test("refuses to go on with another base model, and names both", async () => {
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

test("goes on in another build, and says so in the log", async (t) => {
  const warnings: unknown[] = [];
  const logger = { ...silentLogger, warn: (fields: unknown) => void warnings.push(fields) };
  const bench = new Bench(t, goldenGroups(), { logger });
  await bench.run(1);
  assert.deepEqual(warnings, []);
  await bench.run(1, { pins: { trainerBuild: "hone-0.0.1" } });
  assert.equal(warnings.length, 1);
});

test("a job in which nothing can train publishes what it started from, and says why", async (t) => {
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

test("a process that dies is a lost attempt, and the next attempt works", async (t) => {
  const bench = new Bench(t);
  const { runner } = bench;
  await assert.rejects(
    bench.run(1, {}, { on: { started: async () => kill(runner.processIds()) } }),
    rejectsWith("unavailable"),
  );
  assert.equal(existsSync(join(bench.dataFolder, "adapters", "m", "1")), false);
  await bench.run(1);
  bench.published(1);
});

test("a process that dies between two steps has the next attempt go on behind the last one, to the same version", async (t) => {
  for (const precalculateLogprobs of searchedOf([false, true], 1)) {
    const { steps, outcome } = await shared.run(1, { precalculateLogprobs });
    const bench = new Bench(t, goldenGroups(), { settings: { ...settings, snapshotShare: 1 } });
    const { runner } = bench;
    const on: SeenEvents = {
      saved: async ({ stepCount }) => void (stepCount > 0 && kill(runner.processIds())),
    };
    await assert.rejects(bench.run(1, { precalculateLogprobs }, { on }), rejectsWith("unavailable"));
    const saved: number[] = [];
    const reported: number[] = [];
    const again = await bench.run(
      1,
      { precalculateLogprobs },
      {
        on: {
          saved: async ({ stepCount }) => void saved.push(stepCount),
          stepped: async ({ index }) => void reported.push(index),
        },
      },
    );
    assert.equal(saved[0], 1, "it began behind the first step");
    assert.deepEqual(reported, [...steps.keys()], "what may not have been told is told again");
    assert.deepEqual(bench.published(1), shared.published(1));
    assert.deepEqual(lossesOf(again.outcome), lossesOf(outcome));
    assert.deepEqual(readdirSync(join(bench.dataFolder, "jobs")), []);
  }
});

test("a trainer elsewhere gives the version of the embedded one; a process that dies there has the next attempt go on, and its states go", async (t) => {
  const computing = new Bench(t);
  const config = readModelConfig(baseFolder);
  const trainers = new EmbeddedTrainers({
    config,
    weights: readModelWeights(baseFolder, config, { cacheFolder: computing.dataFolder }),
    lora: { rank: 8, alpha: 16, targets: projectionNames },
    baseModelName: "there",
    artifacts: dataFolderAt(computing.dataFolder).artifacts,
    sequenceLengthMax: 1000,
    microbatchTokens: 1000,
    sharesPrefixes: true,
    threads: 1,
  });
  const folder = computing.dataFolder;
  const server = new StubServer({ kind: "skyrl-jax", trainers, base: "there", rank: 8, folder });
  t.after(async () => {
    await server.stop();
    await trainers.close();
  });
  const url = await server.start();
  const address = { url, kind: "skyrl-jax", bases: { tiny: "there" }, adapters: null } as const;
  const bench = new Bench(t, goldenGroups(), {
    settings: { ...settings, snapshotShare: 1 },
    elsewhere: { address, apiKey: "any" },
  });
  const { runner } = bench;
  let killCount = 0;
  const saved: number[] = [];
  const on: SeenEvents = {
    saved: async ({ stepCount }) => {
      saved.push(stepCount);
      if (stepCount > 0 && killCount++ === 0) kill(runner.processIds());
    },
  };
  await assert.rejects(bench.run(1, {}, { on }), rejectsWith("unavailable"));
  const { outcome, steps } = await bench.run(1, {}, { on });
  assert.equal(saved[1], 1, "it began behind the first step");
  const { outcome: embedded } = await shared.run(1);
  for (const name of ["loss/train", "loss/kl_div"])
    assert.ok(Math.abs(outcome.metrics[name] - embedded.metrics[name]) < 2e-2, name);
  assert.ok(steps.length > 1);
  assert.equal(stateOf(outcome.trainerState ?? "").trainer, "tinker-skyrl-jax");
  assert.deepEqual(
    server.kept.filter((kept) => kept.includes("/training/")).length,
    1,
    "snapshots went with the job",
  );
  server.fault = () => ({ kind: "answer", status: 400, body: "{}" });
  await runner.discardState(outcome.trainerState ?? "");
  assert.equal(server.kept.length, 1, "what cannot be removed stays, and nobody waits for it");
  server.fault = () => null;
  await runner.discardState(outcome.trainerState ?? "");
  assert.deepEqual(server.kept, []);
});

test("a job over a base in 8 bits tells how far that is from float32, and an attempt that goes on makes the same version", async (t) => {
  const given = { basePrecision: "int8" } as const;
  const whole = new Bench(t);
  const { steps, outcome } = await whole.run(1, given);
  const told = "loss/base_precision_difference_mean";
  assert.deepEqual(
    steps.map((step) => told in step),
    steps.map((_, index) => index === 0),
  );
  assert.ok(steps[0][told] > 0 && steps[0][told] < 0.2, `${steps[0][told]}`);
  const exact = await shared.run(1, { precalculateLogprobs: true });
  assert.notDeepEqual(whole.published(1), shared.published(1));
  const [loss, exactLoss] = [steps[0]["loss"], exact.steps[0]["loss"]];
  assert.ok(Math.abs(loss - exactLoss) < 0.05, `${loss}, ${exactLoss}`);
  const bench = new Bench(t, goldenGroups(), { settings: { ...settings, snapshotShare: 1 } });
  const on: SeenEvents = {
    saved: async ({ stepCount }) => void (stepCount > 0 && kill(bench.runner.processIds())),
  };
  await assert.rejects(bench.run(1, given, { on }), rejectsWith("unavailable"));
  const again = await bench.run(1, given);
  assert.deepEqual(bench.published(1), whole.published(1));
  assert.deepEqual(lossesOf(again.outcome), lossesOf(outcome));
});

test("the precision of the base is the job's, else the server's, until the job's end", async (t) => {
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

function lossesOf({ metrics }: JobOutcome): object {
  return Object.fromEntries(Object.entries(metrics).filter(([name]) => name.startsWith("loss/")));
}

test("an abort kills the process, whatever it is about, and leaves no version", async (t) => {
  for (const phase of searchedOf(["preparing", "training", "publishing"], 1)) {
    const bench = new Bench(t);
    const controller = new AbortController();
    const { signal } = controller;
    const on: SeenEvents = {
      started: async () => void (phase === "preparing" && controller.abort()),
      entered: async (entered) => void (phase === entered.phase && controller.abort()),
    };
    await assert.rejects(bench.run(1, {}, { on, signal }), rejectsWith("cancelled"));
    assert.deepEqual(bench.runner.processIds(), []);
    await assert.rejects(bench.run(1, {}, { signal }), rejectsWith("cancelled"));
    await bench.runner.discard(await assignmentOf(bench.runner, 1, {}));
    assert.equal(existsSync(join(bench.dataFolder, "adapters", "m", "1")), false);
  }
});

test("what was published for a model that is gone is removed by another server's start, unless it was kept", async (t) => {
  const bench = new Bench(t);
  const { artifacts } = dataFolderAt(bench.dataFolder);
  const sweep = (isKnown: boolean): Promise<readonly string[]> =>
    artifacts.sweepAbandoned({ isLive: async () => false, isKnown: async () => isKnown });
  await bench.run(1);
  assert.deepEqual(await sweep(true), []);
  await bench.run(2);
  assert.deepEqual(await sweep(false), ["adapters/m/2"]);
  await bench.run(2);
  await bench.runner.keep(await assignmentOf(bench.runner, 2, {}));
  await bench.run(3);
  await bench.runner.discard(await assignmentOf(bench.runner, 3, {}));
  assert.deepEqual(await sweep(false), []);
  assert.deepEqual(await artifacts.names("adapters/m"), ["1", "2"]);
});

test("a process whose job another server has puts nothing where that puts its own, and ends", async (t) => {
  const bench = new Bench(t);
  let isOthers = false;
  const message = "It is another server's.";
  const on: SeenEvents = {
    entered: async ({ phase }) => void (isOthers = phase === "publishing"),
    "asks-for-job": async () => {
      if (isOthers) throw new ServiceError({ code: "conflict", message });
    },
  };
  await assert.rejects(bench.run(1, {}, { on }), { code: "conflict", message });
  assert.equal(existsSync(join(bench.dataFolder, "adapters", "m", "1")), false);
  assert.deepEqual(bench.runner.processIds(), []);
});

test("silence beyond the deadline is a lost attempt", async (t) => {
  const clock = new FakeClock();
  const bench = new Bench(t, goldenGroups(), { clock, settings: { ...settings, stallDeadlineMs: 1000 } });
  const rejected = assert.rejects(bench.run(1), rejectsWith("unavailable"));
  while (clock.sleepingCount === 0) await new Promise((resolve) => setImmediate(resolve));
  await clock.advance(1001);
  await rejected;
});

test("a base model that is not served, or whose files are gone, is an obstacle, not the end of the job", async (t) => {
  const baseFolders = new Map([["unmounted", "test/fixtures/goldens"]]);
  const bench = new Bench(t, goldenGroups(), { baseFolders });
  for (const [baseModel, message] of [
    ["absent", /base model "absent" is not served/],
    ["unmounted", /files of the base model "unmounted" are not/],
  ] as const)
    await assert.rejects(bench.run(1, { baseModel }), (error) => {
      assert.ok(error instanceof ServiceError && error.code === "unavailable");
      assert.equal(error.obstacle, "missing-base");
      assert.match(error.message, message);
      return true;
    });
});

test("a full disk is an obstacle, where the job's trajectories are written and where its version is", async (t) => {
  const full = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
  const isObstacle = (error: unknown): boolean =>
    error instanceof ServiceError && error.code === "unavailable" && error.obstacle === "full-disk";
  const bench = new Bench(t);
  await assert.rejects(bench.run(1, {}, { on: { started: () => Promise.reject(full) } }), isObstacle);
  assert.ok(isObstacle(errorOf(failureOf(full, "internal"))));
});

test("weights that are finite and cannot serve end the job in words, and nothing is published", async (t) => {
  const bench = new Bench(t);
  const pins = { settings: { ...pinnedSettings(settings), batchTokens: 2048 } };
  const tooGreat = { learningRate: 1e25, pins };
  await assert.rejects(bench.run(1, tooGreat), { code: "unsupported", message: /^After its last step/ });
  assert.equal(existsSync(join(bench.dataFolder, "adapters")), false);
});

test("refuses jobs that cannot work, in the job's own words", async (t) => {
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
