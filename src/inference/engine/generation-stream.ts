// The reader's side of a generation: buffers events until the reader takes them. The buffer never holds more than the
// request's `maxTokens` tokens per choice, however slow the reader is.
import type { Generation, GenerationEvent } from "../../base/domain/generation.ts";
import { ServiceError } from "../../base/domain/service-error.ts";

export interface StreamOptions {
  readonly choiceCount: number;
  /** Called once when the request leaves the queue, at the latest when its first event comes. */
  readonly onBegin?: () => void;
  /** Called once when the reader stops an unfinished choice. */
  readonly onStopChoice?: (choice: number) => void;
  /** Called once when the reader aborts the request before its end. */
  readonly onAbort?: () => void;
  /**
   * Called once when the stream accepts no further events, for any reason. The reader may not have read all events yet.
   */
  readonly onEnd?: () => void;
}

/**
 * Unread events of one choice. One `tokens` event may hold the tokens of several steps, and the finish event directly
 * follows the last tokens.
 */
type Unread = GenerationEvent[];

/** Number of tokens at which a `tokens` event is full. Tokens of later steps then go into a new event. */
const joinedTokensMax = 16;

/** Stream of one generation. Only the engine calls {@link GenerationStream.push} and {@link GenerationStream.fail}. */
export class GenerationStream implements Generation {
  readonly events: AsyncIterable<readonly GenerationEvent[]>;
  readonly #options: StreamOptions;
  readonly #liveChoices: Set<number>;
  #unread: Unread[] = [];
  /** For each choice, the unread events to which its next event may be joined. */
  readonly #lastUnread = new Map<number, Unread>();
  #error: ServiceError | null = null;
  #hasBegun = false;
  #hasEnded = false;
  #wake: () => void = () => undefined;

  constructor(options: StreamOptions) {
    this.#options = options;
    this.#liveChoices = new Set(Array.from({ length: options.choiceCount }, (_, choice) => choice));
    this.events = { [Symbol.asyncIterator]: () => this.#reader() };
  }

  /** True once the request has left the queue. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Marks the request as begun. The engine calls this if the request leaves the queue before its first event. */
  begin(): void {
    if (this.#hasBegun || this.#hasEnded) return;
    this.#hasBegun = true;
    this.#options.onBegin?.();
  }

  /** Buffers the next event; drops events of stopped choices. */
  push(event: GenerationEvent): void {
    if (this.#hasEnded) return;
    this.begin();
    if ("choice" in event && !this.#liveChoices.has(event.choice)) return;
    this.#keep(event);
    if (event.kind === "choice-finished") this.#endChoice(event.choice);
    if (event.kind === "choices-found") this.#endChoicesFrom(event.count);
    if (event.kind === "embedding") this.#end();
    this.#wake();
  }

  /** Ends the stream with an error, which the reader receives after the buffered events. */
  fail(error: ServiceError): void {
    if (this.#hasEnded) return;
    this.#error = error;
    this.#end();
    this.#wake();
  }

  stopChoice(choice: number): void {
    if (this.#hasEnded || !this.#liveChoices.has(choice)) return;
    this.#unread = this.#unread.filter(([event]) => !("choice" in event && event.choice === choice));
    this.#options.onStopChoice?.(choice);
    this.#endChoice(choice);
    this.#wake();
  }

  abort(): void {
    if (this.#hasEnded) return;
    this.#unread = [];
    this.fail(new ServiceError({ code: "cancelled", message: "The request was cancelled." }));
    this.#options.onAbort?.();
  }

  #keep(event: GenerationEvent): void {
    const last = "choice" in event ? this.#lastUnread.get(event.choice) : undefined;
    const before = last?.at(-1);
    if (last === undefined || before?.kind !== "tokens") return this.#keepApart(event);
    if (event.kind !== "tokens") last.push(event);
    else if (before.tokens.length >= joinedTokensMax) this.#keepApart(event);
    else last[last.length - 1] = { ...before, tokens: [...before.tokens, ...event.tokens] };
  }

  #keepApart(event: GenerationEvent): void {
    const unread = [event];
    this.#unread.push(unread);
    if ("choice" in event) this.#lastUnread.set(event.choice, unread);
    // Events about the whole request keep their place in the order. Later events of a choice must therefore not be
    // joined to earlier ones.
    else this.#lastUnread.clear();
  }

  #takeAll(): readonly GenerationEvent[] {
    const [first] = this.#unread;
    const batch = this.#unread.length === 1 ? first : this.#unread.flat();
    this.#unread = [];
    this.#lastUnread.clear();
    return batch;
  }

  #endChoicesFrom(count: number): void {
    for (const choice of this.#liveChoices) if (choice >= count) this.#endChoice(choice);
  }

  #endChoice(choice: number): void {
    this.#liveChoices.delete(choice);
    if (this.#liveChoices.size === 0) this.#end();
  }

  #end(): void {
    this.#hasEnded = true;
    this.#options.onEnd?.();
  }

  /**
   * Uses an iterator object instead of a generator, which would cost several promise turns per token. If a reader
   * leaves its loop early, the iterator aborts the request.
   */
  #reader(): AsyncIterator<readonly GenerationEvent[], undefined> {
    return {
      next: () => this.#next(),
      return: () => {
        this.abort();
        return Promise.resolve(over);
      },
    };
  }

  #next(): Promise<IteratorResult<readonly GenerationEvent[], undefined>> {
    if (this.#unread.length > 0) return Promise.resolve({ done: false, value: this.#takeAll() });
    if (this.#error !== null) return Promise.reject(this.#error);
    if (this.#hasEnded) return Promise.resolve(over);
    return new Promise<void>((resolve) => (this.#wake = resolve)).then(() => this.#next());
  }
}

const over = { done: true, value: undefined } as const;
