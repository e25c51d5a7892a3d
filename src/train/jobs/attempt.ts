// One attempt at a job. Runs the job for as long as this server owns it, stores the attempt's reports, and records the
// outcome.
import { assert } from "../../base/domain/assert.ts";
import type { JobAssignment, JobOutcome, TrainingJob } from "../../base/domain/job.ts";
import type { ModelVersion } from "../../base/domain/model.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { Logger } from "../../base/telemetry/logger.ts";
import type { AttemptDependencies } from "./attempt-dependencies.ts";
import { assign, AttemptFailure, wrapRunnerErrors } from "./assignment.ts";
import { endingName, createReport, requireFinite } from "./attempt-report.ts";
import {
  type AttemptResult,
  backoffMs,
  cancelled,
  type Ending,
  endingOf,
  type Interruption,
  refusedStart,
} from "./next-state.ts";
import { successOf, withFeedbackReward } from "./job-success.ts";
import { JobTrace } from "./job-trace.ts";
import type { JobSettings } from "./settings.ts";

export class Attempt {
  readonly #dependencies: AttemptDependencies;
  readonly #settings: JobSettings;
  readonly #job: TrainingJob;
  /** Called after each of the job's events is stored durably. */
  readonly #onEvent: () => void;
  readonly #waitCount: number;
  readonly #logger: Logger;
  readonly #trace: JobTrace | null;
  readonly #running = new AbortController();
  /** Aborts when the server stops. Its signal ends all waits of this attempt. */
  readonly #parking = new AbortController();
  #interruption: Interruption | null = null;
  /**
   * True if this attempt saved more steps or prepared more lines than earlier ones, so that a later attempt can
   * continue there.
   */
  #hasAdvanced = false;

  constructor(
    dependencies: AttemptDependencies,
    settings: JobSettings,
    job: TrainingJob,
    { waitCount, onEvent }: { readonly waitCount: number; readonly onEvent: () => void },
  ) {
    this.#dependencies = dependencies;
    this.#settings = settings;
    this.#job = job;
    this.#onEvent = onEvent;
    this.#waitCount = waitCount;
    const { tracing = null, clock } = dependencies;
    this.#trace = tracing && new JobTrace(tracing, clock, job);
    this.#logger = dependencies.logger.child({
      jobId: job.id,
      attempt: job.attemptCount,
      ...(job.madeBy && { requestId: job.madeBy.requestId }),
    });
  }

  /** Aborts the run. If this is called repeatedly, the first reason decides the job's outcome. */
  interrupt(reason: Interruption): void {
    this.#interruption ??= reason;
    if (reason === "park") this.#parking.abort();
    this.#running.abort(
      new ServiceError({ code: "cancelled", message: `The attempt was interrupted (${reason}).` }),
    );
  }

  /**
   * Checks the store, and interrupts the run if a request to another server cancelled the job, or another server took
   * it.
   */
  async look(): Promise<void> {
    const job = await this.#find();
    if (job === null) this.interrupt("lost");
    else if (job.cancelRequested) this.interrupt("cancel");
  }

  /**
   * Runs the attempt and stores its outcome; never rejects. Resolves with the outcome. Resolves with null if the
   * outcome could not be stored, in which case this server may still own the job.
   */
  async run(): Promise<Ending["kind"] | null> {
    let kind: Ending["kind"] | null = null;
    let assignment: JobAssignment | null = null;
    const { clock, metrics } = this.#dependencies;
    const startedMs = clock.monotonicMs();
    let ended = "left";
    try {
      const attempted = await this.#attempt();
      ({ assignment } = attempted);
      metrics?.ended(attempted.ending, clock.monotonicMs() - startedMs);
      this.#logger.info({ ending: attempted.ending.kind }, "attempt over");
      await this.#settleWithRetries(attempted.ending, assignment);
      ({ kind } = attempted.ending);
      ended = endingName(attempted.ending);
    } catch (error) {
      // If the store cannot be reached, assumes that the job still exists.
      if ((await this.#find().catch(() => this.#job)) !== null) {
        this.#logger.error({ err: error }, "an attempt could not be settled; the job will be queued again");
      } else {
        kind = "leave";
        this.#logger.warn(
          { err: error },
          "the job was deleted or belongs to another server; nothing is written",
        );
      }
    }
    this.#trace?.end(ended);
    await this.#tidy(kind, assignment);
    this.#onEvent();
    if (kind === "succeed" && this.#job.replayOf === null) await this.#tidyOlderVersions();
    return kind;
  }

  /**
   * If the job has ended or no longer exists, removes the data that its attempts kept for later attempts. If it is
   * unknown whether the outcome was stored, keeps the attempt's output.
   */
  async #tidy(kind: Ending["kind"] | null, assignment: JobAssignment | null): Promise<void> {
    const hasEnded = kind === "succeed" || kind === "end";
    if (!hasEnded && (await this.#isGone())) return await this.#discard(assignment);
    if (hasEnded) await this.#discard(null);
    if (kind !== null && kind !== "leave" && assignment !== null) await this.#keep(assignment);
  }

  /**
   * Removes the data that attempts keep for later attempts, and the assignment's output. Files that it fails to remove
   * are removed at the server's next start.
   */
  async #discard(assignment: JobAssignment | null): Promise<void> {
    const { runner } = this.#dependencies;
    try {
      if (assignment !== null) await runner.discard(assignment);
      await runner.discardWork(this.#job.id);
    } catch (error) {
      this.#logger.warn({ err: error }, "data kept between attempts could not be removed");
    }
  }

  async #keep(assignment: JobAssignment): Promise<void> {
    await this.#dependencies.runner.keep(assignment).catch((error: unknown) => {
      this.#logger.warn(
        { err: error },
        "that a version is somebody's could not be noted; the next start finds it out",
      );
    });
  }

  /** True if the job no longer exists; false if it exists or the store cannot be reached. */
  #isGone(): Promise<boolean> {
    return this.#dependencies.jobs.find(this.#job.id).then(
      (job) => job === null,
      () => false,
    );
  }

  /**
   * Removes optimizer states of older versions, which are useless because the next job starts from the new version. If
   * the server dies before that, its next start removes them.
   */
  async #tidyOlderVersions(): Promise<void> {
    const { models, runner, onNewVersion } = this.#dependencies;
    const { modelId } = this.#job;
    try {
      await onNewVersion?.(modelId);
      const states = await models.oldTrainerStates(modelId, this.#settings.optimizerStatesKept);
      for (const state of states) await runner.discardState(state);
      await models.dropTrainerStates(modelId, states);
    } catch (error) {
      this.#logger.warn({ err: error, modelId }, "training states of older versions could not be removed");
    }
  }

  async #attempt(): Promise<{ readonly assignment: JobAssignment | null; readonly ending: Ending }> {
    const job = this.#job;
    const refused = job.cancelRequested ? cancelled : refusedStart(job.restartCount, this.#settings);
    if (refused !== null) return { assignment: null, ending: refused };
    let assignment: JobAssignment | null = null;
    let result: AttemptResult;
    try {
      assignment = await assign(this.#dependencies, this.#settings, job);
      // No assignment means that the model and its jobs were deleted.
      if (assignment === null) return { assignment, ending: { kind: "leave" } };
      this.#trace?.enter("preparing");
      result = { kind: "done", outcome: await this.#run(assignment) };
    } catch (error) {
      if (!(error instanceof AttemptFailure)) throw error;
      if (this.#interruption === null) this.#logger.warn({ err: error.cause }, "attempt failed");
      result = { kind: "threw", error: error.cause };
    }
    const { lostCount } = job;
    const earlier = { lostCount, waitCount: this.#waitCount, hasAdvanced: this.#hasAdvanced };
    return { assignment, ending: endingOf(result, this.#interruption, earlier, this.#settings) };
  }

  #run(assignment: JobAssignment): Promise<JobOutcome> {
    const { runner } = this.#dependencies;
    const { signal } = this.#running;
    const report = createReport(this.#job, {
      ...this.#dependencies,
      logger: this.#logger,
      trace: this.#trace,
      onEvent: this.#onEvent,
      onAdvanced: () => void (this.#hasAdvanced = true),
    });
    return wrapRunnerErrors(async () => {
      signal.throwIfAborted();
      const outcome = await runner.run(assignment, report, { signal });
      requireFinite(outcome.metrics);
      return outcome;
    });
  }

  /** Stores the attempt's outcome. Retries while the disk is full, so that the outcome is not lost. */
  async #settleWithRetries(ending: Ending, assignment: JobAssignment | null): Promise<void> {
    for (let waitCount = 0; ; waitCount++) {
      try {
        await this.#settle(ending, assignment);
        return;
      } catch (error) {
        const isObstacle = error instanceof ServiceError && error.obstacle !== undefined;
        if (!isObstacle || this.#parking.signal.aborted) throw error;
        this.#logger.warn({ err: error }, "an attempt could not be settled yet; trying again");
        await this.#dependencies.clock
          .sleep(backoffMs(waitCount, this.#settings), { signal: this.#parking.signal })
          // If the server stops, the sleep ends early and rejects; one last try to store the outcome follows.
          .catch(() => undefined);
      }
    }
  }

  async #settle(ending: Ending, assignment: JobAssignment | null): Promise<void> {
    const { jobs, runner, clock, owner } = this.#dependencies;
    const { id } = this.#job;
    const now = clock.now();
    switch (ending.kind) {
      case "succeed": {
        assert(assignment !== null, "what ran had an assignment");
        const outcome = await withFeedbackReward(ending.outcome, this.#job, this.#dependencies);
        const success = successOf(outcome, assignment, { owner, at: now });
        await this.#prepare(success.version, assignment.model.baseModel);
        await jobs.succeed(id, success);
        return;
      }
      case "end":
        await jobs.end(id, ending.state, ending.message, now, {
          owner,
          // This callback runs only while this server owns the job. After that, the output path may belong to another
          // server that took over the job, or to the model's next job.
          discard: async () => (assignment === null ? undefined : runner.discard(assignment)),
        });
        return;
      case "retry":
      case "wait":
        await jobs.release(id, owner, {
          at: now,
          notBefore: new Date(now.getTime() + ending.waitMs),
          attempt: ending.kind === "retry" ? "lost" : "returned",
          waitingFor: ending.kind === "retry" ? null : ending.reason,
        });
        return;
      case "park":
        await jobs.release(id, owner, {
          at: now,
          notBefore: new Date(0),
          attempt: "returned",
          waitingFor: null,
        });
        return;
      case "leave":
        return;
    }
  }

  /**
   * Loads a new version into the engine before it becomes the newest. Ignores a failure: the version's files are
   * complete, so the engine loads them again for the first request, whose client sees any error.
   */
  async #prepare(version: ModelVersion | null, baseModel: string): Promise<void> {
    if (version === null) return;
    try {
      await this.#dependencies.prepareVersion?.(version, baseModel);
    } catch (error) {
      this.#logger.warn(
        { err: error, step: version.step },
        "the engine could not load the new version in advance",
      );
    }
  }

  /** Returns the stored job; null if this server no longer owns it. */
  #find(): Promise<TrainingJob | null> {
    const { jobs, owner } = this.#dependencies;
    return jobs.findRunning(this.#job.id, owner);
  }
}
