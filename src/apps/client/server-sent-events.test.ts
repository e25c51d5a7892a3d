import assert from "node:assert/strict";
import { test } from "node:test";
import { readServerSentEvents } from "./server-sent-events.ts";

/** Parses events whose bytes arrive in these chunks, and compares their data. */
async function check(pieces: readonly Uint8Array[], expected: readonly string[]): Promise<void> {
  async function* bytes(): AsyncGenerator<Uint8Array> {
    yield* pieces;
  }
  const events: string[] = [];
  for await (const data of readServerSentEvents(bytes())) events.push(data);
  assert.deepEqual(events, expected);
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

test("yields whole events for any chunking, even if a chunk ends within a character", async () => {
  const bytes = bytesOf("data: one\n\ndata: größe\n\n");
  for (let cut = 0; cut <= bytes.length; cut++)
    await check([bytes.subarray(0, cut), bytes.subarray(cut)], ["one", "größe"]);
});

test("joins the lines of an event, and skips comments, other fields and empty events", async () => {
  await check(
    [bytesOf(": hello\n\nid: 1\ndata: a\r\ndata:b\r\n\r\nevent: end\n\ndata:  c\n\n")],
    ["a\nb", " c"],
  );
});

test("ignores an unfinished event, and yields nothing for an empty body", async () => {
  await check([bytesOf("data: one\n\ndata: two\n")], ["one"]);
  await check([], []);
});
