import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../domain/random.ts";
import { eventData } from "./event-stream.ts";

/** What comes of a text that arrives in pieces. */
async function read(pieces: readonly Uint8Array[]): Promise<readonly string[]> {
  const all: string[] = [];
  async function* arriving(): AsyncGenerator<Uint8Array> {
    for (const piece of pieces) yield await Promise.resolve(piece);
  }
  for await (const events of eventData(arriving())) all.push(...events);
  return all;
}

const text = `: keep-alive\n\ndata: {"a": "ä€😀"}\n\nevent: x\r\ndata: 1\r\ndata:2\r\n\r\nid: 3\n\ndata: [DONE]\n\ndata: cut`;

test("gives the data of each event, wherever the bytes are cut", async () => {
  const bytes = Buffer.from(text);
  const expected = ['{"a": "ä€😀"}', "1\n2", "[DONE]"];
  assert.deepEqual(await read([bytes]), expected);
  assert.deepEqual(await read(Array.from(bytes, (byte) => Uint8Array.of(byte))), expected);
  for (let seed = 0; seed < 50; seed++) {
    const random = seededRandom("events", seed);
    const cuts = Array.from({ length: 5 }, () => random.index(bytes.length)).sort(
      (one, other) => one - other,
    );
    const pieces = [0, ...cuts].map((from, index) => bytes.subarray(from, cuts[index] ?? bytes.length));
    assert.deepEqual(await read(pieces), expected, `seed ${seed}`);
  }
});
