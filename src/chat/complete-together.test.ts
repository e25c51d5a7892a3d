import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChatEvent, RequestEvent } from "../domain/chat.ts";
import { completeTogether, type StartAnswer } from "./complete-together.ts";

const usage = { promptTokens: 1, completionTokens: 0, cachedTokens: 0 };
/** Events that are told apart by their number. */
const numbered = (number: number): ChatEvent => ({
  kind: "usage",
  usage: { ...usage, completionTokens: number },
});
const numberOf = ({ event }: RequestEvent): number =>
  event.kind === "usage" ? event.usage.completionTokens : -1;

/** Ends as an answer does whose signal aborts. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const onAbort = (): void => reject(new Error("aborted"));
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
}

async function gathered(events: AsyncIterable<RequestEvent>): Promise<readonly (readonly number[])[]> {
  const lists: number[][] = [];
  for await (const event of events) (lists[event.request] ??= []).push(numberOf(event));
  return lists;
}

const never = new AbortController().signal;

test("each request's events come in its own order, whole, and beside the others'", async () => {
  const start: StartAnswer = async function* (request) {
    for (let number = 0; number <= request; number++) yield numbered(number);
  };
  for (const count of [1, 2, 7]) {
    const expected = Array.from({ length: count }, (_, request) => [...Array(request + 1).keys()]);
    assert.deepEqual(await gathered(completeTogether(count, start, never)), expected);
  }
  const order: number[] = [];
  for await (const { request } of completeTogether(2, start, never)) order.push(request);
  assert.deepEqual(order.slice(0, 2), [0, 1]);
});

test("nothing comes before every request was submitted, and what is wrong with one is thrown first", async () => {
  const refusal = new Error("the last prompt is too long");
  const ended: number[] = [];
  const start: StartAnswer = async function* (request, { signal, onSubmitted }) {
    try {
      if (request === 2) {
        await new Promise((resolve) => setImmediate(resolve));
        throw refusal;
      }
      onSubmitted();
      yield numbered(0);
      await aborted(signal);
    } finally {
      ended.push(request);
    }
  };
  const events = completeTogether(3, start, never);
  await assert.rejects(events.next(), refusal);
  assert.deepEqual(new Set(ended), new Set([0, 1, 2]));
});

test("one that fails on the way ends the others, and its error is the one that is thrown", async () => {
  const failure = new Error("the engine is down");
  let endedCount = 0;
  const start: StartAnswer = async function* (request, { signal }) {
    try {
      yield numbered(0);
      if (request === 1) throw failure;
      await aborted(signal);
    } finally {
      endedCount += 1;
    }
  };
  await assert.rejects(gathered(completeTogether(4, start, never)), failure);
  assert.equal(endedCount, 4);
});

test("leaving early ends all of them, and so does the signal", async () => {
  for (const leaves of [true, false]) {
    let endedCount = 0;
    const start: StartAnswer = async function* (_, { signal }) {
      try {
        yield numbered(0);
        await aborted(signal);
      } finally {
        endedCount += 1;
      }
    };
    const client = new AbortController();
    const events = completeTogether(3, start, client.signal);
    await events.next();
    if (leaves) await events.return(undefined);
    else {
      client.abort();
      await assert.rejects(gathered(events), /aborted/);
    }
    assert.equal(endedCount, 3);
  }
});

test("a reader that is slow holds up whoever answers: one event of each waits at most", async () => {
  let madeCount = 0;
  const start: StartAnswer = async function* () {
    for (let number = 0; number < 100; number++) {
      madeCount += 1;
      yield numbered(number);
    }
  };
  const events = completeTogether(2, start, never);
  await events.next();
  await new Promise((resolve) => setImmediate(resolve));
  assert.ok(madeCount <= 4, `${madeCount} events were made`);
  await events.return(undefined);
});
