import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChatCompletion, ChatDelta, ChatHeader, RequestDeltas } from "../../base/domain/chat.ts";
import { beginTogether, type BeginOne } from "./complete-together.ts";

/** Returns deltas that a test recognises by this number. */
const numbered = (number: number): readonly ChatDelta[] => [
  // Safe cast: the tests read only this field.
  { choiceTokens: number } as ChatDelta,
];
const numbersOf = ({ deltas }: RequestDeltas): readonly number[] =>
  deltas.map(({ choiceTokens }) => choiceTokens);

/** Returns a completion with the given deltas. The name of its model contains the request's number. */
function completionOf(
  request: number,
  deltas: AsyncGenerator<readonly ChatDelta[], void>,
): Promise<ChatCompletion> {
  const usage = { promptTokens: 1, completionTokens: request, cachedTokens: 0 };
  // Safe cast: the tests read only this field.
  const header = { model: `model ${request}` } as ChatHeader;
  return Promise.resolve({
    header,
    deltas,
    usage,
    recordedAs: null,
    leave: async () => void (await deltas.return()),
  });
}

/** Returns a promise that rejects once the signal aborts, like an aborted answer. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const onAbort = (): void => reject(new Error("aborted"));
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
}

async function gathered(
  beginning: Promise<ChatCompletion<RequestDeltas>>,
): Promise<readonly (readonly number[])[]> {
  const lists: number[][] = [];
  for await (const step of (await beginning).deltas) {
    assert.equal(step.header.model, `model ${step.request}`);
    (lists[step.request] ??= []).push(...numbersOf(step));
  }
  return lists;
}

const never = new AbortController().signal;

test("keeps each request's deltas in order and whole, interleaved with the others'", async () => {
  const begin: BeginOne = (request) =>
    completionOf(
      request,
      (async function* () {
        for (let number = 0; number <= request; number++) yield numbered(number);
      })(),
    );
  for (const count of [1, 2, 7]) {
    const expected = Array.from({ length: count }, (_, request) => [...Array(request + 1).keys()]);
    assert.deepEqual(await gathered(beginTogether(count, begin, never)), expected);
  }
  const order: number[] = [];
  const { header, deltas } = await beginTogether(2, begin, never);
  for await (const step of deltas) if (step.deltas.length > 0) order.push(step.request);
  assert.equal(header.model, "model 0");
  assert.deepEqual(order.slice(0, 2), [0, 1]);
});

test("sums the usage of all requests", async () => {
  const begin: BeginOne = (request) =>
    completionOf(
      request,
      (async function* () {
        yield numbered(0);
      })(),
    );
  for (const count of [1, 4]) {
    const completion = await beginTogether(count, begin, never);
    for await (const _ of completion.deltas);
    const expected = { promptTokens: count, completionTokens: count === 1 ? 0 : 6, cachedTokens: 0 };
    assert.deepEqual(completion.usage, expected);
  }
});

test("emits nothing before every request is submitted, and throws the error of an invalid request first", async () => {
  const refusal = new Error("the last prompt is too long");
  const ended: number[] = [];
  const begin: BeginOne = async (request, { signal, onSubmitted }) => {
    if (request === 2) {
      await new Promise((resolve) => setImmediate(resolve));
      throw refusal;
    }
    onSubmitted();
    return completionOf(
      request,
      (async function* () {
        try {
          yield numbered(0);
          await aborted(signal);
        } finally {
          ended.push(request);
        }
      })(),
    );
  };
  await assert.rejects(beginTogether(3, begin, never), refusal);
  assert.deepEqual(new Set(ended), new Set([0, 1]));
});

test("ends all requests if one fails later, and throws its error", async () => {
  const failure = new Error("the engine is down");
  let endedCount = 0;
  const begin: BeginOne = (request, { signal }) =>
    completionOf(
      request,
      (async function* () {
        try {
          yield numbered(0);
          if (request === 1) throw failure;
          await aborted(signal);
        } finally {
          endedCount += 1;
        }
      })(),
    );
  await assert.rejects(gathered(beginTogether(4, begin, never)), failure);
  assert.equal(endedCount, 4);
});

test("ends all requests if the reader leaves early or the signal aborts", async () => {
  for (const count of [1, 3]) {
    for (const leaves of [true, false]) {
      let endedCount = 0;
      const client = new AbortController();
      const begin: BeginOne = async (request, { signal }) => {
        const deltas = (async function* () {
          try {
            yield [];
            yield numbered(0);
            await aborted(signal);
          } finally {
            endedCount += 1;
          }
        })();
        // Runs the generator up to its first `yield`, as chat does before it returns a completion.
        await deltas.next();
        return completionOf(request, deltas);
      };
      const beginning = beginTogether(count, begin, client.signal);
      if (leaves) await (await beginning).leave();
      else {
        await beginning;
        client.abort();
        await assert.rejects(gathered(beginning), /aborted/);
      }
      assert.equal(endedCount, count);
    }
  }
});

test("buffers at most one step of each request for a slow reader", async () => {
  let madeCount = 0;
  const begin: BeginOne = (request) =>
    completionOf(
      request,
      (async function* () {
        for (let number = 0; number < 100; number++) {
          madeCount += 1;
          yield numbered(number);
        }
      })(),
    );
  const together = await beginTogether(2, begin, never);
  const deltas = together.deltas[Symbol.asyncIterator]();
  await deltas.next();
  await new Promise((resolve) => setImmediate(resolve));
  assert.ok(madeCount <= 4, `${madeCount} steps were made`);
  await together.leave();
});
