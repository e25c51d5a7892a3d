// Spans on their way to a collector: they wait in a queue of bounded length and go in batches, one at a time, behind whoever
// made them. A collector that is away, slow or refuses costs spans, which are counted, and a line in the log; nothing else.
import type { ReadableSpan, SpanExporter, SpanProcessor } from "@opentelemetry/sdk-trace";
import type { Clock } from "../../domain/clock.ts";
import type { OpenTelemetrySettings } from "./environment.ts";
import { faultOf, type SendingWatch } from "./sending-watch.ts";

export interface SpanQueueDependencies {
  readonly exporter: SpanExporter;
  readonly settings: OpenTelemetrySettings["queue"];
  readonly clock: Clock;
  readonly watch: SendingWatch;
}

export class SpanQueue implements SpanProcessor {
  readonly #dependencies: SpanQueueDependencies;
  #waiting: ReadableSpan[] = [];
  #sending: Promise<void> | null = null;
  /** Aborts the wait for more. */
  #hurry = new AbortController();
  #isOver = false;

  constructor(dependencies: SpanQueueDependencies) {
    this.#dependencies = dependencies;
  }

  get length(): number {
    return this.#waiting.length;
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    const { settings, watch } = this.#dependencies;
    if ((span.spanContext().traceFlags & 1) === 0) return;
    if (this.#isOver || this.#waiting.length >= settings.countMax) return watch.lost("queue full", 1);
    this.#waiting.push(span);
    if (this.#waiting.length >= settings.batchMax) this.#hurry.abort();
    this.#sending ??= this.#sendAll();
  }

  /** Resolves when all that waits now was sent or is lost. */
  async forceFlush(): Promise<void> {
    this.#hurry.abort();
    await this.#sending;
  }

  /** Takes no more; what is there is lost once the caller does not wait any longer. */
  async shutdown(): Promise<void> {
    this.#isOver = true;
    await this.forceFlush();
    await this.#dependencies.exporter.shutdown();
  }

  /** Gives up what waits. */
  abandon(): void {
    this.#isOver = true;
    this.#dependencies.watch.lost("stopped", this.#waiting.length);
    this.#waiting = [];
  }

  async #sendAll(): Promise<void> {
    const { settings, clock } = this.#dependencies;
    while (this.#waiting.length > 0) {
      if (this.#waiting.length < settings.batchMax && !this.#isOver) {
        // Rejects where a batch is full, or somebody waits for all to be sent.
        await clock.sleep(settings.delayMs, { signal: this.#hurry.signal }).catch(() => undefined);
      }
      this.#hurry = new AbortController();
      await this.#send(this.#waiting.splice(0, settings.batchMax));
    }
    this.#sending = null;
  }

  async #send(batch: ReadableSpan[]): Promise<void> {
    const { exporter, watch } = this.#dependencies;
    if (batch.length === 0) return;
    const error = await new Promise<Error | null>((resolve) =>
      exporter.export(batch, (result) => resolve(faultOf(result))),
    ).catch((thrown: unknown) => (thrown instanceof Error ? thrown : new Error(String(thrown))));
    if (error === null) watch.sent();
    else watch.failed(error, batch.length);
  }
}
