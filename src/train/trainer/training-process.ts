// One training process, as seen by the runner. It is loaded for one base model, runs jobs one after the other, and is
// ended after an idle time.
import { present } from "../../base/domain/assert.ts";
import type { Clock } from "../../base/domain/clock.ts";
import type { JobOutcome, JobReport } from "../../base/domain/job.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { startChild, type Child } from "../../base/processes/child.ts";
import { toServiceError } from "../../base/processes/serialized-error.ts";
import type { RunRequest, TrainingEvent, TrainingLoad, TrainingProtocol } from "./child-protocol.ts";

/** Maximum time in milliseconds that an idle process has for ending, since it has no work to finish. */
const stopDeadlineMs = 2000;

export class TrainingProcess {
  readonly #clock: Clock;
  #child: Child<TrainingProtocol> | null = null;
  #loaded: TrainingLoad | null = null;
  /** Receives the running job's events. */
  #onEvent: (event: TrainingEvent) => void = () => undefined;
  /** Last reported resident memory; null before the first report. */
  #heldBytes: number | null = null;
  /** Aborts the wait for the end of the idle time. */
  #idling = new AbortController();
  #isEnding = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The operating system's process id; null before the start and after the end. */
  get id(): number | null {
    return this.#child?.id ?? null;
  }

  /**
   * True if the process can run a job. A process that was asked to end still exists for a moment, but a job sent to it
   * would be lost.
   */
  get isAvailable(): boolean {
    return this.id !== null && !this.#isEnding;
  }

  /** The model and settings with which the process was started; null before the start. */
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
          module: new URL("./child-main.js", import.meta.url),
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
      // The code becomes `unavailable`, so that the job is tried again: the next start may be faster.
      if (error instanceof ServiceError && error.code === "timeout")
        throw new ServiceError({ code: "unavailable", message: error.message, cause: error });
      throw error;
    }
  }

  /**
   * Runs a job to its end, and passes its reports to `report` in order. After an error, the process has ended.
   *
   * @throws ServiceError `unavailable` if the process died or stalled, `cancelled` if the signal aborted (which kills
   * the process), else the job's own error; also rethrows errors of `report`
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

  /** Ends the process after this much idle time. */
  endAfter(durationMs: number): void {
    this.#idling = new AbortController();
    this.#clock.sleep(durationMs, { signal: this.#idling.signal }).then(
      () => this.end(),
      // Work has begun or the process has ended: the sleep has no other reason to reject.
      () => undefined,
    );
  }

  /** Ends an idle process; resolves when it has exited. */
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
 * Returns the error for a process that ended. Its message says how the process ended and how much memory it had, with
 * advice if memory ran out.
 */
function lost(how: string, ranOutOfMemory: boolean, heldBytes: number | null): ServiceError {
  // The signal came from outside this server: a process that this server kills is recorded as killed, or no result was
  // expected from it.
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
