// Writes event streams in three forms: lines of `data: <JSON>` with `[DONE]` at the end, as OpenAI's clients read them;
// events with a name and without `[DONE]`; and lines of JSON for Ollama's clients. A stream waits for a slow client,
// and ends if the client reads nothing for too long. While there is nothing else to send, it sends keep-alives.
import { nextTick } from "node:process";
import type { Clock } from "../../base/domain/clock.ts";
import { loopTurns } from "../../base/domain/sharing/loop-turns.ts";
import { keyless } from "../../base/domain/sharing/tenant-shares.ts";
import { waitOver } from "../../base/domain/waiting/wait-over.ts";
import { isLong, jsonPieces, escapeLineEnds } from "../wire/json-text.ts";

/** Members of a response that a stream uses. A ServerResponse has them. */
export interface EventSink {
  write(text: string | Uint8Array): boolean;
  end(text: string): void;
  destroy(): void;
  /** Buffers writes until `uncork` has been called as many times as `cork`. */
  cork(): void;
  uncork(): void;
  readonly destroyed: boolean;
  once(event: "drain" | "close", listener: () => void): void;
  off(event: "drain" | "close", listener: () => void): void;
}

export interface EventStreamOptions {
  readonly clock: Clock;
  /** True if each event has its `type` as its name. A stream of such events has no final `[DONE]`. */
  readonly isNamed: boolean;
  /** True if each event has an `id`, from which a client can resume the stream. */
  readonly hasIds?: boolean;
  /** True to send each event as one line of JSON (`application/x-ndjson`) instead of a server-sent event. */
  readonly isLines?: boolean;
  /** Time in milliseconds after which the stream ends if its client reads nothing. */
  readonly idleMs: number;
  /**
   * Time in milliseconds without events after which a comment is sent. Clients skip comments, and proxies count them as
   * activity.
   */
  readonly keepAliveMs: number;
  /** Event to send instead of a comment to keep the connection alive. */
  readonly keepAliveEvent?: object;
  /** Tenant whose turns are used to send the pieces of long events; by default the tenant of clients without a key. */
  readonly tenant?: string;
}

/** Number of characters of a long event that are sent in one turn. */
const lengthBetweenPauses = 64 * 1024;

/** Error of a stream whose client read nothing within the idle time. */
export class IdleStreamError extends Error {}

export class EventStream {
  readonly #sink: EventSink;
  readonly #clock: Clock;
  readonly #isNamed: boolean;
  readonly #tenant: string;
  readonly #hasIds: boolean;
  readonly #isLines: boolean;
  readonly #idleMs: number;
  readonly #keepAliveText: string;
  readonly #over = new AbortController();
  #sentAtMs: number;
  #isFull = false;
  #isGathering = false;
  #hasEnded = false;
  #isWithinEvent = false;

  constructor(sink: EventSink, options: EventStreamOptions) {
    this.#sink = sink;
    this.#clock = options.clock;
    this.#isNamed = options.isNamed;
    this.#tenant = options.tenant ?? keyless;
    this.#hasIds = options.hasIds ?? false;
    this.#isLines = options.isLines ?? false;
    this.#idleMs = options.idleMs;
    const { keepAliveEvent: event } = options;
    // A stream of lines has no comments. A blank before the next line's JSON changes nothing for clients.
    const silent = this.#isLines ? " " : ": keep-alive\n\n";
    this.#keepAliveText = event === undefined ? silent : this.#textOf(event);
    this.#sentAtMs = options.clock.monotonicMs();
    if (sink.destroyed) this.#over.abort(waitOver);
    else sink.once("close", () => this.#over.abort(waitOver));
    void this.#keepAlive(options.keepAliveMs);
    this.#gather();
  }

  /** True once the client has disconnected. Sending then has no effect. */
  get isClosed(): boolean {
    return this.#sink.destroyed;
  }

  /**
   * Sends the events, in one piece unless an event is long. Waits while the client's buffer is full.
   *
   * @throws IdleStreamError if the client has read nothing for `idleMs`; the connection is then closed
   */
  async send(...events: readonly unknown[]): Promise<void> {
    let text = "";
    for (const event of events) {
      if (typeof event === "object" && event !== null && isLong in event) {
        await this.#sendLong(text + this.#headOf(event), event);
        text = "";
      } else text += this.#textOf(event);
    }
    if (text !== "") await this.#write(text);
  }

  #textOf(event: unknown): string {
    return `${this.#headOf(event)}${escapeLineEnds(JSON.stringify(event))}${this.#tail}`;
  }

  get #tail(): string {
    return this.#isLines ? "\n" : "\n\n";
  }

  #headOf(event: unknown): string {
    if (this.#isLines) return "";
    return `${this.#fieldsOf(event)}data: `;
  }

  #fieldsOf(event: unknown): string {
    return (this.#isNamed ? nameLine(event) : "") + (this.#hasIds ? idLine(event) : "");
  }

  /** Sends a long event in pieces. Pauses between pieces let other requests run. */
  async #sendLong(head: string, data: object): Promise<void> {
    this.#isWithinEvent = true;
    let text = head;
    for (const piece of jsonPieces(data)) {
      if (typeof piece === "string") text += escapeLineEnds(piece);
      if (typeof piece === "string" && text.length < lengthBetweenPauses) continue;
      await this.#write(text);
      text = "";
      if (typeof piece !== "string") await this.#write(piece);
      await loopTurns.next(this.#tenant);
    }
    this.#isWithinEvent = false;
    await this.#write(text + this.#tail);
  }

  async #write(text: string | Uint8Array): Promise<void> {
    if (this.#sink.destroyed) return;
    this.#sentAtMs = this.#clock.monotonicMs();
    this.#gather();
    if (!this.#sink.write(text)) await this.#drained();
  }

  /**
   * Combines all writes until the next tick into one, because a system call takes longer than the creation of an event.
   */
  #gather(): void {
    if (this.#isGathering) return;
    this.#isGathering = true;
    this.#sink.cork();
    nextTick(() => {
      this.#isGathering = false;
      // If the stream has ended, `end` has already sent everything that `cork` held back.
      if (!this.#hasEnded) this.#sink.uncork();
    });
  }

  /**
   * Ends the stream, with a final `[DONE]` unless events are named or sent as lines. Resolves when the client has
   * received everything, or when the idle time is over.
   */
  async done(): Promise<void> {
    this.#over.abort(waitOver);
    if (this.#sink.destroyed) return;
    const isClosed = this.#first("close");
    this.#hasEnded = true;
    this.#sink.end(this.#isNamed || this.#isLines ? "" : "data: [DONE]\n\n");
    if ((await isClosed) === "idle") this.#sink.destroy();
  }

  /** Until the stream is over, sends a keep-alive each time the stream has been silent for `keepAliveMs`. */
  async #keepAlive(keepAliveMs: number): Promise<void> {
    const { signal } = this.#over;
    while (!signal.aborted) {
      const waitMs = this.#sentAtMs + keepAliveMs - this.#clock.monotonicMs();
      if (waitMs > 0) await this.#clock.sleep(waitMs, { signal }).catch(() => undefined);
      else this.#sendSign();
    }
  }

  #sendSign(): void {
    this.#sentAtMs = this.#clock.monotonicMs();
    // A keep-alive is useless while the client has unread data, and must not interrupt a long event.
    if (!this.#isFull && !this.#isWithinEvent && !this.#sink.destroyed) this.#sink.write(this.#keepAliveText);
  }

  async #drained(): Promise<void> {
    this.#isFull = true;
    const first = await this.#first("drain", "close");
    this.#isFull = false;
    if (first === "happened") return;
    this.#over.abort(waitOver);
    this.#sink.destroy();
    throw new IdleStreamError(`the client read nothing for ${this.#idleMs} ms`);
  }

  /** Waits for the first of these events, but no longer than the idle time. */
  async #first(...events: readonly ("drain" | "close")[]): Promise<"happened" | "idle"> {
    const waited = new AbortController();
    let onEvent = (): void => undefined;
    const happened = new Promise<"happened">((resolve) => {
      onEvent = () => resolve("happened");
    });
    for (const event of events) this.#sink.once(event, onEvent);
    const idle = this.#clock.sleep(this.#idleMs, { signal: waited.signal }).then(
      () => "idle" as const,
      () => "happened" as const,
    );
    const first = await Promise.race([happened, idle]);
    waited.abort(waitOver);
    for (const event of events) this.#sink.off(event, onEvent);
    return first;
  }
}

/** Returns the `id:` line of an event; empty for an event without an id, such as an error. */
function idLine(data: unknown): string {
  if (typeof data !== "object" || data === null || !("id" in data)) return "";
  const { id } = data;
  return typeof id === "string" ? `id: ${id}\n` : "";
}

function nameLine(data: unknown): string {
  if (typeof data !== "object" || data === null || !("type" in data)) return "";
  const { type } = data;
  return typeof type === "string" ? `event: ${type}\n` : "";
}

/** Media type of a stream whose events are lines of JSON. */
export const linesType = "application/x-ndjson";

export const eventStreamHeaders = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache",
  // Keeps nginx and other proxies from buffering events.
  "x-accel-buffering": "no",
} as const;
