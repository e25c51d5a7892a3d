// One attempt at a job: run it as long as it is its owner's, pass on what it reports, and write down how it ended.
import { assert } from "../../base/domain/assert.ts";
import { newUuid } from "../../base/domain/random.ts";
import type { JobAssignment, JobOutcome, JobSuccess, TrainingJob } from "../../base/domain/job.ts";
import type { ModelVersion } from "../../base/domain/model.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { Logger } from "../../base/telemetry/logger.ts";
import type { AttemptDependencies } from "./attempt-dependencies.ts";
import { assign, AttemptFailure, ofRunner } from "./assignment.ts";
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
import { JobTrace } from "./job-trace.ts";
import type { JobSettings } from "./settings.ts";

export class Attempt {
  readonly #dependencies: AttemptDependencies;
  readonly #settings: JobSettings;
  readonly #job: TrainingJob;
  /** Called after every event is durable. */
  readonly #onEvent: () => void;
  readonly #waitCount: number;
  readonly #logger: Logger;
  readonly #trace: JobTrace | null;
  readonly #running = new AbortController();
  /** Aborts when the server stops: nothing waits any longer then. */
  readonly #parking = new AbortController();
  #interruption: Interruption | null = null;
  /** Whether it kept further steps, or further prepared lines, for another attempt. */
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

  /** Aborts the run; the first reason given decides what becomes of the job. */
  interrupt(reason: Interruption): void {
    this.#interruption ??= reason;
    if (reason === "park") this.#parking.abort();
    this.#running.abort(
      new ServiceError({ code: "cancelled", message: `The attempt was interrupted (${reason}).` }),
    );
  }

  /** Looks whether the job was cancelled elsewhere, or is not the owner's any more, and interrupts the run where it is so. */
  async look(): Promise<void> {
    const job = await this.#find();
    if (job === null) this.interrupt("lost");
    else if (job.cancelRequested) this.interrupt("cancel");
  }

  /**
   * Resolves when the attempt is over and settled, with how it ended; never rejects. Null when that could not be written,
   * and the job may still be the owner's.
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
      await this.#settleAtLast(attempted.ending, assignment);
      ({ kind } = attempted.ending);
      ended = endingName(attempted.ending);
    } catch (error) {
      // A store that cannot be asked may still have it.
      if ((await this.#find().catch(() => this.#job)) !== null) {
        this.#logger.error({ err: error }, "an attempt could not be settled; the job will be queued again");
      } else {
        kind = "leave";
        this.#logger.warn({ err: error }, "the job went with its model, or is another's; nothing is written");
      }
    }
    this.#trace?.end(ended);
    await this.#tidy(kind, assignment);
    this.#onEvent();
    if (kind === "succeed" && this.#job.replayOf === null) await this.#tidyOlderVersions();
    return kind;
  }

  /** What was made and kept goes where nobody wants it any more; of what is not known to be anybody's the note stays. */
  async #tidy(kind: Ending["kind"] | null, assignment: JobAssignment | null): Promise<void> {
    const hasEnded = kind === "succeed" || kind === "end";
    if (!hasEnded && (await this.#isGone())) return await this.#discard(assignment);
    if (hasEnded) await this.#discard(null);
    if (kind !== null && kind !== "leave" && assignment !== null) await this.#keep(assignment);
  }

  /**
   * Removes what attempts kept for each other, and what this one made of an assignment. What cannot be removed now is
   * removed at the next start.
   */
  async #discard(assignment: JobAssignment | null): Promise<void> {
    const { runner } = this.#dependencies;
    try {
      if (assignment !== null) await runner.discard(assignment);
      await runner.discardWork(this.#job.id);
    } catch (error) {
      this.#logger.warn({ err: error }, "what attempts kept could not be removed");
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

  /** Whether there is no such job any more; a store that cannot be asked may have it. */
  #isGone(): Promise<boolean> {
    return this.#dependencies.jobs.find(this.#job.id).then(
      (job) => job === null,
      () => false,
    );
  }

  /** The next job starts from the new version. What a death leaves undone here is done at the next start. */
  async #tidyOlderVersions(): Promise<void> {
    const { models, runner, onNewVersion } = this.#dependencies;
    const { modelId } = this.#job;
    try {
      await onNewVersion?.(modelId);
      const states = await models.oldTrainerStates(modelId, this.#settings.optimizerStatesKept);
      for (const state of states) await runner.discardState(state);
      await models.dropTrainerStates(modelId, states);
    } catch (error) {
      this.#logger.warn({ err: error, modelId }, "what older versions keep could not be removed");
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
      // The model went, and its jobs with it.
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
    return ofRunner(async () => {
      signal.throwIfAborted();
      const outcome = await runner.run(assignment, report, { signal });
      requireFinite(outcome.metrics);
      return outcome;
    });
  }

  /** A disk that is full now holds an ending up, and takes none away. */
  async #settleAtLast(ending: Ending, assignment: JobAssignment | null): Promise<void> {
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
          // The server stops: there is one more try.
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
        const success = successOf(ending.outcome, assignment, { owner, at: now });
        await this.#prepare(success.version, assignment.model.baseModel);
        await jobs.succeed(id, success);
        return;
      }
      case "end":
        await jobs.end(id, ending.state, ending.message, now, {
          owner,
          // What lies there may be the version of another server that has the job by now, or of the model's next job.
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
   * What was trained is not lost for an engine that is down or refuses it: its files are complete, engines read them when
   * they are asked for them, and a client that asks learns what is wrong, and may mend it.
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

  /** The job, null when it does not run for the owner any more. */
  #find(): Promise<TrainingJob | null> {
    const { jobs, owner } = this.#dependencies;
    return jobs.findRunning(this.#job.id, owner);
  }
}

function successOf(
  outcome: JobOutcome,
  { job, model, pins }: JobAssignment,
  { owner, at }: Pick<JobSuccess, "owner" | "at">,
): JobSuccess {
  const { metrics, counts, comparison, adapterFolder, trainerState, base, adapterHash } = outcome;
  if (comparison !== undefined) {
    const data = { ...metrics, matrices: comparison.matrixCount, different: comparison.differentCount };
    return { owner, at, counts, version: null, comparison, data };
  }
  const version = {
    id: newUuid(),
    modelId: model.id,
    step: pins.resultStep,
    adapterFolder,
    trainerState,
    jobId: job.id,
    metrics,
    isPinned: false,
    base,
    adapterHash,
    copiedKind: null,
    createdAt: at,
  };
  return { owner, at, counts, version, data: { ...metrics, step: pins.resultStep } };
}
