// For tests: a job queue on the in-memory store, with a scripted runner and a clock that the test moves. The store
// answers a call as soon as nothing else runs.
import assert from "node:assert/strict";
import { once } from "node:events";
import type { TestContext } from "node:test";
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import type { JobOutcome, JobRunner, JobStore } from "../../../base/domain/job.ts";
import type { Announcements } from "../../../base/domain/servers/pubsub.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { TrainerProfile } from "../../../base/domain/trainer/profile.ts";
import { resolveTrainingConfig } from "../../../base/domain/training-config.ts";
import type { Logger } from "../../../base/telemetry/logger.ts";
import { silentLogger } from "../../../base/telemetry/testing/silent-logger.ts";
import { storeModel, storeServer } from "../../../store/database/contract/storage-under-test.ts";
import type { Stores } from "../../../store/database/stores.ts";
import { storesInMemory } from "../../../store/database/testing/stores-in-memory.ts";
import { embeddedProfile } from "../../trainer/embedded/profile.ts";
import type { AttemptDependencies } from "../attempt-dependencies.ts";
import { JobQueue } from "../job-queue.ts";
import { newJob } from "../new-job.ts";
import type { ServerLease } from "../server-lease.ts";
import { type JobSettings, jobSettings } from "../settings.ts";

export type Run = JobRunner["run"];

export const counts = {
  groupsSubmitted: 2,
  groupsTrainable: 1,
  trajectories: 4,
  sequences: 4,
  trainableTokens: 99,
  skipped: {},
  skippedGroups: {},
};

export const outcome: JobOutcome = {
  adapterFolder: "adapters/x",
  trainerState: null,
  base: "weights",
  adapterHash: "hash",
  counts,
  metrics: { loss: 0.5 },
};

export const startedEvent = {
  num_sequences: 2,
  num_groups_submitted: 2,
  num_groups_trainable: 1,
  num_trajectories: 4,
  num_trainable_tokens: 99,
};

/** Trains two steps and succeeds. */
export const twoSteps: Run = async (_assignment, report) => {
  await report({ kind: "started", stepCount: 2, counts, metrics: startedEvent });
  await report({ kind: "stepped", index: 0, metrics: { loss: 1 } });
  await report({ kind: "stepped", index: 1, metrics: { loss: 0.7 } });
  return outcome;
};

/** Trains until the queue interrupts it. */
export const untilInterrupted: Run = async (_assignment, report, { signal }) => {
  await report({ kind: "started", stepCount: 2, counts, metrics: startedEvent });
  await report({ kind: "stepped", index: 0, metrics: { loss: 1 } });
  await once(signal, "abort");
  throw new ServiceError({ code: "cancelled", message: "interrupted" });
};

export const lost: Run = async () => {
  throw new ServiceError({ code: "unavailable", message: "The training process died." });
};

export const pinsFor = async () => ({
  settings: { batchTokens: 2 },
  baseHash: "base",
  trainerBuild: "build",
});

/** Maximum number of store calls in a test. A queue that polls endlessly exceeds it, so its test fails. */
export const questionsMax = 1000;

/** Wraps a job store so that `find` and `claim` throw after `questionsMax` calls in total. */
export function bounded(jobs: JobStore): JobStore {
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

/**
 * A database with the models `m` and `n`, a clock, and job queues. By default, all queues belong to one server with a
 * lease.
 */
export class Bench {
  readonly clock = new FakeClock();
  readonly database: Stores;
  readonly lease = { id: "server" };
  /** Source of other servers' announcements to the queues. */
  announcements: Announcements;
  trainer: TrainerProfile = embeddedProfile;
  /** Function with which the runner computes a job's pins: inputs that must not change between attempts. */
  pinsFor: JobRunner["pinsFor"] = pinsFor;
  /** Function that the queues call before a version becomes the newest. */
  prepareVersion: NonNullable<AttemptDependencies["prepareVersion"]> = async () => undefined;
  /** Ids of jobs whose output the queue told the runner to keep. */
  readonly kept: string[] = [];
  /** Ids of jobs whose output the runner discarded. */
  readonly discarded: string[] = [];
  /** Ids of jobs for which the runner removed the data kept between attempts. */
  readonly discardedWork: string[] = [];
  /** Trainer states of older versions that the runner removed. */
  readonly discardedStates: string[] = [];
  /** Messages of errors that the queues logged. */
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
    const database = await storesInMemory();
    const bench = new Bench(database);
    t.after(async () => {
      for (const queue of bench.#queues) await queue.stop();
    });
    for (const id of ["m", "n"]) await storeModel(database.models, id);
    await storeServer(database.servers);
    return bench;
  }

  /** Gives the server a new lease, as a restart does. Jobs under the old lease are not recovered yet. */
  async renewServer(baseModels?: readonly string[]): Promise<void> {
    const { servers } = this.database;
    await servers.delete(this.lease.id);
    this.lease.id += "'";
    await storeServer(servers, this.lease.id, baseModels);
  }

  /** Simulates another server that claims a job and then dies. */
  async claimAndDie(): Promise<void> {
    const { jobs, servers } = this.database;
    await storeServer(servers, "dead");
    await jobs.claim("dead", this.clock.now());
    await servers.delete("dead");
  }

  /** Starts a queue. Its nth attempt runs the nth given function, and all later attempts run the last function. */
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
