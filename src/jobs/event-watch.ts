// Streams of a job's events. Woken in process when something happened, and looking by itself as the floor, since
// another process may have written it.
import type { Clock } from "../domain/clock.ts";
import { isTerminal, type JobEvent, type JobStore } from "../domain/job.ts";
import { notFound } from "../domain/service-error.ts";
import { Notifier } from "./notifier.ts";

/** Events read at once. */
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

  /** Says that the job has new events. */
  emit(jobId: string): void {
    for (const watcher of this.#watchers.get(jobId) ?? []) watcher.notify();
  }

  /** How many streams are open. */
  get watcherCount(): number {
    return [...this.#watchers.values()].reduce((sum, watchers) => sum + watchers.size, 0);
  }

  /** See {@link JobQueue.watchEvents}. */
  async *watch(jobId: string, after: string | null, signal: AbortSignal): AsyncGenerator<JobEvent, void> {
    const watcher = this.#add(jobId);
    try {
      let cursor = after;
      while (!signal.aborted) {
        // The state is read before the events: the last event is stored with the terminal state, so it is listed now.
        const job = await this.#jobs.find(jobId);
        if (job === null) throw notFound("training job", jobId);
        const page = await this.#jobs.listEvents(jobId, { after: cursor, limit: pageLimit, order: "asc" });
        for (const event of page.items) {
          yield event;
          cursor = event.id;
        }
        if (page.hasMore) continue;
        if (isTerminal(job.state)) return;
        await watcher.wait(this.#pollMs, { signal });
      }
    } finally {
      this.#remove(jobId, watcher);
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
