import assert from "node:assert/strict";
import { test } from "node:test";
import type { GenerationEvent } from "../../base/domain/generation.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { GenerationStream } from "./generation-stream.ts";

const setUp = (choiceCount: number) => {
  const calls: string[] = [];
  const stream = new GenerationStream({
    choiceCount,
    onStopChoice: (choice) => calls.push(`stop ${choice}`),
    onAbort: () => calls.push("abort"),
    onEnd: () => calls.push("end"),
  });
  return { stream, calls };
};

const token = (choice: number, id: number): GenerationEvent => ({
  kind: "tokens",
  choice,
  tokens: [{ id, logprob: NaN, alternatives: [] }],
});
const finished = (choice: number): GenerationEvent => ({
  kind: "choice-finished",
  choice,
  reason: "length",
  stopTokenId: null,
});

/** Returns everything that a reader receives, one line per batch: `choice:ids`, finishes, and the error's code. */
const read = async (stream: GenerationStream): Promise<readonly string[]> => {
  const seen: string[] = [];
  try {
    for await (const batch of stream.events) {
      const names = batch.map((event) => {
        if (event.kind === "tokens") return `${event.choice}:${event.tokens.map(({ id }) => id).join("+")}`;
        return event.kind === "choice-finished" ? `${event.choice} ${event.reason}` : event.kind;
      });
      seen.push(names.join(", "));
    }
  } catch (error) {
    assert.ok(error instanceof ServiceError);
    seen.push(error.code);
  }
  return seen;
};

test("returns everything since the last read in one batch, and ends with the last choice", async () => {
  const { stream, calls } = setUp(2);
  stream.push({ kind: "prompt-computed", cachedTokenCount: 0 });
  stream.push(token(0, 1));
  const reading = read(stream);
  await Promise.resolve();
  stream.push(finished(0));
  stream.push(token(1, 2));
  stream.push(finished(1));
  assert.deepEqual(await reading, ["prompt-computed, 0:1", "0 length, 1:2, 1 length"]);
  assert.deepEqual(calls, ["end"]);
});

test("drops events of a stopped choice, and ends when every choice was stopped", async () => {
  const { stream, calls } = setUp(2);
  stream.stopChoice(0);
  stream.stopChoice(0);
  stream.push(token(0, 1));
  stream.push(token(1, 2));
  const reading = read(stream);
  await Promise.resolve();
  stream.stopChoice(1);
  assert.deepEqual(await reading, ["1:2"]);
  assert.deepEqual(calls, ["stop 0", "stop 1", "end"]);
});

test("drops unread events of a choice when it is stopped", async () => {
  const { stream } = setUp(2);
  for (let id = 0; id < 40; id++) for (const choice of [0, 1]) stream.push(token(choice, id));
  stream.stopChoice(0);
  stream.push(finished(1));
  const seen = (await read(stream)).join();
  assert.match(seen, /1:0/);
  assert.doesNotMatch(seen, /0:0/);
});

test("joins unread steps, keeping each choice's order and its finish", async () => {
  const choiceCount = 20;
  const { stream } = setUp(choiceCount);
  const choices = Array.from({ length: choiceCount }, (_, choice) => choice);
  const reader = stream.events[Symbol.asyncIterator]();
  const events: GenerationEvent[] = [];
  const take = async (): Promise<boolean> => {
    const { done, value } = await reader.next();
    if (done !== true) events.push(...value);
    return done !== true;
  };
  for (let id = 0; id < 20; id++) for (const choice of choices) stream.push(token(choice, id));
  await take();
  for (let id = 20; id < 40; id++) for (const choice of choices) stream.push(token(choice, id));
  for (const choice of choices) stream.push(finished(choice));
  while (await take());
  for (const choice of choices) {
    const own = events.filter((event) => "choice" in event && event.choice === choice);
    const ids = own.flatMap((event) => (event.kind === "tokens" ? event.tokens.map(({ id }) => id) : []));
    assert.deepEqual(
      ids,
      Array.from({ length: 40 }, (_, id) => id),
    );
    assert.ok(own.length <= 5, `${own.length} events`);
    const finish = events.indexOf(own.at(-1) ?? own[0]);
    assert.deepEqual([events[finish].kind, events[finish - 1]], ["choice-finished", own.at(-2)]);
  }
});

test("ends the choices that a search with fewer answers does not need", async () => {
  const { stream, calls } = setUp(4);
  stream.stopChoice(3);
  stream.push({ kind: "choices-found", count: 2 });
  stream.push(token(2, 9));
  for (const choice of [0, 1]) {
    stream.push(token(choice, 1));
    stream.push(finished(choice));
  }
  assert.deepEqual(await read(stream), ["choices-found, 0:1, 0 length, 1:1, 1 length"]);
  assert.deepEqual(calls, ["stop 3", "end"]);
});

test("abort throws cancelled to the reader, once", async () => {
  const { stream, calls } = setUp(1);
  stream.push(token(0, 1));
  stream.abort();
  stream.abort();
  assert.deepEqual(await read(stream), ["cancelled"]);
  assert.deepEqual(calls, ["end", "abort"]);
});

test("delivers buffered events before a failure", async () => {
  const { stream } = setUp(1);
  stream.push(token(0, 1));
  stream.fail(new ServiceError({ code: "unavailable", message: "gone" }));
  stream.push(token(0, 2));
  assert.deepEqual(await read(stream), ["0:1", "unavailable"]);
});

test("aborts the request when the reader leaves its loop", async () => {
  const { stream, calls } = setUp(1);
  stream.push(token(0, 1));
  for await (const [event] of stream.events) {
    assert.equal(event.kind, "tokens");
    break;
  }
  assert.deepEqual(calls, ["end", "abort"]);
});
