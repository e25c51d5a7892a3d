// Answers several requests at once, as one: what each brings comes in its own order, beside what the others bring, and the
// first that fails ends them all. What is answered, and how it is written, is not its business.
import { setMaxListeners } from "node:events";
import { present } from "../../base/domain/assert.ts";
import type { ChatCompletion, ChatUsage, RequestDeltas } from "../../base/domain/chat.ts";

/** Begins to answer one of the requests; `onSubmitted` may be called once nothing is left to refuse. */
export type BeginOne = (
  request: number,
  options: { readonly signal: AbortSignal; readonly onSubmitted: () => void },
) => Promise<ChatCompletion>;

/**
 * Resolves once every request was submitted and one of them has begun, which is the one whose header it has: what is wrong
 * with one of them is thrown before. At most one step of each waits to be read. Leaving it, or the signal, ends all.
 *
 * @param count at least 1
 * @throws what the first to fail threw, once all have ended
 */
export async function beginTogether(
  count: number,
  begin: BeginOne,
  signal: AbortSignal,
): Promise<ChatCompletion<RequestDeltas>> {
  if (count === 1) return alone(await begin(0, { signal, onSubmitted: () => undefined }));
  const begun: ChatCompletion[] = [];
  const deltas = answerAll(count, begin, { signal, begun });
  // As with one completion: a generator that was not asked for anything frees nothing.
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

function alone(completion: ChatCompletion): ChatCompletion<RequestDeltas> {
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

/** What it yields first is empty: one of them has begun then. */
async function* answerAll(
  count: number,
  begin: BeginOne,
  { signal, begun }: { readonly signal: AbortSignal; readonly begun: ChatCompletion[] },
): AsyncGenerator<RequestDeltas, void> {
  const ending = new AbortController();
  const both = AbortSignal.any([signal, ending.signal]);
  // One listener for each request is what is meant here, not a leak.
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
