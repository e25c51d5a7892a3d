// The body of an answer as it comes: what is there is read at once, and what is not yet is waited for until a deadline.
import type { IncomingMessage } from "node:http";
import type { Deadline } from "./deadline.ts";

export interface AnswerBodyOptions {
  /** Set for its first bytes. */
  readonly deadline: Deadline;
  /** Between its bytes, in milliseconds. */
  readonly nextMs: number;
  /** What is thrown where it breaks off. */
  readonly errorOf: (cause: unknown) => unknown;
  /** Called once, when nothing of it is wanted any more or nothing more comes. */
  readonly onEnd: () => void;
}

/** How long the rest of an answer may take of which nothing is wanted any more. */
const restMs = 1000;

/** To be read once, to its end, or left: whoever leaves it closes the connection. */
export class AnswerBody implements AsyncIterableIterator<Uint8Array> {
  readonly #answer: IncomingMessage;
  readonly #options: AnswerBodyOptions;
  #hasBegun = false;
  #hasEnded = false;
  #isReleased = false;
  #failure: { readonly cause: unknown } | null = null;
  #wake: () => void = () => undefined;

  constructor(answer: IncomingMessage, options: AnswerBodyOptions) {
    this.#answer = answer;
    this.#options = options;
    answer.on("readable", () => this.#wake());
    answer.once("end", () => this.#end());
    answer.once("error", (cause) => this.#end({ cause }));
    answer.once("close", () => this.#end({ cause: new Error("the connection was closed") }));
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    for (;;) {
      // What has come, as one piece. The end of the answer is known once nothing is left of it.
      const bytes = this.#answer.read() as Buffer | null;
      if (bytes !== null) {
        // A slow reader is not a slow server.
        this.#options.deadline.pause();
        this.#hasBegun = true;
        return { done: false, value: bytes };
      }
      if (this.#failure !== null) throw this.#options.errorOf(this.#failure.cause);
      if (this.#hasEnded) return { done: true, value: undefined };
      if (this.#hasBegun) this.#options.deadline.set(this.#options.nextMs, "next-part");
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  return(): Promise<IteratorResult<Uint8Array, undefined>> {
    // One whose end is there leaves its connection to the next request.
    if (this.#answer.complete) this.release();
    else if (!this.#isReleased) {
      this.#answer.destroy();
      this.#end();
    }
    return Promise.resolve({ done: true, value: undefined });
  }

  /** Nothing of the rest matters: it is read by itself, and leaves the connection to the next request. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#end();
    if (!this.#answer.complete) {
      const late = setTimeout(() => this.#answer.destroy(), restMs);
      this.#answer.once("close", () => clearTimeout(late));
    }
    this.#answer.removeAllListeners("readable").resume();
  }

  #end(failure: { readonly cause: unknown } | null = null): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#failure = failure;
    this.#options.deadline.clear();
    this.#options.onEnd();
    this.#wake();
  }
}
