// One training process as its parent sees it: given a job, listened to, watched, ended. It does not outlive its parent
// and does not keep its parent alive while it waits for work.
import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Clock } from "../domain/clock.ts";
import type { JobCounts, JobReport } from "../domain/job.ts";
import { ServiceError } from "../domain/service-error.ts";
import type { Logger } from "../telemetry/logger.ts";
import type { RunMessage, TrainingMessage } from "./child-protocol.ts";

export interface TrainingProcessOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** A silence longer than this ends the process. */
  readonly stallDeadlineMs: number;
}

export interface ProcessOutcome {
  readonly counts: JobCounts;
  readonly metrics: Readonly<Record<string, number>>;
}

export class TrainingProcess {
  readonly #options: TrainingProcessOptions;
  readonly #child: ChildProcess;
  readonly #exited: Promise<string>;
  /** Aborts the wait for the end of an idle process. */
  #idling = new AbortController();
  #isAlive = true;

  constructor(options: TrainingProcessOptions) {
    this.#options = options;
    this.#child = fork(fileURLToPath(new URL("./child-main.js", import.meta.url)), [], {
      serialization: "advanced",
      // Flags of this process, such as a test runner's, are not the child's; standard output stays the command's own.
      execArgv: [],
      stdio: ["ignore", 2, 2, "ipc"],
    });
    this.#exited = new Promise((resolve) => {
      const end = (how: string): void => {
        this.#isAlive = false;
        this.#idling.abort();
        resolve(how);
      };
      this.#child.once("exit", (code, signal) =>
        end(signal === null ? `ended with code ${code}` : `was ended by ${signal}`),
      );
      // Also what `send` reports when the process has just died.
      this.#child.on("error", (error) => {
        if (this.#child.pid === undefined) end(`could not be started: ${error.message}`);
      });
    });
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  /** Of the operating system; null when there is no process any more. */
  get id(): number | null {
    return this.#isAlive ? (this.#child.pid ?? null) : null;
  }

  /**
   * Runs a job to its end, passing on what it tells, in order. After an error the process is gone.
   *
   * @throws ServiceError `unavailable` when the process died or stalled, `cancelled` when the signal aborted (the process
   *   is killed), else the job's own error; and whatever `report` throws
   */
  async run(
    message: RunMessage,
    report: JobReport,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<ProcessOutcome> {
    this.#wake();
    const over = new AbortController();
    const progress = new Progress(this.#options.clock, this.#options.stallDeadlineMs, over.signal);
    try {
      const outcome = await Promise.race([
        this.#listen(message, report, progress),
        progress.stalled,
        this.#died(),
        aborted(signal, over.signal),
      ]);
      return outcome;
    } catch (error) {
      await this.end();
      throw error;
    } finally {
      over.abort();
      this.#child.removeAllListeners("message");
    }
  }

  /** Ends the process when it stays without work for this long. */
  endAfter(durationMs: number): void {
    this.#child.unref();
    this.#child.channel?.unref();
    this.#idling = new AbortController();
    this.#options.clock.sleep(durationMs, { signal: this.#idling.signal }).then(
      () => this.end(),
      () => undefined,
    );
  }

  /** Kills it, and waits until it is gone. */
  async end(): Promise<void> {
    this.#wake();
    this.#child.kill("SIGKILL");
    await this.#exited;
  }

  #wake(): void {
    this.#idling.abort();
    this.#child.ref();
    this.#child.channel?.ref();
  }

  #listen(message: RunMessage, report: JobReport, progress: Progress): Promise<ProcessOutcome> {
    return new Promise((resolve, reject) => {
      let told: Promise<void> = Promise.resolve();
      const pass = (action: () => Promise<void>): void => {
        told = told.then(action);
        told.catch(reject);
      };
      this.#child.on("message", (news: TrainingMessage) => {
        progress.beat();
        switch (news.kind) {
          case "started":
            return pass(() => report.started(news.stepCount, news.counts));
          case "stepped":
            return pass(() => report.stepped(news.index, news.metrics));
          case "finished":
            return pass(async () => resolve({ counts: news.counts, metrics: news.metrics }));
          case "failed":
            this.#options.logger.warn({ jobId: message.jobId, detail: news.detail }, "a training job failed");
            return pass(async () => reject(new ServiceError({ code: news.code, message: news.message })));
        }
      });
      if (this.#child.connected) this.#child.send(message, () => undefined);
    });
  }

  async #died(): Promise<never> {
    throw unavailable(`The training process ${await this.#exited}.`);
  }
}

/** Watches that something happens again and again. */
class Progress {
  /** Rejects with `unavailable` when nothing happened for the deadline. */
  readonly stalled: Promise<never>;
  #lastMs: number;

  constructor(clock: Clock, deadlineMs: number, over: AbortSignal) {
    this.#lastMs = clock.monotonicMs();
    this.beat = () => (this.#lastMs = clock.monotonicMs());
    this.stalled = this.#watch(clock, deadlineMs, over);
    // After the job is over nobody waits for this any more.
    this.stalled.catch(() => undefined);
  }

  readonly beat: () => void;

  async #watch(clock: Clock, deadlineMs: number, over: AbortSignal): Promise<never> {
    for (;;) {
      const remainingMs = this.#lastMs + deadlineMs - clock.monotonicMs();
      if (remainingMs <= 0) {
        throw unavailable(
          `The training process showed no progress for ${Math.round(deadlineMs / 1000)} seconds.`,
        );
      }
      await clock.sleep(remainingMs, { signal: over });
    }
  }
}

function aborted(signal: AbortSignal, over: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const onAbort = (): void =>
      reject(
        new ServiceError({ code: "cancelled", message: "The attempt was cancelled.", cause: signal.reason }),
      );
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    over.addEventListener("abort", () => signal.removeEventListener("abort", onAbort), { once: true });
  });
}

function unavailable(message: string): ServiceError {
  return new ServiceError({ code: "unavailable", message });
}
