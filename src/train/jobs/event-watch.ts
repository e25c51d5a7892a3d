// Streams of a job's events, and the interruptible wait that they use. A notification in this process wakes a stream.
// Each stream also polls, because another process may have written the event.
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
      // A sleep rejects only when aborted, and a notification aborts it.
      await this.#clock.sleep(timeoutMs, { signal: woken.signal }).catch(() => undefined);
      signal.removeEventListener("abort", wake);
      this.#wake = null;
    }
    this.#isNotified = false;
  }
}

/** Page size of event reads. */
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

  /** See {@link JobQueue.watchEvents}. */
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
          // Returns here, because the job could be deleted before the next poll, which would then yield a second last
          // event.
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

  /** Returns the job with its events after the cursor; null if it does not exist or was deleted. */
  async #look(
    jobId: string,
    cursor: string | null,
  ): Promise<{ readonly job: TrainingJob; readonly page: Page<JobEvent> } | null> {
    // The state is read before the events. The last event is stored together with the terminal state, so if the state
    // is terminal, the events read below include the last one.
    const job = await this.#jobs.find(jobId);
    if (job === null) return null;
    try {
      const page = await this.#jobs.listEvents(jobId, { after: cursor, limit: pageLimit, order: "asc" });
      // If the job was deleted between the two reads, the events below lack the last one.
      const isGone =
        isTerminal(job.state) && !page.items.some(isLast) && (await this.#jobs.find(jobId)) === null;
      return isGone ? null : { job, page };
    } catch (error) {
      // A deleted job's events are deleted too, which makes the cursor invalid.
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

/** Returns a substitute for the last event of a deleted job. The job's own events were deleted with its model. */
function deletedEvent(jobId: string): JobEvent {
  return {
    id: `${jobId}:deleted`,
    type: "training_failed",
    data: { error_message: "The job was deleted, with its model." },
  };
}
