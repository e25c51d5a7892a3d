// A generation as its reader sees it: events that arrive are kept until they are read. Nothing bounds the buffer but the
// request itself: it can hold at most `maxTokens` tokens for each choice, so a slow reader cannot make it grow further.
import type { Generation, GenerationEvent } from "../../base/domain/generation.ts";
import { ServiceError } from "../../base/domain/service-error.ts";

export interface StreamOptions {
  readonly choiceCount: number;
  /** Called once when it waits no more: with its first event, or before. */
  readonly onBegin?: () => void;
  /** Called once when the reader wants no more of a choice that had not ended. */
  readonly onStopChoice?: (choice: number) => void;
  /** Called once when the reader gives the whole request up before its end. */
  readonly onAbort?: () => void;
  /** Called once when nothing more can come, for whatever reason; all of it may still be unread. */
  readonly onEnd?: () => void;
}

/** What waits to be read of one choice: tokens of several steps as one event, and its finish with its last tokens. */
type Unread = GenerationEvent[];

/** Steps are joined to events of so many tokens. */
const joinedTokensMax = 16;

/** The writing side belongs to the engine: {@link push} and {@link fail}. */
export class GenerationStream implements Generation {
  readonly events: AsyncIterable<readonly GenerationEvent[]>;
  readonly #options: StreamOptions;
  readonly #liveChoices: Set<number>;
  #unread: Unread[] = [];
  /** Of each choice the last of its unread. */
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

  /** Whether it waits no more. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Its turn has come, though nothing came of it yet. */
  begin(): void {
    if (this.#hasBegun || this.#hasEnded) return;
    this.#hasBegun = true;
    this.#options.onBegin?.();
  }

  /** Takes the next event; those of choices that were stopped are dropped. */
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

  /** The reader gets what is buffered, then this error. */
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
    // Nothing of a choice comes before what was said of the whole.
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

  /** Without a generator, whose turns a token a step would pay for. A reader that leaves its loop early wants no more. */
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
