// Queue of durable jobs: accepts jobs, runs them in order, and recovers them after a crash. It knows nothing about
// training, because the runner passed to it defines what an attempt does.
import {
  isTerminal,
  type IdempotencyKey,
  type JobCreation,
  type JobDraft,
  type JobEvent,
  type TrainingJob,
} from "../../base/domain/job.ts";
import { newUuid7 } from "../../base/domain/random.ts";
import { serviceOf, type Service } from "../../base/domain/lifecycle.ts";
import { allItems } from "../../base/domain/page.ts";
import type { Announcements } from "../../base/domain/servers/pubsub.ts";
import { notFound, ServiceError } from "../../base/domain/service-error.ts";
import { requireTrainerFor } from "../../base/domain/trainer/profile.ts";
import { Attempt } from "./attempt.ts";
import type { AttemptDependencies } from "./attempt-dependencies.ts";
import { backoffMs } from "./next-state.ts";
import { EventWatch, Notifier } from "./event-watch.ts";
import { newJob } from "./new-job.ts";
import { requireRepeatable } from "./replay.ts";
import type { ServerLease } from "./server-lease.ts";
import { heartbeatMs, type JobSettings } from "./settings.ts";

interface RunningAttempt {
  readonly attempt: Attempt;
  /** Resolves when the attempt's outcome is stored and the queue has dropped the attempt from memory; never rejects. */
  readonly over: Promise<void>;
}

export interface QueueDependencies extends Omit<AttemptDependencies, "owner"> {
  /** Lease of this server, under which the queue claims jobs. */
  readonly lease: Pick<ServerLease, "id">;
  /** Source of announcements when other servers change jobs. Polling finds changes whose announcement was lost. */
  readonly announcements: Announcements;
}

export class JobQueue implements Service {
  readonly #dependencies: QueueDependencies;
  readonly #settings: JobSettings;
  readonly #events: EventWatch;
  /** Attempts that this server is running, by job id. */
  readonly #attempts = new Map<string, RunningAttempt>();
  /** One notifier for each of the loops that run jobs. */
  readonly #notifiers: readonly Notifier[];
  readonly #life = serviceOf("job queue", {
    start: (signal) => this.#start(signal),
    stop: () => this.#stop(),
  });
  /** Claims in progress. When one of these promises resolves, `#attempts` already contains the claimed job. */
  readonly #takings = new Set<Promise<unknown>>();
  /**
   * For each job id, the number of consecutive attempts that this machine could not run yet (for example: full disk).
   */
  readonly #waitCounts = new Map<string, number>();
  /** Resolves when recovery has found the jobs of dead servers. The queue claims no job before that. */
  #rescuing: Promise<unknown> = Promise.resolve();
  #loops: Promise<unknown> | null = null;
  #endListening: () => void = () => undefined;
  /** Human-readable reason why the last claim failed; null if it succeeded or found no job. */
  #claimFault: string | null = null;

  constructor(dependencies: QueueDependencies, settings: JobSettings) {
    this.#dependencies = dependencies;
    this.#settings = settings;
    this.#events = new EventWatch(dependencies.jobs, dependencies.clock, settings.eventPollMs);
    this.#notifiers = Array.from({ length: settings.concurrency }, () => new Notifier(dependencies.clock));
  }

  /** Recovers the jobs of servers whose leases expired, then starts running jobs. */
  start(): Promise<void> {
    return this.#life.start();
  }

  /**
   * Returns the running jobs to the queue. Their interrupted attempts do not count toward the limit on attempts.
   * Resolves when all are back in the queue.
   */
  stop(): Promise<void> {
    return this.#life.stop();
  }

  /**
   * Stores a job durably; it runs when its turn comes. Also works before `start` and after `stop`, because the next
   * queue that starts runs the job. See {@link JobStore.create} for idempotency, the limit and errors.
   *
   * @throws ServiceError `invalid` if the runner's trainer does not support the job
   */
  async submit(
    job: JobDraft,
    lines: Iterable<string>,
    idempotency: IdempotencyKey | null,
    more: Pick<JobCreation, "outlines" | "feedback" | "rollouts" | "learning" | "keyId"> = {},
  ): Promise<{ readonly id: string; readonly isNew: boolean }> {
    const { queuedMax, queuedPerEntityMax } = this.#settings;
    await this.#requireTrainer(job);
    const creation = { queuedMax, queuedPerEntityMax, ...more };
    const created = await this.#dependencies.jobs.create(job, lines, idempotency, creation);
    this.#wake();
    return created;
  }

  /**
   * Checks that the runner's trainer supports the job. Only a replay is not checked against the model's newest version,
   * because it starts from another version.
   */
  async #requireTrainer({ modelId, task, replayOf }: JobDraft): Promise<void> {
    const { models, runner } = this.#dependencies;
    const newest = replayOf === null ? await models.newestVersion(modelId) : null;
    if (newest !== null) requireTrainerFor(runner.trainer, task, newest);
    const model = await models.find(modelId);
    if (model !== null) runner.requireTrainable?.(model.baseModel);
  }

  /**
   * Stores a job that repeats a succeeded job, so that its result can be compared with the version that the original
   * job made.
   *
   * @throws ServiceError `conflict` with the reason why the job cannot be repeated, `overloaded` like {@link submit}
   */
  async replay(job: TrainingJob, by: Pick<JobDraft, "madeBy"> = {}): Promise<string> {
    const { models, clock } = this.#dependencies;
    const { id: replayOf, modelId, task, configNotApplied } = job;
    const model = await models.find(modelId);
    if (model === null) throw notFound("model", modelId);
    await requireRepeatable(this.#dependencies, this.#settings, { job, model });
    const id = newUuid7(clock);
    const identity = { id, modelId, task, configNotApplied, createdAt: clock.now(), replayOf, ...by };
    return (await this.submit(newJob(identity), [], null)).id;
  }

  /**
   * Stores a new job that retries a failed or cancelled one, starting from the model's newest version at that time.
   * Repeated calls return the same new job until it has failed too.
   *
   * @throws ServiceError `conflict` if there is nothing to retry, or if another job now trains on the same feedback;
   * `overloaded` like {@link submit}
   */
  async retry(job: TrainingJob, by: Pick<JobDraft, "madeBy"> = {}): Promise<string> {
    const { jobs, clock } = this.#dependencies;
    const key = (id: string): IdempotencyKey => ({ keyId: "retry", key: id, bodyHash: "" });
    let last = job;
    for (let id = await jobs.findCreated(key(last.id)); id !== null; id = await jobs.findCreated(key(id))) {
      const retried = await jobs.find(id);
      if (retried === null) break;
      last = retried;
    }
    if (last !== job && last.state !== "failed" && last.state !== "cancelled") return last.id;
    requireRetriable(last);
    const { modelId, task, configNotApplied } = last;
    const identity = { id: newUuid7(clock), modelId, task, configNotApplied, createdAt: clock.now(), ...by };
    const retry = newJob({ ...identity, retryOf: last.retryOf ?? last.id });
    return (await this.submit(retry, [], key(last.id))).id;
  }

  /**
   * Cancels a queued job immediately, or interrupts a running job. A job that has ended stays unchanged.
   *
   * @returns the job after the call; a running job becomes `cancelled` soon after
   * @throws ServiceError `not_found`
   */
  async cancel(id: string): Promise<TrainingJob> {
    await this.#cancel(id);
    const job = await this.#dependencies.jobs.find(id);
    if (job === null) throw notFound("training job", id);
    return job;
  }

  /**
   * Cancels all jobs of a model that is about to be deleted. Removes the data that their attempts kept, because nothing
   * would remove it later. Resolves when this server runs none of these jobs.
   */
  async cancelAll(modelId: string): Promise<void> {
    const filter = { entity: null, modelId, kind: null, state: null };
    for await (const { id, state } of allItems((page) => this.#dependencies.jobs.list(filter, page))) {
      if (isTerminal(state)) continue;
      await this.#cancel(id);
      await this.#attempts.get(id)?.over;
      // Removes the job's data even if no attempt runs here: a server that died may have run the attempt, or the job
      // may be queued again.
      await this.#discardWork(id);
    }
  }

  /** Cancels a job; does nothing if the job does not exist. */
  async #cancel(id: string): Promise<void> {
    const { jobs, clock } = this.#dependencies;
    const state = await jobs.requestCancel(id, clock.now());
    if (state === "running") {
      // Waits for claims, because this server may be claiming the job at this moment.
      await Promise.all(this.#takings);
      this.#attempts.get(id)?.attempt.interrupt("cancel");
    }
    if (state === "cancelled" && !this.#attempts.has(id)) await this.#discardWork(id);
    // Looks for work, because the cancelled job may have held back the next job of its model.
    if (state !== null && isTerminal(state)) this.#wake();
    this.#events.emit(id);
  }

  /**
   * Removes the data that a job's attempts kept. Ignores failures, because the next start of the server tries again.
   */
  async #discardWork(id: string): Promise<void> {
    const { runner, logger } = this.#dependencies;
    await runner
      .discardWork(id)
      .catch((error: unknown) =>
        logger.warn({ err: error, jobId: id }, "data kept between attempts could not be removed"),
      );
  }

  /**
   * Streams the job's events after the cursor `after` as they occur. Ends after the terminal event, or without an
   * event when the signal aborts. If the job is deleted meanwhile, the terminal event is `training_failed`.
   *
   * @throws ServiceError `not_found`, or `invalid` if `after` is not an event of the job
   */
  watchEvents(
    jobId: string,
    { after, signal }: { readonly after: string | null; readonly signal: AbortSignal },
  ): AsyncIterable<JobEvent> {
    return this.#events.watch(jobId, after, signal);
  }

  /**
   * Limits on lost attempts, after which a job fails: `attemptsMax` counts lost processes, `startsMax` lost servers.
   */
  get limits(): Pick<JobSettings, "attemptsMax" | "startsMax"> {
    return this.#settings;
  }

  /** Returns the numbers of running jobs and open event streams, and any fault. */
  status(): {
    readonly runningCount: number;
    readonly runningCountMax: number;
    readonly watcherCount: number;
    /** Human-readable reason why the last claim failed; null if it did not. */
    readonly claimFault: string | null;
  } {
    return {
      runningCount: this.#attempts.size,
      runningCountMax: this.#settings.concurrency,
      watcherCount: this.#events.watcherCount,
      claimFault: this.#claimFault,
    };
  }

  async #start(signal: AbortSignal): Promise<void> {
    await this.#rescue();
    this.#listen();
    this.#loops = Promise.all([
      ...this.#notifiers.map((notifier) => this.#work(notifier, signal)),
      this.#watchOthers(signal),
    ]);
  }

  #listen(): void {
    const { announcements, logger } = this.#dependencies;
    const look = async (id: string | null): Promise<void> => {
      for (const [jobId, { attempt }] of this.#attempts)
        if (id === null || id === jobId) await attempt.look();
    };
    const ends = [
      announcements.listen("job-queued", () => this.#wake()),
      announcements.listen("job-cancelled", (id) => {
        look(id).catch((error: unknown) =>
          logger.warn({ err: error }, "an announced change of a job could not be read; polling will find it"),
        );
      }),
    ];
    this.#endListening = () => ends.forEach((end) => end());
  }

  async #stop(): Promise<void> {
    this.#endListening();
    for (const { attempt } of this.#attempts.values()) attempt.interrupt("park");
    await this.#loops;
  }

  async #work(notifier: Notifier, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const taking = this.#take(signal);
      this.#takings.add(taking);
      const taken = await taking;
      this.#takings.delete(taking);
      if (taken === null) await notifier.wait(this.#settings.pollMs, { signal });
      else await taken.over;
    }
  }

  /** Claims a job and begins an attempt at it; returns null if there is no job to claim. */
  async #take(signal: AbortSignal): Promise<RunningAttempt | null> {
    await this.#rescuing;
    const owner = this.#dependencies.lease.id;
    const job = await this.#claim(owner);
    if (job === null) return null;
    const { id } = job;
    const attempt = new Attempt({ ...this.#dependencies, owner }, this.#settings, job, {
      waitCount: this.#waitCounts.get(id) ?? 0,
      onEvent: () => this.#events.emit(id),
    });
    if (signal.aborted) attempt.interrupt("park");
    const earlier = this.#attempts.get(id);
    earlier?.attempt.interrupt("lost");
    const taken = { attempt, over: this.#run(id, attempt, earlier?.over) };
    this.#attempts.set(id, taken);
    return taken;
  }

  /**
   * Runs an attempt at a job. First waits for the end of an earlier attempt at the same job, so that two attempts at a
   * job never run at the same time.
   */
  async #run(id: string, attempt: Attempt, earlierOver: Promise<void> | undefined): Promise<void> {
    await earlierOver;
    const ending = await attempt.run();
    if (ending === "wait") this.#waitCounts.set(id, (this.#waitCounts.get(id) ?? 0) + 1);
    else this.#waitCounts.delete(id);
    if (this.#attempts.get(id)?.attempt === attempt) this.#attempts.delete(id);
    this.#wake();
  }

  async #claim(owner: string): Promise<TrainingJob | null> {
    const { jobs, clock, logger } = this.#dependencies;
    try {
      const job = await jobs.claim(owner, clock.now());
      this.#claimFault = null;
      return job;
    } catch (error) {
      this.#claimFault = error instanceof ServiceError ? error.message : "The server's log says why.";
      logger.error({ err: error }, "no job could be claimed; trying again");
      return null;
    }
  }

  async #watchOthers(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#dependencies;
    const notifier = new Notifier(clock);
    while (!signal.aborted) {
      await notifier.wait(heartbeatMs(this.#settings), { signal });
      if (signal.aborted) return;
      try {
        for (const { attempt } of this.#attempts.values()) await attempt.look();
        await this.#rescue();
      } catch (error) {
        logger.error({ err: error }, "changes of jobs by other servers could not be read; trying again");
      }
    }
  }

  /**
   * Returns two groups of jobs to the queue: jobs of dead servers, and jobs that the store assigns to this server but
   * that this server does not run.
   */
  async #rescue(): Promise<void> {
    const { jobs, clock, lease, logger } = this.#dependencies;
    const taken = Promise.all(this.#takings);
    const rescue = async (): Promise<readonly string[]> => {
      await taken;
      const runs = { owner: lease.id, ids: [...this.#attempts.keys()] };
      return jobs.rescue({ ...this.#backoff(clock.now()), runs });
    };
    const rescuing = rescue();
    this.#rescuing = rescuing.catch(() => undefined);
    const jobIds = await rescuing;
    if (jobIds.length > 0) logger.warn({ jobIds }, "abandoned jobs are queued again");
    if (jobIds.length > 0) this.#wake();
  }

  /**
   * Returns the time from which a job whose servers died may run again: immediately after the first death, and later
   * after each further one.
   */
  #backoff(at: Date): { readonly at: Date; readonly notBefore: (restartCount: number) => Date } {
    const waitMs = (restartCount: number): number =>
      restartCount < 2 ? 0 : backoffMs(restartCount - 2, this.#settings);
    return { at, notBefore: (restartCount) => new Date(at.getTime() + waitMs(restartCount)) };
  }

  #wake(): void {
    for (const notifier of this.#notifiers) notifier.notify();
  }
}

function requireRetriable({ state, replayOf }: TrainingJob): void {
  const refused = (reason: string): ServiceError =>
    new ServiceError({ code: "conflict", message: `This job cannot be tried again. ${reason}` });
  if (replayOf !== null) throw refused(`It is a replay; replay ${replayOf} once more.`);
  if (state === "failed" || state === "cancelled") return;
  throw refused(`Only a job that failed or was cancelled can be; it is ${state}.`);
}
