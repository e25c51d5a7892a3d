import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import { FakeClock } from "../../base/domain/testing/fake-clock.ts";
import { isLong, JsonList } from "../wire/json-text.ts";
import { EventStream, IdleStreamError, type EventSink } from "./sse.ts";

/** Response whose client reads only when the test lets it. */
class FakeSink extends EventEmitter implements EventSink {
  readonly texts: string[] = [];
  isFull = false;
  destroyed = false;
  corks = 0;

  cork(): void {
    this.corks += 1;
  }

  uncork(): void {
    this.corks -= 1;
  }

  write(text: string | Uint8Array): boolean {
    this.texts.push(typeof text === "string" ? text : new TextDecoder().decode(text));
    return !this.isFull;
  }

  end(text: string): void {
    this.texts.push(text);
    // As in Node's streams, `end` also ends the buffering that `cork` began.
    this.corks = 0;
    if (!this.isFull) this.emit("close");
  }

  destroy(): void {
    this.destroyed = true;
  }
}

function stream(isNamed = false): {
  readonly sink: FakeSink;
  readonly clock: FakeClock;
  readonly events: EventStream;
} {
  const sink = new FakeSink();
  const clock = new FakeClock();
  return {
    sink,
    clock,
    events: new EventStream(sink, { isNamed, clock, idleMs: 60_000, keepAliveMs: 10_000 }),
  };
}

test("writes an event as one line, even for readers that split lines at Unicode line separators", async () => {
  const { sink, events } = stream();
  const text = "a\u0085b\u2028c\u2029d";
  await events.send({ text });
  const line = sink.texts[0] ?? "";
  assert.equal(line, 'data: {"text":"a\\u0085b\\u2028c\\u2029d"}\n\n');
  assert.deepEqual(JSON.parse(line.slice("data: ".length)), { text });
});

test("writes one data line per event, and [DONE]", async () => {
  const { sink, events } = stream();
  await events.send({ a: "\n" });
  await events.done();
  assert.deepEqual(sink.texts, ['data: {"a":"\\n"}\n\n', "data: [DONE]\n\n"]);
});

test("writes lines of JSON for clients of Ollama, and a blank before a late line", async () => {
  const sink = new FakeSink();
  const clock = new FakeClock();
  const form = { isNamed: false, isLines: true } as const;
  const events = new EventStream(sink, { ...form, clock, idleMs: 60_000, keepAliveMs: 10_000 });
  await events.send({ a: 1 }, { a: 2 });
  await clock.advance(10_000);
  await events.send({ a: 3 });
  await events.done();
  assert.deepEqual(sink.texts, ['{"a":1}\n{"a":2}\n', " ", '{"a":3}\n', ""]);
  const lines = sink.texts.join("").trimEnd().split("\n");
  assert.deepEqual(
    lines.map((line) => JSON.parse(line) as object),
    [{ a: 1 }, { a: 2 }, { a: 3 }],
  );
});

test("combines the writes of one round of the event loop", async () => {
  const { sink, events } = stream();
  assert.equal(sink.corks, 1);
  await events.send({ a: 1 });
  await events.send({ a: 2 });
  assert.equal(sink.corks, 1);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(sink.corks, 0);
  await events.send({ a: 3 });
  assert.equal(sink.corks, 1);
  await events.done();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(sink.corks, 0);
});

test("writes the events of one call in one piece, except a long event, which it writes in several", async () => {
  const { sink, events } = stream();
  await events.send(1, 2);
  await events.send(3, { a: 4, [isLong]: true }, 5);
  await events.send();
  assert.deepEqual(sink.texts.splice(0, 1), ["data: 1\n\ndata: 2\n\n"]);
  assert.equal(sink.texts.join(""), 'data: 3\n\ndata: {"a":4}\n\ndata: 5\n\n');
});

test("names events by their type if asked, and then sends no [DONE]", async () => {
  const { sink, events } = stream(true);
  await events.send({ type: "response.created", a: 1 });
  await events.send({ detail: [] });
  await events.done();
  assert.deepEqual(sink.texts, [
    'event: response.created\ndata: {"type":"response.created","a":1}\n\n',
    'data: {"detail":[]}\n\n',
    "",
  ]);
});

test("writes a long event in pieces, with pauses, without changing its text", async () => {
  const { sink, clock, events } = stream(true);
  const list = new JsonList();
  for (let index = 0; index < 20_000; index++) list.add({ token: `a\u2028${index}` });
  const event = { type: "response.completed", list, end: "b\u2028", [isLong]: true };
  let turns = 0;
  const takeTurns = (): void => {
    turns += 1;
    if (turns < 100) setImmediate(takeTurns);
  };
  setImmediate(takeTurns);
  const sent = events.send(event);
  await clock.advance(30_000);
  await sent;
  assert.ok(turns > 3, `${turns} turns`);
  assert.ok(sink.texts.length > 3);
  const comments = /(?:: keep-alive\n\n)+$/;
  const written = sink.texts.join("").replace(comments, "");
  const head = "event: response.completed\ndata: ";
  assert.ok(written.startsWith(head) && written.endsWith("}\n\n") && !written.includes("\u2028"));
  assert.deepEqual(JSON.parse(written.slice(head.length)), JSON.parse(JSON.stringify(event)));
});

test("waits while the client's buffer is full, and continues when it drains", async () => {
  const { sink, clock, events } = stream();
  const listenerCount = (): number => sink.listenerCount("drain") + sink.listenerCount("close");
  const before = listenerCount();
  sink.isFull = true;
  const sent = events.send(1);
  await clock.advance(59_000);
  sink.emit("drain");
  await sent;
  assert.equal(sink.destroyed, false);
  assert.equal(listenerCount(), before);
});

test("ends a stream whose client reads nothing within the idle time", async () => {
  const { sink, clock, events } = stream();
  sink.isFull = true;
  const sent = assert.rejects(events.send(1), IdleStreamError);
  await clock.advance(60_000);
  await sent;
  assert.equal(sink.destroyed, true);
});

test("ends a finished stream whose client never reads the end", async () => {
  const { sink, clock, events } = stream();
  sink.isFull = true;
  const done = events.done();
  await clock.advance(60_000);
  await done;
  assert.equal(sink.destroyed, true);
});

test("sends keep-alives during silence, but not while data is unread", async () => {
  const { sink, clock, events } = stream();
  const comment = ": keep-alive\n\n";
  await clock.advance(9_000);
  await events.send(1);
  await clock.advance(9_999);
  assert.deepEqual(sink.texts, ["data: 1\n\n"]);
  await clock.advance(1);
  await clock.advance(10_000);
  assert.deepEqual(sink.texts.splice(0), ["data: 1\n\n", comment, comment]);
  sink.isFull = true;
  const sent = events.send(2);
  await clock.advance(30_000);
  assert.deepEqual(sink.texts.splice(0), ["data: 2\n\n"]);
  sink.isFull = false;
  sink.emit("drain");
  await sent;
  await clock.advance(10_000);
  assert.deepEqual(sink.texts.splice(0), [comment]);
  await events.done();
  await clock.advance(30_000);
  assert.deepEqual([sink.texts, clock.sleepingCount], [["data: [DONE]\n\n"], 0]);
});

test("stops keep-alives when a client disconnects", async () => {
  const { sink, clock } = stream();
  sink.emit("close");
  await clock.advance(30_000);
  assert.deepEqual([sink.texts, clock.sleepingCount], [[], 0]);
});

test("sends nothing to a disconnected client", async () => {
  const { sink, events } = stream();
  sink.destroyed = true;
  await events.send(1);
  await events.done();
  assert.deepEqual(sink.texts, []);
});

test("ends a stream whose client disconnected before it began, without keep-alives", async () => {
  const sink = new FakeSink();
  sink.destroyed = true;
  const clock = new FakeClock();
  const events = new EventStream(sink, { isNamed: false, clock, idleMs: 60_000, keepAliveMs: 10_000 });
  assert.equal(events.isClosed, true);
  assert.equal(clock.sleepingCount, 0);
  assert.deepEqual(sink.texts, []);
});
