// Answers several requests as one. Each request's deltas keep their order, and are interleaved with those of the other
// requests; the first failure ends all requests. Does not depend on how requests are answered or how deltas are
// written.
import { setMaxListeners } from "node:events";
import { present } from "../../base/domain/assert.ts";
import type { ChatCompletion, ChatUsage, RequestDeltas } from "../../base/domain/chat.ts";

/** Begins to answer one of the requests; may call `onSubmitted` once the request can no longer be refused. */
export type BeginOne = (
  request: number,
  options: { readonly signal: AbortSignal; readonly onSubmitted: () => void },
) => Promise<ChatCompletion>;

/**
 * Resolves, with the header of the first request to begin, once every request is submitted; throws before that for an
 * invalid request. At most one step of each request is buffered for the reader. Leaving the generator, or aborting the
 * signal, ends all requests.
 *
 * @param count at least 1
 * @throws the error of the first request to fail, once all have ended
 */
export async function beginTogether(
  count: number,
  begin: BeginOne,
  signal: AbortSignal,
): Promise<ChatCompletion<RequestDeltas>> {
  if (count === 1) return asRequestDeltas(await begin(0, { signal, onSubmitted: () => undefined }));
  const begun: ChatCompletion[] = [];
  const deltas = answerAll(count, begin, { signal, begun });
  // The generator must be started here: leaving an unstarted generator runs none of its code, so it would free
  // nothing.
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

/** Yields the deltas of all requests. The first yield is empty and signals that one request has begun. */
async function* answerAll(
  count: number,
  begin: BeginOne,
  { signal, begun }: { readonly signal: AbortSignal; readonly begun: ChatCompletion[] },
): AsyncGenerator<RequestDeltas, void> {
  const ending = new AbortController();
  const both = AbortSignal.any([signal, ending.signal]);
  // Disables the warning about many listeners: one listener for each request is intended, not a leak.
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

/** Countdown whose promise resolves once the given number of steps has been made. */
class Countdown {
  readonly done: Promise<void>;
  #left: number;
  #onDone = (): void => undefined;

  constructor(count: number) {
    this.#left = count;
    this.done = new Promise((resolve) => (this.#onDone = resolve));
  }

  /** Returns a function that makes one step; only its first call has an effect. */
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

/** Passes values from several producers to one consumer; a producer waits until its value is taken. */
class Handover<Value> {
  readonly #offers: { readonly value: Value; readonly onTaken: () => void }[] = [];
  #onOffer = (): void => undefined;
  #isClosed = false;

  /** Returns immediately, without effect, once closed. */
  offer(value: Value): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    return new Promise((onTaken) => {
      this.#offers.push({ value, onTaken });
      this.#onOffer();
    });
  }

  /** Returns the oldest offered value, waiting for one if necessary; null once closed. */
  async take(): Promise<Value | null> {
    while (this.#offers.length === 0) {
      if (this.#isClosed) return null;
      await new Promise<void>((resolve) => (this.#onOffer = resolve));
    }
    const offer = this.#offers.shift();
    offer?.onTaken();
    return offer?.value ?? null;
  }

  /** Ends the handover for both sides. */
  close(): void {
    this.#isClosed = true;
    for (const { onTaken } of this.#offers.splice(0)) onTaken();
    this.#onOffer();
  }
}
