// Tests which jobs can be repeated, and which other jobs must be repeated with them.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JobRunner } from "../../base/domain/job.ts";
import { notFound, ServiceError } from "../../base/domain/service-error.ts";
import {
  moment,
  sampleCounts,
  sampleJob,
  samplePins,
  sampleVersion,
  storeModel,
  storeServer,
} from "../../store/database/contract/storage-under-test.ts";
import type { Stores } from "../../store/database/stores.ts";
import { storesInMemory } from "../../store/database/testing/stores-in-memory.ts";
import { embeddedProfile } from "../trainer/embedded/profile.ts";
import { planReplay } from "./replay.ts";

/** A model `m` with versions 1 to 4. Job number n created version n from the previous version. */
class Bench {
  readonly database: Stores;
  trainer: JobRunner["trainer"] = embeddedProfile;
  runner: Pick<JobRunner, "pinsFor"> = { pinsFor: async () => samplePins };

  constructor(database: Stores) {
    this.database = database;
  }

  static async open(): Promise<Bench> {
    const bench = new Bench(await storesInMemory());
    await storeModel(bench.database.models, "m");
    await storeServer(bench.database.servers);
    for (const step of [1, 2, 3, 4]) await bench.publish(step);
    return bench;
  }

  /** Stores version `step` and the job that made it. Only the model's newest version keeps its optimizer state. */
  async publish(step: number, pins: Partial<typeof samplePins> = {}): Promise<void> {
    const { jobs, models } = this.database;
    const id = `${step}`;
    await jobs.create(sampleJob(id, "m"), [], null);
    await jobs.claim("server", moment(0));
    const hasTrainerState = step > 1;
    await jobs.pin(id, "server", {
      ...samplePins,
      startStep: step - 1,
      resultStep: step,
      hasTrainerState,
      ...pins,
    });
    const version = sampleVersion("m", step, { jobId: id, trainerState: `state ${step}` });
    await jobs.succeed(id, { owner: "server", version, counts: sampleCounts, at: moment(1), data: {} });
    await models.dropTrainerStates("m", await models.oldTrainerStates("m", 1));
  }

  /** Returns the jobs that a replay would repeat, in order, and the version to which its result would be compared. */
  async plan(jobId: string, replayJobsMax = 16): Promise<readonly unknown[]> {
    const { jobs, models } = this.database;
    const job = { ...sampleJob("replay", "m", { replayOf: jobId }), contentHash: "", dataRemovedAt: null };
    const model = (await models.find("m")) ?? assert.fail("there is a model");
    const dependencies = { jobs, models, runner: { ...unused, ...this.runner, trainer: this.trainer } };
    const plan = await planReplay(dependencies, { replayJobsMax }, { job, model });
    assert.equal(plan.job, job);
    const earlier = plan.replay?.earlier.map((run) => run.job.id) ?? [];
    return [...earlier, plan.pins.resultStep, plan.replay?.version.step];
  }
}

const unused = {
  run: () => assert.fail("nothing runs"),
  keep: () => assert.fail("nothing is kept"),
  discard: () => assert.fail("nothing is discarded"),
  discardWork: () => assert.fail("nothing is discarded"),
  discardState: () => assert.fail("nothing is discarded"),
};

function refused(reason: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof ServiceError && error.code === "conflict", String(error));
    assert.match(error.message, /^This job cannot be replayed\. /);
    assert.match(error.message, reason);
    return true;
  };
}

test("repeats only the job if it started from the base model, otherwise also those whose optimizer state it continued", async () => {
  const bench = await Bench.open();
  assert.deepEqual(await bench.plan("1"), [1, 1]);
  assert.deepEqual(await bench.plan("4"), ["1", "2", "3", 4, 4]);
  await assert.rejects(bench.plan("4", 2), refused(/more than 2 jobs .* are not kept\./));
  assert.deepEqual(await bench.plan("4", 3), ["1", "2", "3", 4, 4]);
  await bench.publish(5, { hasTrainerState: false });
  assert.deepEqual(await bench.plan("5"), [5, 5]);
});

test("names anything that is missing or has changed", async () => {
  const bench = await Bench.open();
  const { jobs, models } = bench.database;
  await assert.rejects(bench.plan("none"), refused(/is gone/));
  await jobs.create(sampleJob("queued", "m"), [], null);
  await assert.rejects(bench.plan("queued"), refused(/it is queued/));
  await jobs.create(sampleJob("other", "m", { replayOf: "1" }), [], null);
  await assert.rejects(bench.plan("other"), refused(/replay 1, which it repeated/));
  await models.deleteVersions("m", [2], new Date(0));
  await assert.rejects(bench.plan("2"), refused(/Version 2, which it made, was deleted/));
  await assert.rejects(bench.plan("3"), refused(/Version 2, which it started from, was deleted/));
  await assert.rejects(bench.plan("4"), refused(/Version 2, which it started from, was deleted/));
});

test("names another build or base model, and other settings of a job that must be repeated too", async () => {
  const bench = await Bench.open();
  bench.runner = { pinsFor: async () => ({ ...samplePins, trainerBuild: "newer" }) };
  await assert.rejects(bench.plan("1"), refused(/made by .*, and this server trains with newer/));
  bench.runner = { pinsFor: async () => ({ ...samplePins, baseHash: "other" }) };
  await assert.rejects(bench.plan("1"), refused(/other files of the base model tiny/));
  bench.runner = { pinsFor: async () => samplePins };
  await bench.publish(5, { settings: { batchTokens: 3 } });
  await assert.rejects(
    bench.plan("5"),
    refused(
      /Version 5 was trained with other settings than version 1, .*: training\.batchTokens 3, there null, training\.threads null, there 2/,
    ),
  );
  const missing = notFound("base model", "tiny");
  bench.runner = { pinsFor: () => Promise.reject(missing) };
  await assert.rejects(bench.plan("1"), missing);
});

test("refuses a replay if the trainer is not deterministic", async () => {
  const bench = await Bench.open();
  bench.trainer = { ...embeddedProfile, name: "remote", isRepeatable: false };
  await assert.rejects(
    bench.plan("4"),
    refused(/The trainer of this server, remote, does not give the same bytes/),
  );
});
