// Tests servers that die before or after a random store call. Also simulates lost attempts, cancelled jobs and orderly
// restarts. In every order, each job ends once, and each success has exactly one version.
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { FakeClock } from "../../base/domain/testing/fake-clock.ts";
import { isTerminal, type JobRunner, type JobStore } from "../../base/domain/job.ts";
import type { ServerStore } from "../../base/domain/servers/server-store.ts";
import { type Random, seededRandom } from "../../base/domain/random.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { resolveTrainingConfig } from "../../base/domain/training-config.ts";
import { storeModel } from "../../store/database/contract/storage-under-test.ts";
import type { Stores } from "../../store/database/stores.ts";
import { storesInMemory } from "../../store/database/testing/stores-in-memory.ts";
import { silentLogger } from "../../base/telemetry/testing/silent-logger.ts";
import { embeddedProfile } from "../trainer/embedded/profile.ts";
import { JobQueue } from "./job-queue.ts";
import { newJob } from "./new-job.ts";
import { ServerLease } from "./server-lease.ts";
import { jobSettings } from "./settings.ts";
import { searchSeeds } from "../../base/domain/testing/search.ts";

const jobIds = ["a1", "b1", "a2", "a3", "b2", "a4"] as const;
const modelOf = (jobId: string): string => jobId.charAt(0);
const stepCountOf = (jobId: string): number => jobIds.indexOf(jobId as (typeof jobIds)[number]);

test("ends every job once, with one version per success, whenever servers die", async (t) => {
  for (const seed of searchSeeds(1)) await checkWorld(t, 1, seededRandom("job crashes", seed));
});

test("ends every job once with two servers, which never train the same job at the same time", async (t) => {
  for (const seed of searchSeeds(1)) await checkWorld(t, 2, seededRandom("two servers", seed));
});

interface World {
  readonly database: Stores;
  readonly clock: FakeClock;
  readonly random: Random;
  /** Ids of the jobs that some server is training at this moment. */
  readonly trained: Set<string>;
  /** Ids of jobs that two servers trained at the same time, which must not happen. */
  readonly trainedTwice: string[];
}

async function checkWorld(t: TestContext, serverCount: number, random: Random): Promise<void> {
  const database = await storesInMemory();
  const clock = new FakeClock();
  const world: World = { database, clock, random, trained: new Set(), trainedTwice: [] };
  await submitAll(database, clock);
  let crashCount = 0;
  let living: readonly Living[] = [];
  for (let turn = 0; !(await allEnded(database.jobs)); turn++) {
    assert.ok(turn < 10_000, "the jobs end at last");
    while (living.length < serverCount) living = [...living, await startServer(world, serverCount === 1)];
    if (random.uniform() < 0.02) {
      const { queue } = living[random.index(living.length)];
      await queue.cancel(jobIds[random.index(jobIds.length)]).catch(() => undefined);
    }
    await clock.advance(random.index(3000));
    const going = living.filter(({ crash }) => crash.signal.aborted || random.uniform() < 0.1);
    living = living.filter((server) => !going.includes(server));
    for (const { crash, stop } of going) {
      crashCount += crash.signal.aborted ? 1 : 0;
      await stop();
    }
  }
  for (const server of living) await server.stop();
  t.diagnostic(`${crashCount} crashes`);
  assert.deepEqual(world.trainedTwice, []);
  await checkEndings(database);
}

async function submitAll(database: Stores, clock: FakeClock): Promise<void> {
  const createdAt = clock.now();
  for (const id of ["a", "b"]) await storeModel(database.models, id);
  for (const id of jobIds) {
    const config = resolveTrainingConfig({});
    const job = newJob({
      id,
      modelId: modelOf(id),
      task: { kind: "rl", config },
      configNotApplied: [],
      createdAt,
    });
    await database.jobs.create(job, [], null);
  }
}

interface Living {
  readonly queue: JobQueue;
  /** Aborts at the moment when the server dies. */
  readonly crash: AbortController;
  /**
   * Stops the server's loops. After a crash, its stores refuse every call, so stopping has no effect that a real crash
   * would not have.
   */
  readonly stop: () => Promise<void>;
}

/**
 * Starts a server.
 *
 * @param isAlone true for a database such as SQLite, whose lock proves at a server's start that the previous server is
 * dead: its lease then ends immediately
 */
async function startServer(world: World, isAlone: boolean): Promise<Living> {
  const { database, clock, random } = world;
  const crash = new AbortController();
  const jobs = mortal(database.jobs, random, crash);
  const servers = isAlone ? database.servers : reachedUntil(crash.signal, database.servers);
  const base = { clock, logger: silentLogger };
  const concurrency = 1 + random.index(2);
  const settings = jobSettings.with({ startsMax: 1000, attemptsMax: 4, leaseMs: 8000, concurrency });
  const lease = new ServerLease({ ...base, servers, baseModels: ["tiny"], artifacts: "shared" }, settings);
  const runner = unreliableRunner(world);
  const queue = new JobQueue(
    { ...base, jobs, models: database.models, runner, lease, announcements: database.announcements },
    settings,
  );
  await lease.start();
  await queue.start().catch(() => undefined);
  const stop = async (): Promise<void> => {
    await queue.stop();
    await lease.stop();
  };
  return { queue, crash, stop };
}

/** Wraps a store so that it refuses every call once the signal has aborted. */
function reachedUntil(signal: AbortSignal, store: ServerStore): ServerStore {
  const reach = <Answer>(call: () => Promise<Answer>): Promise<Answer> =>
    signal.aborted ? Promise.reject(new Error("the process is dead")) : call();
  return {
    create: (...args) => reach(() => store.create(...args)),
    renew: (...args) => reach(() => store.renew(...args)),
    serves: (...args) => reach(() => store.serves(...args)),
    keepsElsewhere: (...args) => reach(() => store.keepsElsewhere(...args)),
    has: (...args) => reach(() => store.has(...args)),
    delete: (...args) => reach(() => store.delete(...args)),
    deleteExpired: (...args) => reach(() => store.deleteExpired(...args)),
  };
}

/**
 * Wraps the job store of a process that dies at a random call. That call may still take effect; all later calls fail.
 */
function mortal(store: JobStore, random: Random, crash: AbortController): JobStore {
  let callsLeft = 1 + random.index(25);
  const call = async (name: keyof JobStore, args: readonly unknown[]): Promise<unknown> => {
    const isLast = --callsLeft === 0;
    if (callsLeft < 0 || (isLast && random.uniform() < 0.5)) {
      crash.abort();
      throw new Error("the process is dead");
    }
    // Safe cast: `name` and `args` come from one call of the wrapped method, so the arguments fit.
    const answer = await (store[name] as (...args: readonly unknown[]) => Promise<unknown>)(...args);
    if (isLast) {
      crash.abort();
      throw new Error("the process died after the call");
    }
    return answer;
  };
  return new Proxy(store, {
    get:
      (_target, name) =>
      (...args: readonly unknown[]) =>
        call(name as keyof JobStore, args),
  });
}

/**
 * Returns a runner that trains for one second per step. The number of steps is the job's position in the list.
 * Occasionally, the runner loses an attempt.
 */
function unreliableRunner({ clock, random, trained, trainedTwice }: World): JobRunner {
  const train: JobRunner["run"] = async ({ job, pins }, report, { signal }) => {
    const counts = {
      groupsSubmitted: 1,
      groupsTrainable: 1,
      trajectories: 2,
      sequences: 2,
      trainableTokens: 10,
      skipped: {},
      skippedGroups: {},
    };
    await report({
      kind: "started",
      stepCount: stepCountOf(job.id),
      counts,
      metrics: { num_sequences: stepCountOf(job.id) },
    });
    for (let index = 0; index < stepCountOf(job.id); index++) {
      await clock.sleep(1000, { signal });
      if (random.uniform() < 0.05) throw new ServiceError({ code: "unavailable", message: "died" });
      await report({ kind: "stepped", index, metrics: { step: index } });
    }
    return {
      adapterFolder: `adapters/${job.modelId}/${pins.resultStep}`,
      trainerState: null,
      base: "weights",
      adapterHash: "hash",
      counts,
      metrics: {},
    };
  };
  return {
    trainer: embeddedProfile,
    keep: async () => undefined,
    discard: async () => undefined,
    discardWork: async () => undefined,
    discardState: async () => undefined,
    pinsFor: async () => ({ settings: {}, baseHash: "base", trainerBuild: "build" }),
    run: async (assignment, ...rest) => {
      const { id } = assignment.job;
      if (trained.has(id)) trainedTwice.push(id);
      trained.add(id);
      try {
        return await train(assignment, ...rest);
      } finally {
        trained.delete(id);
      }
    },
  };
}

async function allEnded(jobs: JobStore): Promise<boolean> {
  const { items } = await jobs.list(
    { entity: null, modelId: null, kind: null, state: null },
    { after: null, limit: 100, order: "asc" },
  );
  return items.every((job) => isTerminal(job.state));
}

async function checkEndings({ jobs, models }: Stores): Promise<void> {
  const firstPage = { after: null, limit: 100, order: "asc" } as const;
  const madeBy = new Map<string, string[]>();
  for (const id of jobIds) {
    const job = await jobs.find(id);
    const types = (await jobs.listEvents(id, firstPage)).items.map((event) => event.type);
    const reportedStepCount = types.filter((type) => type === "gradient_step").length;
    if (job?.state === "succeeded") {
      madeBy.set(modelOf(id), [...(madeBy.get(modelOf(id)) ?? []), id]);
      const steps = Array.from({ length: stepCountOf(id) }, () => "gradient_step");
      assert.deepEqual(types, ["training_started", ...steps, "training_ended"]);
    } else {
      assert.equal(types.filter((type) => type === "training_failed").length, 1);
      assert.equal(types.at(-1), "training_failed");
      assert.ok(!types.includes("training_ended"));
      assert.ok(reportedStepCount <= stepCountOf(id));
      assert.ok(types.filter((type) => type === "training_started").length <= 1);
    }
  }
  for (const modelId of ["a", "b"]) {
    const { items } = await models.listVersions(modelId, firstPage);
    const made = madeBy.get(modelId) ?? [];
    assert.deepEqual(
      items.map((version) => [version.step, version.jobId]),
      [[0, null], ...made.map((jobId, index) => [index + 1, jobId])],
      "versions follow each other in the order of the jobs, one for each that succeeded",
    );
  }
}
