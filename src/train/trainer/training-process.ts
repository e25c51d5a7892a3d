// Controls one training process for the job runner. The process loads one base model, runs jobs one after the other,
// and ends after an idle time.
import { present } from "../../base/domain/assert.ts";
import type { Clock } from "../../base/domain/clock.ts";
import type { JobOutcome, JobReport } from "../../base/domain/job.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { startChild, type Child } from "../../base/processes/child.ts";
import { toServiceError } from "../../base/processes/serialized-error.ts";
import type { RunRequest, TrainingEvent, TrainingLoad, TrainingProtocol } from "./child-protocol.ts";

/** Maximum time in milliseconds that an idle process, which has no work to finish, may take to end. */
const stopDeadlineMs = 2000;

/** Module that a training process runs. */
const trainingModule = new URL("./child-main.js", import.meta.url);

export class TrainingProcess {
  readonly #clock: Clock;
  readonly #module: URL;
  #child: Child<TrainingProtocol> | null = null;
  #loaded: TrainingLoad | null = null;
  /** Called with each event of the running job. */
  #onEvent: (event: TrainingEvent) => void = () => undefined;
  /** Resident memory in bytes that the process reported last; null before its first report. */
  #heldBytes: number | null = null;
  /** Aborted to end the wait for the idle time. */
  #idling = new AbortController();
  #isEnding = false;

  constructor(clock: Clock, module = trainingModule) {
    this.#clock = clock;
    this.#module = module;
  }

  /** The operating system's process id; null before the process starts and after it has ended. */
  get id(): number | null {
    return this.#child?.id ?? null;
  }

  /**
   * True if the process can run a job. A process that was asked to end exists for another moment, but a job sent to it
   * would be lost.
   */
  get isAvailable(): boolean {
    return this.id !== null && !this.#isEnding;
  }

  /** The model and settings with which the process was started; null before it starts. */
  get loaded(): TrainingLoad | null {
    return this.#loaded;
  }

  /**
   * Starts the process and loads the base model.
   *
   * @throws ServiceError as {@link run} does
   */
  async start(load: TrainingLoad, { signal }: { readonly signal: AbortSignal }): Promise<void> {
    const { stallDeadlineMs: deadlineMs } = load.settings;
    this.#loaded = load;
    try {
      this.#child = await startChild<TrainingProtocol>(
        {
          module: this.#module,
          name: "training process",
          load,
          clock: this.#clock,
          startDeadlineMs: deadlineMs,
          silenceDeadlineMs: deadlineMs,
          onEvent: ({ heldBytes, ...event }) => {
            this.#heldBytes = heldBytes;
            this.#onEvent(event);
          },
        },
        { signal },
      );
    } catch (error) {
      if (signal.aborted) throw cancelled(signal);
      // A timeout becomes `unavailable`, so that the job is tried again. The next start may be faster.
      if (error instanceof ServiceError && error.code === "timeout")
        throw new ServiceError({ code: "unavailable", message: error.message, cause: error });
      throw error;
    }
  }

  /**
   * Runs a job to its end, and passes the job's reports to `report` in order. After an error, the process has ended.
   *
   * @throws ServiceError `unavailable` if the process died or stalled, `cancelled` if the signal aborted (which kills
   * the process), otherwise the job's own error; also rethrows errors of `report`
   */
  async run(
    request: RunRequest,
    report: JobReport,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<JobOutcome> {
    this.#idling.abort();
    const child = present(this.#child, "a training process that has been started");
    const onAbort = (): void => void child.kill();
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      child.setWorking(true);
      return await Promise.race([
        this.#listen(child, request, report),
        child.exited.then((how) => Promise.reject(lost(how, child.ranOutOfMemory, this.#heldBytes))),
      ]);
    } catch (error) {
      await child.kill();
      throw signal.aborted ? cancelled(signal) : error;
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#onEvent = () => undefined;
      child.setWorking(false);
    }
  }

  /** Ends the process once it has been idle for this time in milliseconds. */
  endAfter(durationMs: number): void {
    this.#idling = new AbortController();
    this.#clock.sleep(durationMs, { signal: this.#idling.signal }).then(
      () => this.end(),
      // The sleep rejects if work begins or the process ends.
      () => undefined,
    );
  }

  /** Ends the process, which must be idle. Resolves when it has exited. */
  async end(): Promise<void> {
    this.#isEnding = true;
    this.#idling.abort();
    await this.#child?.stop(stopDeadlineMs);
  }

  #listen(child: Child<TrainingProtocol>, request: RunRequest, report: JobReport): Promise<JobOutcome> {
    return new Promise((resolve, reject) => {
      let reported: Promise<void> = Promise.resolve();
      const pass = (action: () => Promise<void>): void => {
        reported = reported.then(action);
        reported.catch(reject);
      };
      this.#onEvent = (event) => {
        switch (event.kind) {
          case "alive":
            return;
          case "finished":
            return pass(async () => resolve(event.outcome));
          case "failed":
            return pass(() => Promise.reject(toServiceError(event.failure)));
          case "asks-for-job":
            return pass(async () => {
              await report(event);
              child.send({ kind: "job-is-owned" });
            });
          default:
            return pass(() => report(event));
        }
      };
      child.send(request);
    });
  }
}

function cancelled(signal: AbortSignal): ServiceError {
  return new ServiceError({
    code: "cancelled",
    message: "The attempt was cancelled.",
    cause: signal.reason,
  });
}

/**
 * Returns the error for a process that ended unexpectedly. The message says how it ended and how much memory it had,
 * and gives advice if memory ran out.
 */
function lost(how: string, ranOutOfMemory: boolean, heldBytes: number | null): ServiceError {
  // SIGKILL must have come from outside: if this server kills a process, it records that, or expects no result from the
  // process.
  const wasTaken = how === "was ended by SIGKILL";
  const may = wasTaken ? ", as the operating system does when memory runs out" : "";
  const held =
    heldBytes !== null && (wasTaken || ranOutOfMemory)
      ? ` It used ${(heldBytes / 1e9).toFixed(2)} GB shortly before.`
      : "";
  const message = `The training process ${how}${may}.${held}${wasTaken || ranOutOfMemory ? ` ${cure}` : ""}`;
  return new ServiceError({ code: "unavailable", message });
}

const cure =
  "Lower training.memoryBytes so that training needs less memory, exclude the longest sequences " +
  "(training.sequenceLengthMax), or give the machine more memory.";
