// Tests what the next attempt does after a training process has died, was ended, or lacked something that it needs.
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { dataFolderAt } from "../../store/artifacts/testing/data-folder.ts";
import { goldenGroups } from "../../../test/golden-trajectories.ts";
import { FakeClock } from "../../base/domain/testing/fake-clock.ts";
import { searchedOf } from "../../base/domain/testing/search.ts";
import type { JobOutcome } from "../../base/domain/job.ts";
import { projectionNames } from "../../base/domain/model.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { toServiceError, failureOf } from "../../base/processes/serialized-error.ts";
import { stateOf } from "../../base/domain/trainer/profile.ts";
import { readModelConfig } from "../../inference/architectures/config/read-config.ts";
import { readModelWeights } from "../../inference/architectures/weights.ts";
import { EmbeddedTrainers } from "./embedded/embedded-trainer.ts";
import { StubServer } from "./tinker/testing/stub-server.ts";
import { type SeenEvents } from "./testing/silent-report.ts";
import { settings, baseFolder, Bench, shared, assignmentOf, rejectsWith } from "./testing/runner-bench.ts";

function kill(processIds: readonly number[]): void {
  assert.equal(processIds.length, 1);
  process.kill(processIds[0], "SIGKILL");
}

test("a process that dies costs one attempt, and the next one succeeds", async (t) => {
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

test("after a process dies between two steps, the next attempt continues after the last one and gives the same version", async (t) => {
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
    assert.equal(saved[0], 1, "it began after the first step");
    assert.deepEqual(reported, [...steps.keys()], "repeats what may not have been reported");
    assert.deepEqual(bench.published(1), shared.published(1));
    assert.deepEqual(lossesOf(again.outcome), lossesOf(outcome));
    assert.deepEqual(readdirSync(join(bench.dataFolder, "jobs")), []);
  }
});

test("a remote trainer gives the embedded trainer's version, continues after a lost process, and discards its states", async (t) => {
  const computing = new Bench(t);
  const config = readModelConfig(baseFolder);
  const trainers = new EmbeddedTrainers({
    config,
    readWeights: () => readModelWeights(baseFolder, config, { cacheFolder: computing.dataFolder }),
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
  assert.equal(saved[1], 1, "it began after the first step");
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

test("a job over an 8-bit base reports its distance to float32, and a continued attempt gives the same version", async (t) => {
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

function lossesOf({ metrics }: JobOutcome): object {
  return Object.fromEntries(Object.entries(metrics).filter(([name]) => name.startsWith("loss/")));
}

test("an abort kills the process at any stage and leaves no version", async (t) => {
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

test("another server's start removes the published files of a deleted model, unless they are kept", async (t) => {
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

test("a process that lost its job to another server writes nothing there and ends", async (t) => {
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

test("silence beyond the deadline costs one attempt", async (t) => {
  const clock = new FakeClock();
  const bench = new Bench(t, goldenGroups(), { clock, settings: { ...settings, stallDeadlineMs: 1000 } });
  const rejected = assert.rejects(bench.run(1), rejectsWith("unavailable"));
  while (clock.sleepingCount === 0) await new Promise((resolve) => setImmediate(resolve));
  await clock.advance(1001);
  await rejected;
});

test("a base model that is not served, or whose files are missing, is a transient error and does not end the job", async (t) => {
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

test("a full disk is a transient error, both for the job's trajectories and for its version", async (t) => {
  const full = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
  const isObstacle = (error: unknown): boolean =>
    error instanceof ServiceError && error.code === "unavailable" && error.obstacle === "full-disk";
  const bench = new Bench(t);
  await assert.rejects(bench.run(1, {}, { on: { started: () => Promise.reject(full) } }), isObstacle);
  assert.ok(isObstacle(toServiceError(failureOf(full, "internal"))));
});
