import assert from "node:assert/strict";
import { test } from "node:test";
import { readServerSentEvents } from "./server-sent-events.ts";

/** The data of the events of bytes that come in these pieces. */
async function check(pieces: readonly Uint8Array[], expected: readonly string[]): Promise<void> {
  async function* bytes(): AsyncGenerator<Uint8Array> {
    yield* pieces;
  }
  const events: string[] = [];
  for await (const data of readServerSentEvents(bytes())) events.push(data);
  assert.deepEqual(events, expected);
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

test("events are whole wherever the body is cut, also within a letter", async () => {
  const bytes = bytesOf("data: one\n\ndata: größe\n\n");
  for (let cut = 0; cut <= bytes.length; cut++)
    await check([bytes.subarray(0, cut), bytes.subarray(cut)], ["one", "größe"]);
});

test("lines of one event are joined; comments, other fields and empty events are skipped", async () => {
  await check(
    [bytesOf(": hello\n\nid: 1\ndata: a\r\ndata:b\r\n\r\nevent: end\n\ndata:  c\n\n")],
    ["a\nb", " c"],
  );
});

test("an event that never ended is no event, and no body has none", async () => {
  await check([bytesOf("data: one\n\ndata: two\n")], ["one"]);
  await check([], []);
});
