// Tests that a long answer is produced only as fast as the client reads it, and that it ends if the client stops
// reading.
import assert from "node:assert/strict";
import { test } from "node:test";
import { pacedStream } from "./paced-answer.ts";

/** Returns an endless source of pieces. It counts the bytes that it has produced, and records when it is stopped. */
function endless(pieceBytes: number) {
  const seen = { madeBytes: 0, isOver: false };
  const pieces = async function* (): AsyncGenerator<Uint8Array, void> {
    try {
      for (;;) {
        seen.madeBytes += pieceBytes;
        yield new Uint8Array(pieceBytes);
      }
    } finally {
      seen.isOver = true;
    }
  };
  return { seen, pieces: pieces() };
}

async function over(seen: { readonly isOver: boolean }): Promise<void> {
  while (!seen.isOver) await new Promise((resolve) => setImmediate(resolve));
}

test("sends all pieces, whether text or bytes, of any size", async () => {
  const pieces = async function* (): AsyncGenerator<Uint8Array | string, void> {
    yield "é";
    yield new Uint8Array(0);
    yield new Uint8Array(200_000).fill(7);
  };
  const chunks: Uint8Array[] = [];
  for await (const chunk of pacedStream(pieces(), 60_000)) chunks.push(chunk as Uint8Array);
  assert.deepEqual(Buffer.concat(chunks), Buffer.concat([Buffer.from("é"), Buffer.alloc(200_000, 7)]));
});

test("produces at most one piece ahead of the reader", async () => {
  const { seen, pieces } = endless(1 << 22);
  const stream = pacedStream(pieces, 60_000);
  let readBytes = 0;
  for await (const chunk of stream) {
    readBytes += (chunk as Uint8Array).length;
    assert.ok(seen.madeBytes - readBytes <= 1 << 23, `${seen.madeBytes} made, ${readBytes} read`);
    if (readBytes > 1 << 25) break;
  }
  await over(seen);
});

test("ends the stream and stops its source when nothing is read for too long", async () => {
  const { seen, pieces } = endless(1 << 22);
  const stream = pacedStream(pieces, 1);
  const failure = new Promise<Error>((resolve) => stream.once("error", resolve));
  stream.once("readable", () => undefined);
  assert.match((await failure).message, /read nothing for 1 ms/);
  await over(seen);
});
