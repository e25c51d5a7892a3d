// Answers several requests as if they were one. The deltas of each request keep their order, and are interleaved with
// those of other requests. The first failure of a request ends all of them.
import { setMaxListeners } from "node:events";
import { present } from "../../base/domain/assert.ts";
import type { ChatCompletion, ChatUsage, RequestDeltas } from "../../base/domain/chat.ts";

/** Begins to answer one of the requests. May call `onSubmitted` once the request can no longer be refused. */
export type BeginOne = (
  request: number,
  options: { readonly signal: AbortSignal; readonly onSubmitted: () => void },
) => Promise<ChatCompletion>;

/**
 * Begins to answer all requests. Resolves once all are submitted, with the header of the request that began first;
 * throws before that if a request is invalid. At most one step of each request is buffered; leaving the generator, or
 * aborting the signal, ends all requests.
 *
 * @param count number of requests, at least 1
 * @throws the error of the first request that fails, once all requests have ended
 */
export async function beginTogether(
  count: number,
  begin: BeginOne,
  signal: AbortSignal,
): Promise<ChatCompletion<RequestDeltas>> {
  if (count === 1) return asRequestDeltas(await begin(0, { signal, onSubmitted: () => undefined }));
  const begun: ChatCompletion[] = [];
  const deltas = answerAll(count, begin, { signal, begun });
  // Runs the generator up to its first `yield`. If the generator were abandoned before that, its clean-up code would
  // not run, and nothing would be freed.
  await deltas.next();
  return {
    header: present(begun[0], "one of them has begun").header,
    deltas,
    get usage() {
      return begun.map(({ usage }) => usage).reduce(sumOfUsage);
    },
    get recordedAs() {
      return begun[0]?.recordedAs ?? null;
    },
    leave: async () => void (await deltas.return()),
  };
}

function asRequestDeltas(completion: ChatCompletion): ChatCompletion<RequestDeltas> {
  const { header } = completion;
  async function* numbered(): AsyncGenerator<RequestDeltas, void> {
    for await (const deltas of completion.deltas) yield { request: 0, header, deltas };
  }
  return {
    header,
    deltas: numbered(),
    get usage() {
      return completion.usage;
    },
    get recordedAs() {
      return completion.recordedAs;
    },
    leave: () => completion.leave(),
  };
}

/** Yields the deltas of all requests. Yields an empty list first, when one request has begun. */
async function* answerAll(
  count: number,
  begin: BeginOne,
  { signal, begun }: { readonly signal: AbortSignal; readonly begun: ChatCompletion[] },
): AsyncGenerator<RequestDeltas, void> {
  const ending = new AbortController();
  const both = AbortSignal.any([signal, ending.signal]);
  // Turns off the warning about many listeners, because each request adds one on purpose.
  setMaxListeners(0, both);
  const handover = new Handover<RequestDeltas>();
  const submissions = new Countdown(count);
  const failures: unknown[] = [];
  const answer = async (request: number): Promise<void> => {
    const onSubmitted = submissions.step();
    try {
      const completion = await begin(request, { signal: both, onSubmitted });
      onSubmitted();
      begun.push(completion);
      const { header } = completion;
      await handover.offer({ request, header, deltas: [] });
      for await (const deltas of completion.deltas) await handover.offer({ request, header, deltas });
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

function sumOfUsage(one: ChatUsage, other: ChatUsage): ChatUsage {
  return {
    promptTokens: one.promptTokens + other.promptTokens,
    completionTokens: one.completionTokens + other.completionTokens,
    cachedTokens: one.cachedTokens + other.cachedTokens,
  };
}

/** A countdown. Its promise resolves when the given number of steps has been counted. */
class Countdown {
  readonly done: Promise<void>;
  #left: number;
  #onDone = (): void => undefined;

  constructor(count: number) {
    this.#left = count;
    this.done = new Promise((resolve) => (this.#onDone = resolve));
  }

  /** Returns a function whose first call counts one step. Further calls of that function have no effect. */
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

/** Passes values from several producers to one consumer. A producer waits until the consumer takes its value. */
class Handover<Value> {
  readonly #offers: { readonly value: Value; readonly onTaken: () => void }[] = [];
  #onOffer = (): void => undefined;
  #isClosed = false;

  /**
   * Offers a value to the consumer. Resolves when the consumer has taken it, or immediately once the handover is
   * closed.
   */
  offer(value: Value): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    return new Promise((onTaken) => {
      this.#offers.push({ value, onTaken });
      this.#onOffer();
    });
  }

  /** Returns the value that was offered first; waits if there is none. Returns null once the handover is closed. */
  async take(): Promise<Value | null> {
    while (this.#offers.length === 0) {
      if (this.#isClosed) return null;
      await new Promise<void>((resolve) => (this.#onOffer = resolve));
    }
    const offer = this.#offers.shift();
    offer?.onTaken();
    return offer?.value ?? null;
  }

  /** Ends the handover: producers and the consumer no longer wait. */
  close(): void {
    this.#isClosed = true;
    for (const { onTaken } of this.#offers.splice(0)) onTaken();
    this.#onOffer();
  }
}
