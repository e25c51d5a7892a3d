import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { heldBytes, type HeldPrompt } from "../../base/domain/prompt-transfer.ts";
import { seededRandom } from "../../base/domain/random.ts";
import { searchSeeds } from "../../base/domain/testing/search.ts";
import { pieceBytes, readBody, encodePromptBody } from "./prompt-body.ts";
import { isSigned, signatureOf } from "./signature.ts";
import { TransferFailure } from "./transfer-failure.ts";

const signing = { secret: "0123456789abcdef", handle: "h" };
const shape = { layerCount: 4, positionSize: 2048, stateSize: 6, vocabularySize: 10 };
const tokenIds = Array.from({ length: 300 }, (_, index) => index);
const prompt: HeldPrompt = {
  origin: { weights: "w", precision: "int8", build: "b", adapter: null },
  tokenIds,
  shape,
  blockPositions: [256, 44],
  byteLength: heldBytes(shape, tokenIds.length),
};
const values = Buffer.from(Uint8Array.from({ length: prompt.byteLength }, (_, index) => index * 7));

const written = async (): Promise<Buffer> => {
  const body = encodePromptBody(
    prompt,
    async (offset, count) => values.subarray(offset, offset + count),
    signing,
  );
  const pieces: Uint8Array[] = [];
  for await (const piece of body.pieces) {
    assert.ok(piece.length <= pieceBytes);
    pieces.push(piece);
  }
  const bytes = Buffer.concat(pieces);
  assert.equal(bytes.length, body.byteLength);
  return bytes;
};

async function* inChunks(bytes: Buffer, size: () => number): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < bytes.length;) {
    const end = at + size();
    yield bytes.subarray(at, end);
    at = end;
  }
}

const read = async (bytes: Buffer, size = () => 70_000, with_ = signing) => {
  const received = Buffer.alloc(values.length);
  let header: HeldPrompt | null = null;
  const sink = {
    expect: async (expected: HeldPrompt) => {
      header = expected;
    },
    write: async (offset: number, piece: Uint8Array) => received.set(piece, offset),
  };
  const failure = await readBody(inChunks(bytes, size), sink, with_).then(
    () => null,
    (error: unknown) => (error instanceof TransferFailure ? error.message : String(error)),
  );
  return { received, header, failure };
};

test("reads a prompt as it was written, in chunks of any sizes", async () => {
  const bytes = await written();
  assert.ok(bytes.length > 2 * pieceBytes);
  for (const seed of searchSeeds(3)) {
    const random = seededRandom("prompt body", seed);
    const { received, header, failure } = await read(bytes, () => 1 + random.index(3 * 65_536));
    assert.deepEqual([failure, header], [null, prompt]);
    assert.ok(received.equals(values));
  }
});

test("computes the code of RFC 2104 over all bytes before it", async () => {
  const bytes = await written();
  const expected = createHmac("sha256", signing.secret)
    .update(`["answer","h"]`)
    .update(bytes.subarray(0, -32))
    .digest();
  assert.deepEqual(bytes.subarray(-32), expected);
});

test("refuses a body that was changed, truncated, extended or signed with another secret", async () => {
  const bytes = await written();
  for (const at of [0, 7, 20, bytes.length - 40, bytes.length - 1]) {
    const changed = Buffer.from(bytes);
    changed[at] ^= 1;
    assert.notEqual((await read(changed)).failure, null, `byte ${at}`);
  }
  for (const length of [0, 5, 11, 100, bytes.length - 1])
    assert.match((await read(bytes.subarray(0, length))).failure ?? "", /ended early/);
  assert.match((await read(Buffer.concat([bytes, bytes]))).failure ?? "", /changed on the way/);
  const others = { ...signing, secret: "another secret" };
  assert.match((await read(bytes, undefined, others)).failure ?? "", /changed on the way/);
  const otherHandle = { ...signing, handle: "i" };
  assert.match((await read(bytes, undefined, otherHandle)).failure ?? "", /changed on the way/);
});

test("refuses a header that is too long or invalid before accepting data", async () => {
  const head = (header: string, length = header.length): Buffer => {
    const prefix = Buffer.alloc(12, "HONE-KV1");
    prefix.writeUInt32LE(length, 8);
    return Buffer.concat([prefix, Buffer.from(header)]);
  };
  for (const bytes of [
    head("", 2 ** 31),
    head("{"),
    head("null"),
    head("{}"),
    head(JSON.stringify({ ...prompt, byteLength: -1 })),
    head(JSON.stringify({ ...prompt, tokenIds: [1.5] })),
    head(JSON.stringify({ ...prompt, origin: { weights: 1 } })),
  ]) {
    const { failure, header } = await read(bytes);
    assert.match(failure ?? "", /header/);
    assert.equal(header, null);
  }
});

test("makes a signature for one handle, one entity and one secret", () => {
  const request = { handle: "h", entity: "ann" };
  const header = `Hone-Transfer ${signatureOf("s", request)}`;
  assert.ok(isSigned("s", request, header));
  assert.equal(isSigned("t", request, header), false);
  assert.equal(isSigned("s", { ...request, entity: "ben" }, header), false);
  assert.equal(isSigned("s", { ...request, handle: "i" }, header), false);
  for (const other of [undefined, "", "Bearer x", header.replace("Hone-Transfer", "Bearer"), `${header}0`])
    assert.equal(isSigned("s", request, other), false);
});
