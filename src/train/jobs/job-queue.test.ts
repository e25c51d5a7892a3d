// The queue on the store in memory, which is done with a call as soon as nothing else runs; with a runner that a test
// scripts and a clock that it moves.
import assert from "node:assert/strict";
import { once } from "node:events";
import { test, type TestContext } from "node:test";
import { present } from "../../base/domain/assert.ts";
import { FakeClock } from "../../base/domain/testing/fake-clock.ts";
import type { JobEvent, JobOutcome, JobPins, JobReport, JobRunner, JobStore } from "../../base/domain/job.ts";
import type { Announcements } from "../../base/domain/servers/announcements.ts";
import type { ServerStore } from "../../base/domain/servers/server-store.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { TrainerProfile } from "../../base/domain/trainer/profile.ts";
import { resolveTrainingConfig, type TrainingConfigInput } from "../../base/domain/training-config.ts";
import { checkService, type ServiceUnderTest } from "../../base/domain/testing/check-service.ts";
import type { Logger } from "../../base/telemetry/logger.ts";
import { silentLogger } from "../../base/telemetry/testing/silent-logger.ts";
import { rescueNow, storeModel, storeServer } from "../../store/storage/contract/storage-under-test.ts";
import type { Stores } from "../../store/storage/stores.ts";
import { memoryStorage } from "../../store/storage/testing/memory-database.ts";
import { embeddedProfile } from "../training/embedded/profile.ts";
import type { AttemptDependencies } from "./attempt-dependencies.ts";
import { JobQueue } from "./job-queue.ts";
import { newJob } from "./new-job.ts";
import { ServerLease } from "./server-lease.ts";
import { type JobSettings, jobSettings } from "./settings.ts";

type Run = JobRunner["run"];

const counts = {
  groupsSubmitted: 2,
  groupsTrainable: 1,
  trajectories: 4,
  sequences: 4,
  trainableTokens: 99,
  skipped: {},
  skippedGroups: {},
};
const outcome: JobOutcome = {
  adapterFolder: "adapters/x",
  trainerState: null,
  base: "weights",
  adapterHash: "hash",
  counts,
  metrics: { loss: 0.5 },
};
const startedEvent = {
  num_sequences: 2,
  num_groups_submitted: 2,
  num_groups_trainable: 1,
  num_trajectories: 4,
  num_trainable_tokens: 99,
};

/** Two steps, then done. */
const twoSteps: Run = async (_assignment, report) => {
  await report({ kind: "started", stepCount: 2, counts, metrics: startedEvent });
  await report({ kind: "stepped", index: 0, metrics: { loss: 1 } });
  await report({ kind: "stepped", index: 1, metrics: { loss: 0.7 } });
  return outcome;
};

/** Runs until it is interrupted. */
const untilInterrupted: Run = async (_assignment, report, { signal }) => {
  await report({ kind: "started", stepCount: 2, counts, metrics: startedEvent });
  await report({ kind: "stepped", index: 0, metrics: { loss: 1 } });
  await once(signal, "abort");
  throw new ServiceError({ code: "cancelled", message: "interrupted" });
};

const lost: Run = async () => {
  throw new ServiceError({ code: "unavailable", message: "The training process died." });
};

const pinsFor = async () => ({ settings: { batchTokens: 2 }, baseHash: "base", trainerBuild: "build" });

/** More than any queue here asks for: one that would ask for ever is stopped, and its test fails. */
const questionsMax = 1000;

/** The store, for a queue that finds and claims so many times and no more. */
function bounded(jobs: JobStore): JobStore {
  let count = 0;
  const ask = async <Answer>(answer: () => Promise<Answer>): Promise<Answer> => {
    assert.ok(count++ < questionsMax, `a queue asks its store less than ${questionsMax} times`);
    return await answer();
  };
  return {
    ...jobs,
    find: (...args) => ask(() => jobs.find(...args)),
    claim: (...args) => ask(() => jobs.claim(...args)),
  };
}

/** The store as a process sees it until it dies: from then on nothing reaches it. */
function mortal<Store extends object>(of: Store): { readonly store: Store; readonly die: () => void } {
  let isDead = false;
  const call = async (name: keyof Store, args: readonly unknown[]): Promise<unknown> => {
    if (isDead) throw new Error("the process is dead");
    // Every method of the interface takes what it was called with.
    return await (of[name] as (...args: readonly unknown[]) => Promise<unknown>)(...args);
  };
  const store = new Proxy(of, {
    get:
      (_target, name) =>
      (...args: readonly unknown[]) =>
        call(name as keyof Store, args),
  });
  return { store, die: () => void (isDead = true) };
}

/** A database with models `m` and `n`, a clock, and queues on them, all of a server with a lease unless they say otherwise. */
class Bench {
  readonly clock = new FakeClock();
  readonly database: Stores;
  readonly lease = { id: "server" };
  /** What its queues hear of what others do. */
  announcements: Announcements;
  trainer: TrainerProfile = embeddedProfile;
  /** What its runner would pin a job to. */
  pinsFor: JobRunner["pinsFor"] = pinsFor;
  /** What its queues do with a version before it is the newest. */
  prepareVersion: NonNullable<AttemptDependencies["prepareVersion"]> = async () => undefined;
  /** The jobs of which its runner heard that what they made stays. */
  readonly kept: string[] = [];
  /** The jobs whose leftovers its runner removed. */
  readonly discarded: string[] = [];
  /** The jobs of which it removed what attempts keep for each other. */
  readonly discardedWork: string[] = [];
  /** The states of older versions that its runner removed. */
  readonly discardedStates: string[] = [];
  /** What its queues logged as errors. */
  readonly errors: string[] = [];
  readonly #queues: JobQueue[] = [];

  constructor(database: Stores) {
    this.database = database;
    this.announcements = database.announcements;
  }

  readonly #logger: Logger = {
    ...silentLogger,
    error: (_fields, message) => void this.errors.push(message),
    child: () => this.#logger,
  };

  static async open(t: TestContext): Promise<Bench> {
    const database = memoryStorage()();
    const bench = new Bench(database);
    t.after(async () => {
      for (const queue of bench.#queues) await queue.stop();
    });
    for (const id of ["m", "n"]) await storeModel(database.models, id);
    await storeServer(database.servers);
    return bench;
  }

  /** The server loses its lease and gets another one, as after a restart; nobody has looked yet for what it left. */
  async renewServer(baseModels?: readonly string[]): Promise<void> {
    const { servers } = this.database;
    await servers.delete(this.lease.id);
    this.lease.id += "'";
    await storeServer(servers, this.lease.id, baseModels);
  }

  /** Another server takes up a job and dies. */
  async claimAndDie(): Promise<void> {
    const { jobs, servers } = this.database;
    await storeServer(servers, "dead");
    await jobs.claim("dead", this.clock.now());
    await servers.delete("dead");
  }

  /** A started queue whose attempts run as the given ones, the last of them from then on. */
  async start(runs: readonly Run[], settings: Partial<JobSettings> = {}): Promise<JobQueue> {
    let attemptIndex = 0;
    const queue = this.build((...args) => runs[Math.min(attemptIndex++, runs.length - 1)](...args), settings);
    await queue.start();
    return queue;
  }

  build(
    run: Run,
    settings: Partial<JobSettings> = {},
    jobs: JobStore = this.database.jobs,
    lease: Pick<ServerLease, "id"> = this.lease,
  ): JobQueue {
    const { models } = this.database;
    const queue = new JobQueue(
      {
        jobs: bounded(jobs),
        models,
        runner: {
          trainer: this.trainer,
          pinsFor: (...job) => this.pinsFor(...job),
          run,
          keep: async ({ job }) => void this.kept.push(job.id),
          discard: async ({ job }) => void this.discarded.push(job.id),
          discardWork: async (id) => void this.discardedWork.push(id),
          discardState: async (state) => void this.discardedStates.push(state),
        },
        prepareVersion: (version, baseModel) => this.prepareVersion(version, baseModel),
        clock: this.clock,
        logger: this.#logger,
        lease,
        announcements: this.announcements,
      },
      jobSettings.with(settings),
    );
    this.#queues.push(queue);
    return queue;
  }

  async submit(queue: JobQueue, id: string, modelId = "m"): Promise<void> {
    const config = resolveTrainingConfig({});
    await queue.submit(
      newJob({
        id,
        modelId,
        task: { kind: "rl", config },
        configNotApplied: [],
        createdAt: this.clock.now(),
      }),
      [],
      null,
    );
    await this.clock.advance(0);
  }

  async state(id: string): Promise<string | undefined> {
    return (await this.database.jobs.find(id))?.state;
  }

  async message(id: string): Promise<string> {
    return (await this.database.jobs.find(id))?.errorMessage ?? "";
  }

  async events(id: string): Promise<unknown> {
    const page = await this.database.jobs.listEvents(id, { after: null, limit: 100, order: "asc" });
    return page.items.map(({ type, data }) => [type, data]);
  }
}

/** A queue on a store of its own, up when its two loops wait: one for work, one for lost leases. */
async function idleQueue(t: TestContext, jobs: Partial<JobStore> = {}): Promise<ServiceUnderTest> {
  const { clock, database } = await Bench.open(t);
  const service = new JobQueue(
    {
      jobs: { ...database.jobs, ...jobs },
      models: database.models,
      runner: {
        trainer: embeddedProfile,
        pinsFor,
        run: twoSteps,
        keep: async () => undefined,
        discard: async () => undefined,
        discardWork: async () => undefined,
        discardState: async () => undefined,
      },
      clock,
      logger: silentLogger,
      lease: { id: "server" },
      announcements: database.announcements,
    },
    jobSettings.with({ concurrency: 1 }),
  );
  const upCount = async (): Promise<number> => {
    await clock.advance(0);
    return clock.sleepingCount / 2;
  };
  return { service, upCount };
}

checkService({
  name: "job queue",
  make: (t) => idleQueue(t),
  failing: {
    code: "internal",
    make: (t) =>
      idleQueue(t, {
        rescue: () => Promise.reject(new ServiceError({ code: "internal", message: "The disk is full." })),
      }),
  },
});

test("a submitted job runs at once, makes the next version, and emits its events", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([twoSteps]);
  await bench.submit(queue, "a");
  await bench.submit(queue, "b");
  const { jobs, models } = bench.database;
  assert.deepEqual(await bench.events("a"), [
    ["training_started", startedEvent],
    ["gradient_step", { loss: 1 }],
    ["gradient_step", { loss: 0.7 }],
    ["training_ended", { loss: 0.5, step: 1 }],
  ]);
  const job = await jobs.find("b");
  assert.deepEqual([job?.state, job?.resultStep, job?.attemptCount], ["succeeded", 2, 1]);
  const steps = { gradientStepCount: 2, gradientStepCountTotal: 2, savedStepCount: 0 };
  assert.deepEqual(job?.progress, { phase: "preparing", prepared: null, ...steps, endsAt: null });
  assert.deepEqual(job?.counts, counts);
  const version = await models.newestVersion("m");
  assert.deepEqual(
    [version?.step, version?.jobId, version?.adapterFolder, version?.metrics],
    [2, "b", "adapters/x", { loss: 0.5 }],
  );
});

test("a version is prepared before it is the newest, and stored where that fails", async (t) => {
  const bench = await Bench.open(t);
  const prepared: unknown[] = [];
  bench.prepareVersion = async ({ modelId, step, adapterHash }, baseModel) => {
    const newest = await bench.database.models.newestVersion(modelId);
    prepared.push([baseModel, step, adapterHash, newest?.step]);
    if (step === 2) throw new ServiceError({ code: "conflict", message: "The engine cannot load it." });
  };
  const queue = await bench.start([twoSteps]);
  for (const id of ["a", "b"]) await bench.submit(queue, id);
  assert.deepEqual(prepared, [
    ["tiny", 1, "hash", 0],
    ["tiny", 2, "hash", 1],
  ]);
  assert.deepEqual([await bench.state("a"), await bench.state("b")], ["succeeded", "succeeded"]);
  assert.equal((await bench.database.models.newestVersion("m"))?.step, 2);
});

test("each job starts from the newest version", async (t) => {
  const bench = await Bench.open(t);
  const seen: unknown[] = [];
  const queue = await bench.start([
    async (assignment, report) => {
      seen.push([assignment.job.id, assignment.from.step, assignment.pins.resultStep]);
      await report({ kind: "started", stepCount: 0, counts, metrics: { num_sequences: 0 } });
      return outcome;
    },
  ]);
  await bench.submit(queue, "a");
  await bench.submit(queue, "b");
  await bench.database.models.deleteVersions("m", [2]);
  await bench.submit(queue, "c");
  assert.deepEqual(seen, [
    ["a", 0, 1],
    ["b", 1, 2],
    ["c", 1, 3],
  ]);
});

test("every attempt goes by what the first one was pinned to", async (t) => {
  const bench = await Bench.open(t);
  const seen: JobPins[] = [];
  const attempt: Run = async ({ pins }, report) => {
    seen.push(pins);
    if (seen.length === 1) throw new ServiceError({ code: "unavailable", message: "died" });
    await report({ kind: "started", stepCount: 0, counts, metrics: { num_sequences: 0 } });
    return outcome;
  };
  const queue = await bench.start([attempt], { backoffMs: 1000 });
  await bench.submit(queue, "a");
  bench.pinsFor = () => assert.fail("a pinned job is not pinned again");
  await bench.clock.advance(1000);
  assert.equal(await bench.state("a"), "succeeded");
  const [first, second] = seen;
  assert.deepEqual(second, first);
  assert.deepEqual((await bench.database.jobs.find("a"))?.pins, first);
  const { seed, ...rest } = first;
  assert.match(seed, /^[0-9a-f]{64}$/);
  assert.deepEqual(rest, { startStep: 0, resultStep: 1, ...(await pinsFor()), hasTrainerState: false });
});

test("the seed is of a job's content and start, not of its id, its model or the time", async (t) => {
  const bench = await Bench.open(t);
  const seeds: string[] = [];
  const queue = await bench.start([
    async ({ pins }, report) => {
      seeds.push(pins.seed);
      await report({ kind: "started", stepCount: 0, counts, metrics: { num_sequences: 0 } });
      return outcome;
    },
  ]);
  await bench.submit(queue, "a", "m");
  await bench.clock.advance(5000);
  await bench.submit(queue, "b", "n");
  await bench.submit(queue, "c", "m");
  assert.equal(seeds[0], seeds[1]);
  assert.notEqual(seeds[2], seeds[0]);
});

test("a version that a job started from stays until the job has ended", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([twoSteps, lost, twoSteps], { backoffMs: 1000 });
  await bench.submit(queue, "a");
  await bench.submit(queue, "b");
  assert.deepEqual((await bench.database.models.deleteVersions("m", [1])).inUse, [1]);
  await bench.clock.advance(1000);
  assert.equal(await bench.state("b"), "succeeded");
  assert.deepEqual((await bench.database.models.deleteVersions("m", [1])).deleted, [1]);
});

test("a job fails by name when the version it is to start from goes before it is pinned", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([twoSteps, twoSteps]);
  await bench.submit(queue, "a");
  bench.pinsFor = async () => {
    await bench.database.models.deleteVersions("m", [1]);
    return pinsFor();
  };
  await bench.submit(queue, "b");
  assert.equal(await bench.state("b"), "failed");
  assert.match(await bench.message("b"), /^Version 1, .* was deleted/);
});

test("a job that the runner has nothing to pin to fails with the runner's message", async (t) => {
  const bench = await Bench.open(t);
  bench.pinsFor = () => Promise.reject(new ServiceError({ code: "unsupported", message: "No such base." }));
  const queue = await bench.start([twoSteps]);
  await bench.submit(queue, "a");
  assert.deepEqual([await bench.state("a"), await bench.message("a")], ["failed", "No such base."]);
});

test("jobs of different models may run together, those of one model wait", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([untilInterrupted], { concurrency: 3 });
  await bench.submit(queue, "m1", "m");
  await bench.submit(queue, "m2", "m");
  await bench.submit(queue, "n1", "n");
  assert.deepEqual(
    [await bench.state("m1"), await bench.state("m2"), await bench.state("n1")],
    ["running", "queued", "running"],
  );
  const { runningCount, runningCountMax, watcherCount } = queue.status();
  assert.deepEqual([runningCount, runningCountMax, watcherCount], [2, 3, 0]);
});

test("a lost attempt is tried again after a growing wait, and repeats no event", async (t) => {
  const bench = await Bench.open(t);
  const lostAfterAStep: Run = async (_assignment, report) => {
    await report({ kind: "started", stepCount: 2, counts, metrics: startedEvent });
    await report({ kind: "stepped", index: 0, metrics: { loss: 1 } });
    throw new ServiceError({ code: "unavailable", message: "The training process died." });
  };
  const queue = await bench.start([lostAfterAStep, lostAfterAStep, twoSteps], { backoffMs: 4000 });
  await bench.submit(queue, "a");
  assert.equal(await bench.state("a"), "queued");
  await bench.clock.advance(3000);
  assert.equal((await bench.database.jobs.find("a"))?.attemptCount, 1);
  await bench.clock.advance(1000);
  assert.equal((await bench.database.jobs.find("a"))?.attemptCount, 2);
  await bench.clock.advance(7000);
  assert.equal(await bench.state("a"), "queued");
  await bench.clock.advance(1000);
  assert.deepEqual(await bench.events("a"), [
    ["training_started", startedEvent],
    ["gradient_step", { loss: 1 }],
    ["gradient_step", { loss: 0.7 }],
    ["training_ended", { loss: 0.5, step: 1 }],
  ]);
});

test("a job is given up after its last attempt, and says why", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([lost]);
  await bench.submit(queue, "a");
  for (let minute = 0; minute < 20; minute++) await bench.clock.advance(60_000);
  const message =
    "The job was given up after 20 attempts that were lost, the last one so: The training process died.";
  assert.equal(await bench.state("a"), "failed");
  assert.equal(await bench.message("a"), message);
  assert.deepEqual(await bench.events("a"), [["training_failed", { error_message: message }]]);
});

test("a job whose attempts are lost goes on for as long as each keeps further steps", async (t) => {
  const bench = await Bench.open(t);
  const upTo =
    (savedCount: number): Run =>
    async (_assignment, report) => {
      await report({ kind: "started", stepCount: 9, counts, metrics: startedEvent });
      await report({ kind: "saved", stepCount: savedCount });
      throw new ServiceError({ code: "unavailable", message: "The training process died." });
    };
  const runs = [0, 0, 1, 1, 2, 3, 3, 4].map(upTo);
  const queue = await bench.start([...runs, twoSteps], { attemptsMax: 3, backoffMs: 10 });
  await bench.submit(queue, "a");
  await bench.clock.advance(60_000);
  assert.equal(await bench.state("a"), "succeeded");
  const stuck = await bench.start([...[1, 1, 1].map(upTo), twoSteps], { attemptsMax: 2, backoffMs: 10 });
  await queue.stop();
  await bench.submit(stuck, "b");
  await bench.clock.advance(60_000);
  assert.equal(await bench.state("b"), "failed");
});

test("a job that cannot work fails at once with the runner's message", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([
    async () => {
      throw new ServiceError({ code: "unsupported", message: "No trajectory fits the context." });
    },
  ]);
  await bench.submit(queue, "a");
  assert.deepEqual(
    [await bench.state("a"), await bench.message("a")],
    ["failed", "No trajectory fits the context."],
  );
});

test("an unexpected error fails the job and shows nothing internal", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([
    async () => {
      throw new Error("secret path /x");
    },
    twoSteps,
  ]);
  await bench.submit(queue, "a");
  await bench.submit(queue, "b");
  assert.deepEqual(
    [await bench.state("a"), await bench.message("a")],
    ["failed", "The job ended with an internal error; the server's log has it."],
  );
  assert.equal(await bench.state("b"), "succeeded", "the queue goes on");
});

test("a metric that is not a number never reaches an event", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([
    async (_assignment, report) => {
      await report({ kind: "started", stepCount: 1, counts, metrics: { num_sequences: 1 } });
      await report({ kind: "stepped", index: 0, metrics: { loss: Number.NaN } });
      return outcome;
    },
  ]);
  await bench.submit(queue, "a");
  assert.equal(await bench.state("a"), "failed");
  assert.match(JSON.stringify(await bench.events("a")), /"training_started".*"training_failed"/);
});

test("what a job leaves that ends without a version is discarded, before its end is known", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([untilInterrupted, twoSteps, lost], { attemptsMax: 1 });
  await bench.submit(queue, "a");
  assert.deepEqual(bench.discarded, []);
  await queue.cancel("a");
  await bench.clock.advance(0);
  await bench.submit(queue, "b");
  assert.deepEqual(bench.discarded, ["a"]);
  await bench.submit(queue, "c");
  assert.deepEqual(bench.discarded, ["a", "c"]);
});

test("an attempt that fails when another server has made the job's version leaves that alone", async (t) => {
  const bench = await Bench.open(t);
  let goOn = (): void => undefined;
  const isOver = new Promise<void>((resolve) => (goOn = resolve));
  const queue = await bench.start([
    async (_assignment, report) => {
      await report({ kind: "started", stepCount: 1, counts, metrics: startedEvent });
      // The other's run comes in between.
      await bench.renewServer();
      await rescueNow(bench.database.jobs);
      await isOver;
      throw new ServiceError({ code: "unsupported", message: "It cannot work." });
    },
  ]);
  await bench.submit(queue, "a");
  const other = await bench.start([twoSteps]);
  await bench.clock.advance(1000);
  assert.equal(await bench.state("a"), "succeeded");
  goOn();
  await bench.clock.advance(0);
  await other.stop();
  assert.deepEqual([bench.discarded, await bench.state("a")], [[], "succeeded"]);
});

/** Succeeds with a trainer's state of its own. */
const withState: Run = async ({ job }) => ({ ...outcome, trainerState: `state of ${job.id}` });

test("what attempts keep for each other goes when the job has ended, however that is, and not before", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([
    twoSteps,
    async () => Promise.reject(new ServiceError({ code: "invalid", message: "no" })),
    lost,
    untilInterrupted,
    untilInterrupted,
  ]);
  await bench.submit(queue, "good");
  await bench.submit(queue, "bad");
  assert.deepEqual(bench.discardedWork.splice(0), ["good", "bad"]);
  assert.deepEqual(bench.kept.splice(0), ["good", "bad"]);
  await bench.submit(queue, "lost");
  assert.equal(await bench.state("lost"), "queued");
  assert.deepEqual(bench.discardedWork, []);
  await bench.clock.advance(1000);
  assert.equal(await bench.state("lost"), "running");
  await queue.cancel("lost");
  await bench.clock.advance(0);
  assert.deepEqual(bench.discardedWork.splice(0), ["lost"]);
  await bench.submit(queue, "parked");
  await queue.stop();
  assert.equal(await bench.state("parked"), "queued");
  assert.deepEqual(bench.discardedWork, []);
  await queue.cancel("parked");
  assert.deepEqual(bench.discardedWork, ["parked"]);
});

test("a job says what it is about, how far it is, what of that is kept, and when it ends", async (t) => {
  const bench = await Bench.open(t);
  const seen: unknown[] = [];
  const look = async (): Promise<void> => {
    const { clock, database } = bench;
    const progress = (await database.jobs.find("j"))?.progress;
    const endsAt = progress?.endsAt ?? null;
    const seconds = endsAt === null ? null : (endsAt.getTime() - clock.now().getTime()) / 1000;
    const { phase, prepared, gradientStepCount, savedStepCount } = progress ?? {};
    seen.push([phase, prepared?.count, gradientStepCount, savedStepCount, seconds]);
  };
  const queue = await bench.start([
    async (_assignment, report) => {
      await look();
      await report({ kind: "prepared", count: 4, total: 8, secondsLeft: 20 });
      await look();
      await report({ kind: "prepared", count: 8, total: 8, secondsLeft: 0 });
      await report({ kind: "started", stepCount: 2, counts, metrics: startedEvent });
      await look();
      await report({ kind: "entered", phase: "training" });
      await report({ kind: "stepped", index: 0, metrics: { loss: 1 }, secondsLeft: 30 });
      await look();
      await report({ kind: "saved", stepCount: 1 });
      await look();
      await report({ kind: "stepped", index: 1, metrics: { loss: 1 }, secondsLeft: 0 });
      await report({ kind: "entered", phase: "publishing" });
      await look();
      return outcome;
    },
  ]);
  await bench.submit(queue, "j");
  assert.deepEqual(seen, [
    [undefined, undefined, undefined, undefined, null],
    ["preparing", 4, 0, 0, 20],
    ["preparing", 8, 0, 0, null],
    ["training", 8, 1, 0, 30],
    ["training", 8, 1, 1, 30],
    ["publishing", 8, 2, 1, 0],
  ]);
});

test("a job that prepares more in each attempt goes on, however often its process dies", async (t) => {
  const bench = await Bench.open(t);
  const upTo =
    (count: number): Run =>
    async (_assignment, report) => {
      await report({ kind: "prepared", count, total: 900, secondsLeft: 9 });
      throw new ServiceError({ code: "unavailable", message: "The process died." });
    };
  const queue = await bench.start([100, 200, 300, 400, 400, 350, 500].map(upTo), {
    attemptsMax: 2,
    backoffMs: 10,
  });
  await bench.submit(queue, "j");
  await bench.clock.advance(60_000);
  const job = await bench.database.jobs.find("j");
  assert.deepEqual([job?.state, job?.attemptCount], ["failed", 6]);
});

test("of much that is prepared every tenth is an event, once, whichever attempt gets there", async (t) => {
  const bench = await Bench.open(t);
  const prepare = async (report: JobReport, from: number, to: number): Promise<void> => {
    for (let count = from; count <= to; count += 100)
      await report({ kind: "prepared", count, total: 2000, secondsLeft: 2000 - count });
  };
  const queue = await bench.start([
    async (_assignment, report) => {
      await prepare(report, 100, 900);
      throw new ServiceError({ code: "unavailable", message: "The process died." });
    },
    async (_assignment, report) => {
      await prepare(report, 700, 2000);
      await report({ kind: "started", stepCount: 0, counts, metrics: startedEvent });
      return outcome;
    },
    async (_assignment, report) => {
      await report({ kind: "prepared", count: 999, total: 999, secondsLeft: 0 });
      await report({ kind: "started", stepCount: 0, counts, metrics: startedEvent });
      return outcome;
    },
  ]);
  await bench.submit(queue, "many");
  await bench.clock.advance(1000);
  const tenths = Array.from({ length: 10 }, (_, index) => 200 * (index + 1));
  const preparing = tenths.map((count) => [
    "preparing",
    { num_prepared: count, num_to_prepare: 2000, seconds_left: 2000 - count },
  ]);
  const rest = (step: number): unknown[] => [
    ["training_started", startedEvent],
    ["training_ended", { loss: 0.5, step }],
  ];
  assert.deepEqual(await bench.events("many"), [...preparing, ...rest(1)]);
  await bench.submit(queue, "few");
  assert.deepEqual(await bench.events("few"), rest(2));
});

test("a job that the trainer cannot do is refused as it comes, with what it lacks and the cure", async (t) => {
  const bench = await Bench.open(t);
  const refusal = async (
    trainer: Partial<TrainerProfile>,
    config: TrainingConfigInput = {},
  ): Promise<unknown> => {
    bench.trainer = { ...embeddedProfile, name: "remote", ...trainer };
    const task = { kind: "rl", config: resolveTrainingConfig(config) } as const;
    const draft = newJob({ id: "x", modelId: "m", task, configNotApplied: [], createdAt: bench.clock.now() });
    const fault = await bench
      .build(twoSteps)
      .submit(draft, [], null)
      .then(
        () => null,
        (error: unknown) => error,
      );
    assert.ok(fault === null || (fault instanceof ServiceError && fault.code === "invalid"), String(fault));
    return fault === null ? null : [fault.faults[0].location.join(), fault.message];
  };
  const [place, message] = (await refusal({ losses: ["cross-entropy"] })) as readonly string[];
  assert.equal(place, "model");
  assert.match(
    message,
    /^Jobs of kind rl need the loss policy, and the trainer .* remote, computes cross-entropy alone/,
  );
  const [option, advice] = (await refusal(
    { hasBasePass: false },
    { klPenaltyCoefficient: 0.1 },
  )) as readonly string[];
  assert.equal(option, "klPenaltyCoefficient");
  assert.match(
    advice,
    /is 0\.1, and the trainer .* remote, does not compute the base .*; leave it out, or set it to 0/,
  );
  // The newest version is the base itself: there is no adapter yet.
  assert.equal(await refusal({ takesAdapters: false, hasBasePass: false }), null);
});

test("a trainer that takes no adapters is given jobs from versions whose state it keeps itself, and no others", async (t) => {
  const bench = await Bench.open(t);
  bench.trainer = { ...embeddedProfile, name: "remote", takesAdapters: false };
  const made =
    (trainerState: string): Run =>
    async () => ({ ...outcome, trainerState });
  const queue = await bench.start([made("remote:a"), made("embedded:b")]);
  for (const id of ["a", "b"]) await bench.submit(queue, id);
  assert.deepEqual([await bench.state("a"), await bench.state("b")], ["succeeded", "succeeded"]);
  await assert.rejects(
    bench.submit(queue, "c"),
    /keeps no state, and it takes no adapters\. Train a new model, or/,
  );
});

test("a new version takes the trainer's state from those before it, but for as many as are kept", async (t) => {
  for (const [optimizerStatesKept, expected] of [
    [1, ["state of a", "state of b"]],
    [2, ["state of a"]],
  ] as const) {
    const bench = await Bench.open(t);
    const queue = await bench.start([withState], { optimizerStatesKept });
    for (const id of ["a", "b", "c"]) await bench.submit(queue, id);
    assert.deepEqual(bench.discardedStates, expected);
    const { items } = await bench.database.models.listVersions("m", { after: null, limit: 9, order: "asc" });
    const withStates = items.filter(({ trainerState }) => trainerState !== null);
    assert.equal(withStates.length, optimizerStatesKept);
  }
});

test("a job that is tried again finds the trainer's state that its first attempt found", async (t) => {
  const bench = await Bench.open(t);
  const seen: unknown[] = [];
  const seeing =
    (run: Run): Run =>
    async (assignment, ...rest) => {
      seen.push([assignment.from.step, assignment.from.trainerState]);
      return run(assignment, ...rest);
    };
  const queue = await bench.start([withState, seeing(lost), seeing(untilInterrupted)], { backoffMs: 1000 });
  await bench.submit(queue, "a");
  await bench.submit(queue, "b");
  await bench.clock.advance(1000);
  await queue.stop();
  await bench.start([seeing(withState)]);
  await bench.clock.advance(0);
  const found = [1, "state of a"];
  assert.deepEqual(seen, [found, found, found]);
  assert.deepEqual(bench.discardedStates, ["state of a"]);
});

test("a job succeeds whose older states cannot be removed", async (t) => {
  const bench = await Bench.open(t);
  bench.discardedStates.push = () => assert.fail("the disk does not let go of it");
  const queue = await bench.start([withState]);
  for (const id of ["a", "b", "c"]) await bench.submit(queue, id);
  assert.equal(await bench.state("c"), "succeeded");
});

test("a queued job is cancelled at once, and what it held back runs", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([lost, twoSteps], { backoffMs: 60_000 });
  await bench.submit(queue, "a");
  await bench.submit(queue, "b");
  assert.equal(await bench.state("b"), "queued");
  assert.equal((await queue.cancel("a")).state, "cancelled");
  await bench.clock.advance(0);
  assert.equal(await bench.state("b"), "succeeded");
});

test("a running job is interrupted and cancelled, with a terminal event", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([untilInterrupted]);
  await bench.submit(queue, "a");
  const answer = await queue.cancel("a");
  assert.deepEqual([answer.state, answer.cancelRequested], ["running", true]);
  await bench.clock.advance(0);
  assert.equal(await bench.state("a"), "cancelled");
  assert.deepEqual(await bench.events("a"), [
    ["training_started", startedEvent],
    ["gradient_step", { loss: 1 }],
    ["training_failed", { error_message: "The job was cancelled." }],
  ]);
  assert.equal((await queue.cancel("a")).state, "cancelled");
  await assert.rejects(queue.cancel("x"), { code: "not_found" });
});

test("all jobs of a model are cancelled, running and queued, and no others", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([untilInterrupted], { concurrency: 2 });
  for (const [id, modelId] of [
    ["a", "m"],
    ["b", "m"],
    ["c", "n"],
  ])
    await bench.submit(queue, id, modelId);
  await queue.cancelAll("m");
  await bench.clock.advance(0);
  const states = [await bench.state("a"), await bench.state("b"), await bench.state("c")];
  assert.deepEqual(states, ["cancelled", "cancelled", "running"]);
});

test("what a server that died kept of a job goes with its model, also before the job is taken up", async (t) => {
  const bench = await Bench.open(t);
  const idle = bench.build(twoSteps);
  await bench.submit(idle, "a");
  await bench.claimAndDie();
  await idle.cancelAll("m");
  assert.deepEqual(bench.discardedWork, ["a"]);
});

test("what is kept of a job goes that went with its model just when an attempt at it was lost", async (t) => {
  const bench = await Bench.open(t);
  const { jobs, models } = bench.database;
  const release: JobStore["release"] = async (...args) => {
    const isReleased = await jobs.release(...args);
    await models.delete("m");
    return isReleased;
  };
  const queue = bench.build(lost, {}, { ...jobs, release });
  await queue.start();
  await bench.submit(queue, "a");
  assert.deepEqual([bench.discarded, bench.discardedWork], [["a"], ["a"]]);
  // A start looks for what could not be removed.
  assert.deepEqual(bench.kept, []);
});

test("a job that is being claimed when its model's jobs are cancelled is waited for", async (t) => {
  const bench = await Bench.open(t);
  const { jobs } = bench.database;
  const slow: JobStore = {
    ...jobs,
    claim: async (...args) => {
      const job = await jobs.claim(...args);
      if (job !== null) await bench.clock.sleep(100);
      return job;
    },
  };
  const queue = bench.build(untilInterrupted, {}, slow);
  await queue.start();
  await bench.submit(queue, "a");
  assert.equal(await bench.state("a"), "running");
  const cancelling = queue.cancelAll("m");
  await bench.clock.advance(100);
  await cancelling;
  assert.equal(await bench.state("a"), "cancelled");
  assert.equal(queue.status().runningCount, 0);
});

test("a job that ended stays as it is when cancelled", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([twoSteps]);
  await bench.submit(queue, "a");
  assert.equal((await queue.cancel("a")).state, "succeeded");
});

test("stopping parks a running job without spending its attempt, and the next queue ends it", async (t) => {
  const bench = await Bench.open(t);
  const first = await bench.start([untilInterrupted]);
  await bench.submit(first, "a");
  await first.stop();
  await first.stop();
  const parked = await bench.database.jobs.find("a");
  assert.deepEqual([parked?.state, parked?.attemptCount], ["queued", 0]);
  await bench.start([twoSteps]);
  await bench.clock.advance(0);
  assert.deepEqual(await bench.events("a"), [
    ["training_started", startedEvent],
    ["gradient_step", { loss: 1 }],
    ["gradient_step", { loss: 0.7 }],
    ["training_ended", { loss: 0.5, step: 1 }],
  ]);
});

test("a job that was done in spite of being parked succeeds", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([
    async (_assignment, _report, { signal }) => {
      await once(signal, "abort");
      return outcome;
    },
  ]);
  await bench.submit(queue, "a");
  await queue.stop();
  assert.equal(await bench.state("a"), "succeeded");
});

test("what a crashed server left running is taken up at once by the next", async (t) => {
  const bench = await Bench.open(t);
  const idle = bench.build(twoSteps);
  await bench.submit(idle, "a");
  await bench.claimAndDie();
  await bench.start([twoSteps]);
  await bench.clock.advance(0);
  assert.equal(await bench.state("a"), "succeeded");
});

test("a second server that starts takes nothing that the first runs, and has it when that is not heard from", async (t) => {
  const bench = await Bench.open(t);
  const { jobs, servers, models } = bench.database;
  const logger = silentLogger;
  const startServer = async (store: JobStore, leases: ServerStore, run: Run) => {
    const lease = new ServerLease(
      { servers: leases, baseModels: ["tiny"], artifacts: "shared", clock: bench.clock, logger },
      jobSettings.with(),
    );
    t.after(() => lease.stop());
    await lease.start();
    const queue = bench.build(run, {}, store, lease);
    await queue.start();
    return queue;
  };
  const [dying, dyingLeases] = [mortal(jobs), mortal(servers)];
  const first = await startServer(dying.store, dyingLeases.store, untilInterrupted);
  await bench.submit(first, "a");
  const second = await startServer(jobs, servers, twoSteps);
  for (let minute = 0; minute < 10; minute++) await bench.clock.advance(60_000);
  assert.deepEqual([await bench.state("a"), first.status().runningCount], ["running", 1]);
  await bench.submit(second, "b", "n");
  assert.equal(await bench.state("b"), "succeeded");
  dying.die();
  dyingLeases.die();
  await bench.clock.advance(45_000);
  assert.equal(await bench.state("a"), "running");
  await bench.clock.advance(45_000);
  assert.equal(await bench.state("a"), "succeeded");
  assert.equal(await models.greatestStep("m"), 1);
});

test("a job that ends every server is not started for ever", async (t) => {
  const bench = await Bench.open(t);
  const idle = bench.build(twoSteps);
  await bench.submit(idle, "a");
  for (let start = 0; start < 2; start++) {
    await bench.claimAndDie();
    await rescueNow(bench.database.jobs);
  }
  await bench.start([twoSteps], { startsMax: 2 });
  await bench.clock.advance(0);
  assert.equal(await bench.state("a"), "failed");
  assert.match(await bench.message("a"), /started 2 times/);
});

test("a job goes on for as long as each server that dies kept a further step of it", async (t) => {
  const bench = await Bench.open(t);
  const savesOneMore: Run = async ({ job }, report, { signal }) => {
    const savedCount = job.progress?.savedStepCount ?? 0;
    await report({ kind: "started", stepCount: 9, counts, metrics: startedEvent });
    await report({ kind: "saved", stepCount: savedCount });
    if (savedCount < 5) await report({ kind: "saved", stepCount: savedCount + 1 });
    await once(signal, "abort");
    throw new ServiceError({ code: "cancelled", message: "interrupted" });
  };
  await bench.submit(bench.build(twoSteps), "a");
  for (let server = 0; server < 7; server++) {
    const { store, die } = mortal(bench.database.jobs);
    const queue = bench.build(savesOneMore, { startsMax: 2 }, store);
    await queue.start();
    await bench.clock.advance(0);
    die();
    await queue.stop();
    assert.equal(await bench.state("a"), "running");
    await bench.renewServer();
  }
  await bench.start([twoSteps], { startsMax: 2 });
  await bench.clock.advance(1000);
  assert.equal(await bench.state("a"), "failed");
  assert.match(await bench.message("a"), /started 2 times .* kept no further step/);
});

test("attempts lost with their process and with their server have limits of their own", async (t) => {
  const bench = await Bench.open(t);
  const settings = { attemptsMax: 2, startsMax: 3, backoffMs: 1000 };
  const idle = bench.build(twoSteps);
  await bench.submit(idle, "a");
  for (let server = 0; server < 2; server++) {
    await bench.claimAndDie();
    await rescueNow(bench.database.jobs);
  }
  await bench.start([lost, twoSteps], settings);
  await bench.clock.advance(1000);
  const job = await bench.database.jobs.find("a");
  assert.deepEqual([job?.state, job?.lostCount, job?.restartCount], ["succeeded", 1, 2]);
});

/** Meets an obstacle of the machine. */
const obstructed: Run = async () => {
  throw new ServiceError({ code: "unavailable", message: "The disk is full.", obstacle: "full-disk" });
};

test("a job that the machine cannot run waits, longer each time, says so, and spends no attempt", async (t) => {
  const bench = await Bench.open(t);
  const runs = [obstructed, obstructed, obstructed, obstructed, twoSteps];
  const queue = await bench.start(runs, {
    attemptsMax: 1,
    startsMax: 1,
    backoffMs: 2000,
    backoffMsMax: 8000,
  });
  await bench.submit(queue, "a");
  for (const waitMs of [2000, 4000, 8000, 8000]) {
    const { state, attemptCount, waitingFor } = present(await bench.database.jobs.find("a"), "the job");
    assert.deepEqual([state, attemptCount, waitingFor], ["queued", 0, "The disk is full."]);
    await bench.clock.advance(waitMs - 1);
    assert.equal((await bench.database.jobs.find("a"))?.waitingFor, "The disk is full.");
    await bench.clock.advance(1);
  }
  await bench.clock.advance(1000);
  const job = await bench.database.jobs.find("a");
  assert.deepEqual([job?.state, job?.attemptCount, job?.waitingFor], ["succeeded", 1, null]);
});

test("a job whose base model is missing waits without being tried, says so, and runs when it is there", async (t) => {
  const bench = await Bench.open(t);
  const { jobs } = bench.database;
  await bench.renewServer(["other"]);
  await bench.submit(bench.build(twoSteps), "early");
  const claimed: unknown[] = [];
  const claim: JobStore["claim"] = async (...args) => {
    const job = await jobs.claim(...args);
    claimed.push(job);
    return job;
  };
  const queue = bench.build(twoSteps, { backoffMs: 1000 }, { ...jobs, claim });
  await queue.start();
  await bench.submit(queue, "late", "n");
  for (let minute = 0; minute < 5; minute++) await bench.clock.advance(60_000);
  for (const id of ["early", "late"]) {
    const { state, waitingFor, startedAt, attemptCount } = present(await jobs.find(id), "the job");
    assert.deepEqual([state, startedAt, attemptCount], ["queued", null, 0]);
    assert.match(waitingFor ?? "", /base model "tiny" is not served/);
  }
  assert.ok(claimed.length > 60 && claimed.every((job) => job === null), "none was taken, not for a moment");
  await queue.stop();
  await bench.renewServer(["other", "tiny"]);
  await bench.start([twoSteps]);
  await bench.clock.advance(0);
  assert.deepEqual([await bench.state("early"), await bench.state("late")], ["succeeded", "succeeded"]);
  assert.equal((await jobs.find("late"))?.waitingFor, null);
});

test("a job that waits is tried at once by a server that starts", async (t) => {
  const bench = await Bench.open(t);
  const first = await bench.start([obstructed], { backoffMs: 60_000 });
  await bench.submit(first, "a");
  await first.stop();
  await bench.renewServer();
  await bench.start([twoSteps]);
  await bench.clock.advance(0);
  assert.equal(await bench.state("a"), "succeeded");
});

test("an attempt whose end cannot be written is made again, by the server that still has its lease", async (t) => {
  const bench = await Bench.open(t);
  const { jobs } = bench.database;
  let faultCount = 2;
  const succeed: JobStore["succeed"] = async (...args) => {
    if (faultCount-- > 0) throw new Error("no answer");
    await jobs.succeed(...args);
  };
  const queue = bench.build(twoSteps, {}, { ...jobs, succeed });
  await queue.start();
  await bench.submit(queue, "a");
  assert.equal(await bench.state("a"), "running");
  for (let second = 0; second < 31; second++) await bench.clock.advance(1000);
  const job = await jobs.find("a");
  assert.deepEqual([job?.state, job?.restartCount, job?.attemptCount], ["succeeded", 2, 3]);
});

test("a job that was claimed without this server hearing of it is not lost", async (t) => {
  const bench = await Bench.open(t);
  const { jobs } = bench.database;
  let isFirst = true;
  const claim: JobStore["claim"] = async (...args) => {
    const job = await jobs.claim(...args);
    if (!isFirst || job === null) return job;
    isFirst = false;
    throw new Error("no answer");
  };
  const queue = bench.build(twoSteps, {}, { ...jobs, claim });
  await queue.start();
  await bench.submit(queue, "a");
  assert.equal(await bench.state("a"), "running");
  await bench.clock.advance(15_000);
  assert.equal(await bench.state("a"), "succeeded");
});

test("an ending that finds the disk full is written when there is room", async (t) => {
  const bench = await Bench.open(t);
  let fullCount = 3;
  const { jobs } = bench.database;
  const succeed: JobStore["succeed"] = async (...args) => {
    if (fullCount-- > 0) await obstructed(...([] as unknown as Parameters<Run>));
    await jobs.succeed(...args);
  };
  const queue = bench.build(twoSteps, { backoffMs: 1000 }, { ...jobs, succeed });
  await queue.start();
  await bench.submit(queue, "a");
  await bench.clock.advance(2999);
  assert.equal(await bench.state("a"), "running");
  await bench.clock.advance(4001);
  const job = await jobs.find("a");
  assert.deepEqual([job?.state, job?.attemptCount], ["succeeded", 1]);
});

test("retries and parked jobs go on when the clock steps back, and when it steps forward", async (t) => {
  for (const stepMs of [-86_400_000, 86_400_000]) {
    const bench = await Bench.open(t);
    const queue = await bench.start([lost, untilInterrupted], { backoffMs: 1000 });
    await bench.submit(queue, "a");
    bench.clock.step(stepMs);
    await bench.clock.advance(1000);
    assert.equal(await bench.state("a"), "running");
    await queue.stop();
    bench.clock.step(stepMs);
    await bench.start([twoSteps]);
    await bench.clock.advance(0);
    assert.equal(await bench.state("a"), "succeeded");
  }
});

test("a queue that can take up no job says why, without what is internal, and goes on when it can", async (t) => {
  const bench = await Bench.open(t);
  const { jobs } = bench.database;
  const faults = [
    new Error("at /secret/path"),
    new ServiceError({ code: "unavailable", message: "It is locked." }),
  ];
  const claim: JobStore["claim"] = async (...args) => {
    const fault = faults.shift();
    if (fault !== undefined) throw fault;
    return jobs.claim(...args);
  };
  const queue = bench.build(twoSteps, { pollMs: 1000 }, { ...jobs, claim });
  await bench.submit(bench.build(twoSteps), "a");
  await queue.start();
  await bench.clock.advance(0);
  assert.equal(queue.status().claimFault, "The server's log says why.");
  await bench.clock.advance(1000);
  assert.equal(queue.status().claimFault, "It is locked.");
  await bench.clock.advance(1000);
  assert.deepEqual([queue.status().claimFault, await bench.state("a")], [null, "succeeded"]);
});

test("a full queue refuses jobs until one has ended", async (t) => {
  const bench = await Bench.open(t);
  const queue = bench.build(twoSteps, { queuedMax: 1 });
  await bench.submit(queue, "a");
  await assert.rejects(bench.submit(queue, "b"), { code: "overloaded" });
  await queue.start();
  await bench.clock.advance(0);
  await bench.submit(queue, "b");
  assert.equal(await bench.state("b"), "succeeded");
});

test("an attempt that lost its job is interrupted and writes nothing", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([untilInterrupted]);
  await bench.submit(queue, "a");
  await bench.renewServer();
  await rescueNow(bench.database.jobs);
  await storeServer(bench.database.servers, "another");
  await bench.database.jobs.claim("another", bench.clock.now());
  await bench.clock.advance(15_000);
  assert.equal(queue.status().runningCount, 0);
  assert.notEqual(await bench.database.jobs.findRunning("a", "another"), null);
});

test("an attempt whose job is taken anew by its own queue ends before the new one begins", async (t) => {
  const bench = await Bench.open(t);
  const order: string[] = [];
  const first: Run = async (...args) => {
    try {
      return await untilInterrupted(...args);
    } finally {
      order.push("first over");
    }
  };
  const second: Run = (...args) => {
    order.push("second begins");
    return twoSteps(...args);
  };
  const queue = await bench.start([first, second], { concurrency: 2, pollMs: 1000 });
  await bench.submit(queue, "a");
  await bench.renewServer();
  await rescueNow(bench.database.jobs);
  await bench.clock.advance(1000);
  assert.deepEqual(order, ["first over", "second begins"]);
  assert.equal(await bench.state("a"), "succeeded");
  assert.equal(queue.status().runningCount, 0);
});

test("a cancel that another server announces interrupts its job at once, and no other", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([untilInterrupted], { concurrency: 2 });
  await bench.submit(queue, "a");
  await bench.submit(queue, "b", "n");
  await bench.database.jobs.requestCancel("a", bench.clock.now());
  await bench.clock.advance(0);
  assert.deepEqual([await bench.state("a"), await bench.state("b")], ["cancelled", "running"]);
});

test("an attempt that lost its job to another server, and has not heard of it, publishes nothing", async (t) => {
  const bench = await Bench.open(t);
  const published: string[] = [];
  await bench.start([
    async (_assignment, report) => {
      await report({ kind: "started", stepCount: 1, counts, metrics: startedEvent });
      await bench.renewServer();
      await rescueNow(bench.database.jobs);
      await report({ kind: "entered", phase: "publishing" });
      published.push("late");
      return outcome;
    },
    twoSteps,
  ]);
  await bench.submit(bench.build(twoSteps), "a");
  await bench.clock.advance(1000);
  assert.deepEqual(published, []);
  assert.equal(await bench.state("a"), "succeeded");
});

test("a job that another server queues and announces is run at once", async (t) => {
  const bench = await Bench.open(t);
  await bench.start([twoSteps]);
  await bench.clock.advance(0);
  const other = bench.build(twoSteps);
  await bench.submit(other, "a");
  assert.equal(await bench.state("a"), "succeeded");
});

test("a cancel written by another process is noticed at the next heartbeat", async (t) => {
  const bench = await Bench.open(t);
  bench.announcements = { listen: () => () => undefined };
  const queue = await bench.start([untilInterrupted]);
  await bench.submit(queue, "a");
  await bench.database.jobs.requestCancel("a", bench.clock.now());
  await bench.clock.advance(15_000);
  assert.equal(await bench.state("a"), "cancelled");
  assert.equal(queue.status().runningCount, 0);
});

test("a cancel that a crash cut short is carried out by the next server", async (t) => {
  const bench = await Bench.open(t);
  const idle = bench.build(twoSteps);
  await bench.submit(idle, "a");
  await bench.claimAndDie();
  await bench.database.jobs.requestCancel("a", bench.clock.now());
  await bench.start([twoSteps]);
  await bench.clock.advance(0);
  assert.equal(await bench.state("a"), "cancelled");
});

const deletions: readonly {
  readonly when: string;
  readonly run: (deleteModel: () => Promise<void>) => Run;
  readonly isBeforePins?: boolean;
}[] = [
  { when: "before it is pinned", run: () => twoSteps, isBeforePins: true },
  {
    when: "before it starts",
    run:
      (deleteModel) =>
      async (...args) => {
        await deleteModel();
        return await twoSteps(...args);
      },
  },
  {
    when: "while it trains",
    run:
      (deleteModel) =>
      async (_assignment, report, { signal }) => {
        await report({ kind: "started", stepCount: 2, counts, metrics: startedEvent });
        await deleteModel();
        await once(signal, "abort");
        throw new ServiceError({ code: "cancelled", message: "interrupted" });
      },
  },
  {
    when: "before its version is written",
    run:
      (deleteModel) =>
      async (...args) => {
        const made = await twoSteps(...args);
        await deleteModel();
        return made;
      },
  },
];

for (const { when, run, isBeforePins = false } of deletions) {
  test(`a job whose model is deleted ${when} is dropped, with what it made, and the queue goes on`, async (t) => {
    const bench = await Bench.open(t);
    const deleteModel = async (): Promise<void> => void (await bench.database.models.delete("m"));
    const queue = await bench.start([run(deleteModel), twoSteps]);
    if (isBeforePins)
      bench.pinsFor = async ({ id }) => {
        if (id === "m") await deleteModel();
        return await pinsFor();
      };
    await bench.submit(queue, "a", "m");
    await bench.submit(queue, "b", "n");
    await bench.clock.advance(15_000);
    assert.equal(await bench.state("a"), undefined);
    assert.equal(await bench.state("b"), "succeeded");
    assert.deepEqual(bench.errors, []);
    assert.deepEqual([...new Set(bench.discarded)], isBeforePins ? [] : ["a"]);
    assert.deepEqual(bench.discardedWork, ["a", "b"]);
  });
}

test("the same idempotency key starts one job", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([twoSteps]);
  const key = { keyId: "k", key: "once", bodyHash: "h" };
  const job = (id: string) =>
    newJob({
      id,
      modelId: "m",
      task: { kind: "rl", config: resolveTrainingConfig({}) },
      configNotApplied: [],
      createdAt: bench.clock.now(),
    });
  assert.deepEqual(await queue.submit(job("a"), [], key), { id: "a", isNew: true });
  assert.deepEqual(await queue.submit(job("b"), [], key), { id: "a", isNew: false });
  await bench.clock.advance(0);
  assert.equal(await bench.database.models.greatestStep("m"), 1);
});

/** Collects a stream in the background. */
function collect(stream: AsyncIterable<JobEvent>): {
  readonly events: JobEvent[];
  readonly types: string[];
  readonly end: Promise<void>;
} {
  const events: JobEvent[] = [];
  const types: string[] = [];
  const end = (async () => {
    for await (const event of stream) {
      events.push(event);
      types.push(event.type);
    }
  })();
  return { events, types, end };
}

test("a stream shows events as they come and ends after the last", async (t) => {
  const bench = await Bench.open(t);
  let proceed = (): void => undefined;
  const queue = await bench.start([
    async (assignment, report, options) => {
      await report({ kind: "started", stepCount: 2, counts, metrics: startedEvent });
      await new Promise<void>((resolve) => (proceed = resolve));
      return await twoSteps(assignment, report, options);
    },
  ]);
  await bench.submit(queue, "a");
  const { types, end } = collect(
    queue.watchEvents("a", { after: null, signal: new AbortController().signal }),
  );
  await bench.clock.advance(0);
  assert.deepEqual(types, ["training_started"]);
  assert.equal(queue.status().watcherCount, 1);
  proceed();
  await end;
  assert.deepEqual(types, ["training_started", "gradient_step", "gradient_step", "training_ended"]);
  assert.equal(queue.status().watcherCount, 0);
});

test("a stream goes on after a given event, also after the last", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([twoSteps]);
  await bench.submit(queue, "a");
  const { items } = await bench.database.jobs.listEvents("a", { after: null, limit: 100, order: "asc" });
  const { signal } = new AbortController();
  const fromSecond = collect(queue.watchEvents("a", { after: items[1].id, signal }));
  await fromSecond.end;
  assert.deepEqual(fromSecond.types, ["gradient_step", "training_ended"]);
  const fromLast = collect(queue.watchEvents("a", { after: items[3].id, signal }));
  await fromLast.end;
  assert.deepEqual(fromLast.types, []);
  await assert.rejects(collect(queue.watchEvents("a", { after: "0", signal })).end, { code: "invalid" });
  await assert.rejects(collect(queue.watchEvents("x", { after: null, signal })).end, { code: "not_found" });
});

test("a stream finds by itself what another process wrote", async (t) => {
  const bench = await Bench.open(t);
  const idle = bench.build(twoSteps);
  await bench.submit(idle, "a");
  const { types, end } = collect(
    idle.watchEvents("a", { after: null, signal: new AbortController().signal }),
  );
  await bench.clock.advance(0);
  await bench.database.jobs.requestCancel("a", bench.clock.now());
  await bench.clock.advance(999);
  assert.deepEqual(types, []);
  await bench.clock.advance(1);
  await end;
  assert.deepEqual(types, ["training_failed"]);
});

test("a stream whose job is deleted with its model ends with one last event, whenever it looks", async (t) => {
  for (const looksBetween of [true, false]) {
    const bench = await Bench.open(t);
    const queue = await bench.start([untilInterrupted]);
    await bench.submit(queue, "a");
    await bench.submit(queue, "b");
    const { signal } = new AbortController();
    const streams = ["a", "b"].map((id) => collect(queue.watchEvents(id, { after: null, signal })));
    await bench.clock.advance(0);
    const cancelling = queue.cancelAll("m");
    if (looksBetween) await bench.clock.advance(0);
    await cancelling;
    await bench.database.models.delete("m");
    await bench.clock.advance(1000);
    await Promise.all(streams.map(({ end }) => end));
    assert.deepEqual(
      streams.map(({ types }) => types),
      [["training_started", "gradient_step", "training_failed"], ["training_failed"]],
    );
    assert.equal(queue.status().watcherCount, 0);
  }
});

test("a stream ends once, though its job ended and was deleted while it looked", async (t) => {
  const bench = await Bench.open(t);
  const { jobs, models } = bench.database;
  const slow: JobStore = {
    ...jobs,
    listEvents: async (...args) => {
      await bench.clock.sleep(100);
      return await jobs.listEvents(...args);
    },
  };
  const idle = bench.build(twoSteps, {}, slow);
  await bench.submit(idle, "a");
  const { types, end } = collect(
    idle.watchEvents("a", { after: null, signal: new AbortController().signal }),
  );
  await bench.clock.advance(0);
  await jobs.requestCancel("a", bench.clock.now());
  await bench.clock.advance(100);
  await models.delete("m");
  await bench.clock.advance(1000);
  await end;
  assert.deepEqual(types, ["training_failed"]);
});

test("a stream ends that finds its job deleted by another process, and says so", async (t) => {
  const bench = await Bench.open(t);
  const idle = bench.build(twoSteps);
  await bench.submit(idle, "a");
  const { events, end } = collect(
    idle.watchEvents("a", { after: null, signal: new AbortController().signal }),
  );
  await bench.clock.advance(0);
  await bench.database.models.delete("m");
  await bench.clock.advance(1000);
  await end;
  const data = { error_message: "The job was deleted, with its model." };
  assert.deepEqual(events, [{ id: "a:deleted", type: "training_failed", data }]);
});

test("a stream whose reader goes away ends quietly", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([untilInterrupted]);
  await bench.submit(queue, "a");
  const reader = new AbortController();
  const { types, end } = collect(queue.watchEvents("a", { after: null, signal: reader.signal }));
  await bench.clock.advance(0);
  reader.abort();
  await end;
  assert.deepEqual(types, ["training_started", "gradient_step"]);
  assert.equal(queue.status().watcherCount, 0);
});

/** Resolves to the job that tries this one again. */
async function retryOf(bench: Bench, queue: JobQueue, id: string): Promise<string> {
  return queue.retry(present(await bench.database.jobs.find(id), "the job"));
}

test("a job that failed is tried again as another one, the same however often it is asked for", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([lost, lost, twoSteps], { attemptsMax: 1 });
  await bench.submit(queue, "a");
  await bench.clock.advance(0);
  assert.equal(await bench.state("a"), "failed");
  const second = await retryOf(bench, queue, "a");
  assert.equal(await retryOf(bench, queue, "a"), second);
  await bench.clock.advance(0);
  assert.equal(await bench.state(second), "failed");
  // Whichever of the two is asked for: the last that failed is tried.
  const third = await retryOf(bench, queue, "a");
  assert.equal(await retryOf(bench, queue, second), third);
  await bench.clock.advance(0);
  assert.equal(await bench.state(third), "succeeded");
  assert.equal(await retryOf(bench, queue, "a"), third);
  assert.deepEqual((await bench.database.jobs.find(third))?.retryOf, "a");
});

test("a job that has not failed is not tried again, and the refusal says why", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([twoSteps]);
  await bench.submit(queue, "a");
  await bench.clock.advance(0);
  await assert.rejects(retryOf(bench, queue, "a"), { code: "conflict", message: /it is succeeded/ });
});

test("a job that was cancelled can be tried again", async (t) => {
  const bench = await Bench.open(t);
  const idle = bench.build(twoSteps);
  await bench.submit(idle, "a");
  await idle.cancel("a");
  const queue = await bench.start([twoSteps]);
  const again = await retryOf(bench, queue, "a");
  await bench.clock.advance(0);
  assert.equal(await bench.state(again), "succeeded");
});

test("a job whose process dies each second for ten minutes ends well when that is over", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([
    async (...run) => (bench.clock.monotonicMs() < 600_000 ? lost(...run) : twoSteps(...run)),
  ]);
  await bench.submit(queue, "a");
  for (let second = 0; second < 700; second++) await bench.clock.advance(1000);
  assert.equal(await bench.state("a"), "succeeded");
});

test("a job whose server dies again and again is tried later and later, and ends well", async (t) => {
  const bench = await Bench.open(t);
  await bench.submit(bench.build(twoSteps), "a");
  // A server every second for ten minutes, of which each dies at once.
  for (let second = 0; second < 600; second++) {
    const { store, die } = mortal(bench.database.jobs);
    const queue = bench.build(untilInterrupted, {}, store);
    await queue.start();
    await bench.clock.advance(0);
    die();
    await queue.stop();
    await bench.renewServer();
    await bench.clock.advance(1000);
  }
  await bench.start([twoSteps]);
  for (let second = 0; second < 60; second++) await bench.clock.advance(1000);
  assert.equal(await bench.state("a"), "succeeded");
});
