import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../base/domain/random.ts";
import { AnswerTooLarge } from "../../../base/http-client/http-failure.ts";
import { readEventData } from "./event-stream.ts";

/** Returns the data of the events in a text that arrives in pieces. */
async function read(pieces: readonly Uint8Array[], charactersMax?: number): Promise<readonly string[]> {
  const all: string[] = [];
  async function* arriving(): AsyncGenerator<Uint8Array> {
    for (const piece of pieces) yield await Promise.resolve(piece);
  }
  for await (const events of readEventData(arriving(), charactersMax)) all.push(...events);
  return all;
}

const text = `: keep-alive\n\ndata: {"a": "ä€😀"}\n\nevent: x\r\ndata: 1\r\ndata:2\r\n\r\nid: 3\n\ndata: [DONE]\n\ndata: cut`;

test("yields the data of each event, regardless of how the bytes are split", async () => {
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

test("refuses an endless event in one line, in many, or in lines without data", async () => {
  const fits = ["data: 12345678\n", "\n", "data: 12345678\n\n", ": 12345678901\n", "data: 1\n\n"];
  assert.deepEqual(
    await read(
      fits.map((piece) => Buffer.from(piece)),
      16,
    ),
    ["12345678", "12345678", "1"],
  );
  for (const endless of ["data: 1\n", "data:\n", "x", "data: {"]) {
    const pieces = Array.from({ length: 17 }, () => Buffer.from(endless));
    await assert.rejects(read(pieces, 16), AnswerTooLarge, endless);
  }
});

test("takes time proportional to the length of a long line that drips in", async () => {
  // If each piece were joined to the earlier ones at once, the event would be copied 65,536 times: 140 gigabytes.
  const pieces = Array.from({ length: 1 << 16 }, () => Buffer.from("x".repeat(64)));
  const [event] = await read([Buffer.from("data: "), ...pieces, Buffer.from("\n\n")]);
  assert.equal(event?.length, 1 << 22);
});
