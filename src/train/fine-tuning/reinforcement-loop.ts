// Runs the reinforcement jobs that the database assigns to this server, a few at a time. Pausing or cancelling a job
// takes it from the server, which then stops sampling for it.
import type { FineTuningJob } from "../../base/domain/fine-tuning/fine-tuning-job.ts";
import type { Service } from "../../base/domain/lifecycle.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { repeatingService } from "../../base/domain/waiting/repeat-until.ts";
import type { Logger } from "../../base/telemetry/logger.ts";
import { nextAction, type StepDependencies } from "./reinforcement-step.ts";

export interface LoopDependencies extends StepDependencies {
  readonly logger: Logger;
}

interface RunningJob {
  readonly stop: AbortController;
  readonly done: Promise<void>;
}

export class ReinforcementLoop implements Service {
  readonly #dependencies: LoopDependencies;
  readonly #running = new Map<string, RunningJob>();
  readonly #life: Service;

  constructor(dependencies: LoopDependencies) {
    this.#dependencies = dependencies;
    const { clock, settings, logger } = dependencies;
    const onFault = (error: unknown): void =>
      logger.warn({ err: error }, "reinforcement jobs could not be read; trying again");
    this.#life = repeatingService(
      "reinforcement jobs",
      { clock, pauseMs: settings.lookMs, onFault },
      () => this.#look(),
      () => Promise.all([...this.#running.values()].map(({ stop, done }) => (stop.abort(), done))),
    );
  }

  start(): Promise<void> {
    return this.#life.start();
  }

  /** Stops sampling. Another server, or the next start, continues each job after its last recorded action. */
  stop(): Promise<void> {
    return this.#life.stop();
  }

  /** Starts jobs that are newly assigned to this server, and stops jobs that are no longer assigned to it. */
  async #look(): Promise<void> {
    const { fineTuning, owner, settings } = this.#dependencies;
    const claimed = await fineTuning.claim(owner(), settings.jobsMax);
    const ids = new Set(claimed.map(({ id }) => id));
    for (const [id, { stop }] of this.#running) if (!ids.has(id)) stop.abort();
    for (const job of claimed) {
      if (this.#running.has(job.id)) continue;
      const stop = new AbortController();
      const done = this.#run(job, stop.signal).finally(() => this.#running.delete(job.id));
      this.#running.set(job.id, { stop, done });
    }
  }

  /** Takes actions of a job until it waits for a training job, ends, or is taken from this server. */
  async #run(job: FineTuningJob, signal: AbortSignal): Promise<void> {
    const { fineTuning, logger, clock, owner } = this.#dependencies;
    try {
      let current: FineTuningJob | null = job;
      while (current !== null && current.state === "running" && !signal.aborted) {
        if (!(await nextAction(this.#dependencies, current, signal))) return;
        current = await fineTuning.find(job.id);
      }
    } catch (error) {
      if (signal.aborted) return;
      const isTransient = !(error instanceof ServiceError) || error.code === "unavailable";
      logger.warn({ err: error, jobId: job.id }, "a reinforcement job could not continue");
      if (isTransient || error.code === "overloaded") return;
      const failure = { from: ["running"], to: "failed", errorMessage: error.message } as const;
      await fineTuning
        .changeState(job.id, { ...failure, at: clock.now(), owner: owner() })
        .catch((fault: unknown) => logger.warn({ err: fault }, "a failed job could not be recorded yet"));
    }
  }
}
