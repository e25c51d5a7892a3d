// Streams of a job's events. Woken in process when something happened, and looking by itself as the floor, since
// another process may have written it.
import type { Clock } from "../domain/clock.ts";
import { isTerminal, type JobEvent, type JobStore } from "../domain/job.ts";
import { notFound } from "../domain/service-error.ts";
import { Doorbell } from "./doorbell.ts";

/** Events read at once. */
const pageLimit = 100;

export class EventWatch {
  readonly #jobs: Pick<JobStore, "find" | "listEvents">;
  readonly #clock: Clock;
  readonly #pollMs: number;
  readonly #bells = new Map<string, Set<Doorbell>>();

  constructor(jobs: Pick<JobStore, "find" | "listEvents">, clock: Clock, pollMs: number) {
    this.#jobs = jobs;
    this.#clock = clock;
    this.#pollMs = pollMs;
  }

  /** Says that the job has new events. */
  emit(jobId: string): void {
    for (const bell of this.#bells.get(jobId) ?? []) bell.ring();
  }

  /** How many streams are open. */
  get watcherCount(): number {
    return [...this.#bells.values()].reduce((sum, bells) => sum + bells.size, 0);
  }

  /** See {@link JobQueue.watchEvents}. */
  async *watch(jobId: string, after: string | null, signal: AbortSignal): AsyncGenerator<JobEvent, void> {
    const bell = this.#hang(jobId);
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
        await bell.wait(this.#pollMs, { signal });
      }
    } finally {
      this.#takeDown(jobId, bell);
    }
  }

  #hang(jobId: string): Doorbell {
    const bell = new Doorbell(this.#clock);
    const bells = this.#bells.get(jobId) ?? new Set();
    this.#bells.set(jobId, bells.add(bell));
    return bell;
  }

  #takeDown(jobId: string, bell: Doorbell): void {
    const bells = this.#bells.get(jobId);
    bells?.delete(bell);
    if (bells?.size === 0) this.#bells.delete(jobId);
  }
}
