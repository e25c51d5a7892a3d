// Writes recordings to the database as they arrive; those that arrive during a write are written together in the next
// transaction. Failed writes are retried for a while. Recordings that still fail, or for which the queue has no room,
// are lost, counted and logged.
import type { Clock } from "../../../base/domain/clock.ts";
import type { CompletionStore } from "../../../base/domain/recordings/completion-store.ts";
import type { RecordedCompletion } from "../../../base/domain/recordings/recorded-completion.ts";
import type { Logger } from "../../../base/telemetry/logger.ts";
import type { Metrics } from "../../../base/telemetry/metrics.ts";
import type { RecordingSettings } from "./settings.ts";

export interface WriterDependencies {
  readonly store: Pick<CompletionStore, "add">;
  readonly settings: Pick<RecordingSettings, "waitingBytesMax" | "batchMax" | "batchBytesMax" | "pausesMs">;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

interface Waiting {
  readonly completion: RecordedCompletion;
  readonly bytes: number;
  readonly end: (isWritten: boolean) => void;
}

const lossReasons = ["too many waiting", "not written", "full", "fault"] as const;

/** Maximum number of lost recordings that one log entry names. */
const namedMax = 100;

export class RecordingWriter {
  readonly #dependencies: WriterDependencies;
  readonly #stored;
  readonly #lost;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #writing: Promise<void> | null = null;
  readonly #stopping = new AbortController();

  constructor(dependencies: WriterDependencies) {
    this.#dependencies = dependencies;
    const { metrics } = dependencies;
    this.#stored = metrics.counter({
      name: "hone_recordings_total",
      help: "Recorded completions.",
    });
    this.#lost = metrics.counter({
      name: "hone_recordings_lost_total",
      help: "Completions that could not be recorded, by reason.",
      labels: ["reason"],
      known: lossReasons.map((reason) => ({ reason })),
    });
    const waiting = { name: "hone_recordings_waiting", help: "Completions waiting to be recorded." };
    metrics.gauge(waiting, () => [{ value: this.#waiting.length }]);
  }

  /**
   * Queues a recording. Resolves to true once it is written, or to false if it is lost.
   *
   * @param bytes estimated size of the recording in memory while it waits
   */
  write(completion: RecordedCompletion, bytes: number): Promise<boolean> {
    if (this.#waitingBytes + bytes > this.#dependencies.settings.waitingBytesMax) {
      this.lose([completion], "too many waiting");
      return Promise.resolve(false);
    }
    this.#waitingBytes += bytes;
    const written = new Promise<boolean>((end) => this.#waiting.push({ completion, bytes, end }));
    this.#writing ??= this.#writeAll();
    return written;
  }

  /** Writes the recordings that are still waiting. A write that fails after this call is not retried. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error("The recorder stops."));
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#nextBatch();
      const isWritten = await this.#writeBatch(batch.map(({ completion }) => completion));
      for (const { bytes, end } of batch) {
        this.#waitingBytes -= bytes;
        end(isWritten);
      }
    }
    this.#writing = null;
  }

  #nextBatch(): readonly Waiting[] {
    const { batchMax, batchBytesMax } = this.#dependencies.settings;
    let [count, bytes] = [0, 0];
    for (const one of this.#waiting.slice(0, batchMax)) {
      bytes += one.bytes;
      if (count > 0 && bytes > batchBytesMax) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  async #writeBatch(completions: readonly RecordedCompletion[]): Promise<boolean> {
    const { store, settings, clock } = this.#dependencies;
    for (let failure = 0; ; failure++) {
      try {
        this.#stored.increase({}, await store.add(completions));
        return true;
      } catch (error) {
        const pauseMs = settings.pausesMs[failure];
        const { signal } = this.#stopping;
        if (pauseMs === undefined || signal.aborted) {
          this.lose(completions, "not written", error);
          return false;
        }
        // The sleep rejects when the writer stops. The next attempt then follows immediately, and is the last one.
        await clock.sleep(pauseMs, { signal }).catch(() => undefined);
      }
    }
  }

  /** Counts and logs recordings that are lost. */
  lose(
    lost: readonly Pick<RecordedCompletion, "requestId">[],
    reason: (typeof lossReasons)[number],
    error?: unknown,
  ): void {
    this.#lost.increase({ reason }, lost.length);
    const requestIds = lost.slice(0, namedMax).map(({ requestId }) => requestId);
    const fields = { requestIds, err: error, count: lost.length, reason };
    this.#dependencies.logger.warn(fields, "completions were not recorded");
  }
}
