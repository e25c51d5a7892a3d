// Answers several requests at once, as one: what each emits comes in its own order, beside what the others emit, and the
// first that fails ends them all. What is answered, and how it is written, is not its business.
import { setMaxListeners } from "node:events";
import type { ChatEvent, RequestEvent } from "../domain/chat.ts";

/** Starts the answer to one of the requests; `onSubmitted` may be called once nothing is left to refuse. */
export type StartAnswer = (
  request: number,
  options: { readonly signal: AbortSignal; readonly onSubmitted: () => void },
) => AsyncIterable<ChatEvent>;

/**
 * Emits nothing before every request was submitted: what is wrong with one of them is thrown before the first event. At
 * most one event of each waits to be read. Leaving the loop early, or the signal, ends all.
 *
 * @param count at least 1
 * @throws what the first to fail threw, once all have ended
 */
export async function* completeTogether(
  count: number,
  start: StartAnswer,
  signal: AbortSignal,
): AsyncGenerator<RequestEvent> {
  if (count === 1) {
    for await (const event of start(0, { signal, onSubmitted: () => undefined })) yield { request: 0, event };
    return;
  }
  const ending = new AbortController();
  const both = AbortSignal.any([signal, ending.signal]);
  // One listener for each request is what is meant here, not a leak.
  setMaxListeners(0, both);
  const handover = new Handover<RequestEvent>();
  const submissions = new Countdown(count);
  const failures: unknown[] = [];
  const answer = async (request: number): Promise<void> => {
    const onSubmitted = submissions.step();
    try {
      for await (const event of start(request, { signal: both, onSubmitted })) {
        onSubmitted();
        await handover.offer({ request, event });
      }
    } catch (error) {
      failures.push(error);
      ending.abort();
    } finally {
      onSubmitted();
    }
  };
  const ended = Promise.all(Array.from({ length: count }, (_, request) => answer(request))).then(() =>
    handover.close(),
  );
  try {
    await submissions.done;
    let next = await handover.take();
    while (next !== null && failures.length === 0) {
      yield next;
      next = await handover.take();
    }
  } finally {
    ending.abort();
    handover.close();
    await ended;
  }
  if (failures.length > 0) throw failures[0];
}

/** Resolves when each of so many steps was made. */
class Countdown {
  readonly done: Promise<void>;
  #left: number;
  #onDone = (): void => undefined;

  constructor(count: number) {
    this.#left = count;
    this.done = new Promise((resolve) => (this.#onDone = resolve));
  }

  /** Makes one of the steps; to be called any number of times. */
  step(): () => void {
    let isMade = false;
    return () => {
      if (isMade) return;
      isMade = true;
      this.#left -= 1;
      if (this.#left === 0) this.#onDone();
    };
  }
}

/** Gives values of several producers to one consumer; a producer waits until its value is taken. */
class Handover<Value> {
  readonly #offers: { readonly value: Value; readonly onTaken: () => void }[] = [];
  #onOffer = (): void => undefined;
  #isClosed = false;

  /** Returns at once, without effect, when nobody takes any more. */
  offer(value: Value): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    return new Promise((onTaken) => {
      this.#offers.push({ value, onTaken });
      this.#onOffer();
    });
  }

  /** The value that was offered first, or null once all is over. */
  async take(): Promise<Value | null> {
    while (this.#offers.length === 0) {
      if (this.#isClosed) return null;
      await new Promise<void>((resolve) => (this.#onOffer = resolve));
    }
    const offer = this.#offers.shift();
    offer?.onTaken();
    return offer?.value ?? null;
  }

  /** Nobody offers, or nobody takes, any more. */
  close(): void {
    this.#isClosed = true;
    for (const { onTaken } of this.#offers.splice(0)) onTaken();
    this.#onOffer();
  }
}
