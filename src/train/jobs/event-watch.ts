// Streams of a job's events, and the interruptible wait that streams use. A notification within this process wakes a
// stream. Each stream also polls the store, because another process may have written an event.
import type { Clock } from "../../base/domain/clock.ts";
import { type JobEvent, type JobStore, type TrainingJob, isTerminal } from "../../base/domain/job.ts";
import type { Page } from "../../base/domain/page.ts";
import { notFound } from "../../base/domain/service-error.ts";
import { waitOver } from "../../base/domain/waiting/wait-over.ts";

/**
 * A wait that another part of the process can end early. Only one caller may wait at a time. A notification that
 * arrives while nobody waits ends the next wait immediately, so none is missed between polling and waiting.
 */
export class Notifier {
  readonly #clock: Clock;
  #isNotified = false;
  #wake: (() => void) | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  notify(): void {
    this.#isNotified = true;
    this.#wake?.();
  }

  /** Resolves after `timeoutMs`, when notified, or when the signal aborts, whichever is first; never rejects. */
  async wait(timeoutMs: number, { signal }: { readonly signal: AbortSignal }): Promise<void> {
    if (!this.#isNotified && !signal.aborted) {
      const woken = new AbortController();
      const wake = (): void => woken.abort(waitOver);
      this.#wake = wake;
      signal.addEventListener("abort", wake, { once: true });
      // `sleep` rejects only if its signal aborts. A notification aborts the signal to end the wait.
      await this.#clock.sleep(timeoutMs, { signal: woken.signal }).catch(() => undefined);
      signal.removeEventListener("abort", wake);
      this.#wake = null;
    }
    this.#isNotified = false;
  }
}

/** Number of events read from the store at a time. */
const pageLimit = 100;

export class EventWatch {
  readonly #jobs: Pick<JobStore, "find" | "listEvents">;
  readonly #clock: Clock;
  readonly #pollMs: number;
  readonly #watchers = new Map<string, Set<Notifier>>();

  constructor(jobs: Pick<JobStore, "find" | "listEvents">, clock: Clock, pollMs: number) {
    this.#jobs = jobs;
    this.#clock = clock;
    this.#pollMs = pollMs;
  }

  /** Notifies the streams of a job about new events. */
  emit(jobId: string): void {
    for (const watcher of this.#watchers.get(jobId) ?? []) watcher.notify();
  }

  /** Number of open streams. */
  get watcherCount(): number {
    return [...this.#watchers.values()].reduce((sum, watchers) => sum + watchers.size, 0);
  }

  /** Streams a job's events; see {@link JobQueue.watchEvents}. */
  async *watch(jobId: string, after: string | null, signal: AbortSignal): AsyncGenerator<JobEvent, void> {
    const watcher = this.#add(jobId);
    try {
      let cursor = after;
      for (let isKnown = false; !signal.aborted; isKnown = true) {
        const found = await this.#look(jobId, cursor);
        if (found === null && !isKnown) throw notFound("training job", jobId);
        if (found === null) {
          yield deletedEvent(jobId);
          return;
        }
        for (const event of found.page.items) {
          yield event;
          cursor = event.id;
          // Returns instead of polling again: if the job is deleted before the next poll, that poll would yield a
          // second last event.
          if (isLast(event)) return;
        }
        if (found.page.hasMore) continue;
        if (isTerminal(found.job.state)) return;
        await watcher.wait(this.#pollMs, { signal });
      }
    } finally {
      this.#remove(jobId, watcher);
    }
  }

  /** Returns the job and its events after the cursor; null if the job does not exist or was deleted. */
  async #look(
    jobId: string,
    cursor: string | null,
  ): Promise<{ readonly job: TrainingJob; readonly page: Page<JobEvent> } | null> {
    // Reads the job's state before its events. The last event is stored together with the terminal state, so if the
    // state is terminal, the events read next include the last one.
    const job = await this.#jobs.find(jobId);
    if (job === null) return null;
    try {
      const page = await this.#jobs.listEvents(jobId, { after: cursor, limit: pageLimit, order: "asc" });
      // A missing last event means that the job was deleted between the two reads.
      const isGone =
        isTerminal(job.state) && !page.items.some(isLast) && (await this.#jobs.find(jobId)) === null;
      return isGone ? null : { job, page };
    } catch (error) {
      // Deleting a job deletes its events too. The cursor is then invalid, which must not be reported as an error.
      if ((await this.#jobs.find(jobId)) === null) return null;
      throw error;
    }
  }

  #add(jobId: string): Notifier {
    const watcher = new Notifier(this.#clock);
    const watchers = this.#watchers.get(jobId) ?? new Set();
    this.#watchers.set(jobId, watchers.add(watcher));
    return watcher;
  }

  #remove(jobId: string, watcher: Notifier): void {
    const watchers = this.#watchers.get(jobId);
    watchers?.delete(watcher);
    if (watchers?.size === 0) this.#watchers.delete(jobId);
  }
}

function isLast({ type }: JobEvent): boolean {
  return type === "training_ended" || type === "training_failed";
}

/** Returns a last event for a job that was deleted with its model, because the stored events were deleted too. */
function deletedEvent(jobId: string): JobEvent {
  return {
    id: `${jobId}:deleted`,
    type: "training_failed",
    data: { error_message: "The job was deleted, with its model." },
  };
}
