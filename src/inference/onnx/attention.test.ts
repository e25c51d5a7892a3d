// Tests that attention over a cache does not depend, to the last bit, on the cache's capacity or on other rows.
import assert from "node:assert/strict";
import { test } from "node:test";
import { present } from "../../base/domain/assert.ts";
import { seededRandom } from "../../base/domain/random.ts";
import { cacheAttention, cacheMask } from "../../lib/graph/attention.ts";
import { GraphBuilder } from "../../lib/graph/builder.ts";
import { float32Data, float32Tensor, int64Tensor } from "../../lib/graph/tensor.ts";
import { createSession } from "./session.ts";
import type { Session } from "./session.ts";

const KV_HEADS = 3;
const HEAD_SIZE = 64;
const QUERY_WIDTH = 9 * HEAD_SIZE;
const KV_WIDTH = KV_HEADS * HEAD_SIZE;

test("a row's attention is the same at every capacity and next to any rows", async () => {
  const session = await decodeSession();
  for (const past of [1, 40, 63, 64, 127, 200]) {
    const capacityMin = 64 * Math.ceil((past + 1) / 64);
    const alone = await attend(session, [past], capacityMin);
    for (const capacity of [capacityMin, capacityMin + 64, 512]) {
      const together = await attend(session, [past, 3, capacity - 1, past], capacity);
      assert.deepEqual(together.subarray(0, QUERY_WIDTH), alone, `past ${past} at capacity ${capacity}`);
    }
  }
  await session.release();
});

async function decodeSession(): Promise<Session> {
  const b = new GraphBuilder();
  const pastLengths = b.input("past", "int64", ["B"]);
  const mask = cacheMask(b, { pastLengths, capacity: "C" });
  const cacheShape = ["B", KV_HEADS, "C", HEAD_SIZE];
  const { attention } = cacheAttention(
    b,
    {
      q: b.input("q", "float32", ["B", 1, QUERY_WIDTH]),
      k: b.input("k", "float32", ["B", 1, KV_WIDTH]),
      v: b.input("v", "float32", ["B", 1, KV_WIDTH]),
      cacheKeys: b.input("cacheKeys", "float32", cacheShape),
      cacheValues: b.input("cacheValues", "float32", cacheShape),
    },
    { queryHeads: 9, kvHeads: KV_HEADS, headSize: HEAD_SIZE, scale: 0.125, mask },
  );
  return await createSession(b.build({ attention }), { weights: new Map(), threads: 2 });
}

/**
 * Computes the attention of rows with the same filled part in every call. The rest of their cache contains arbitrary
 * numbers.
 */
async function attend(session: Session, pasts: readonly number[], capacity: number): Promise<Float32Array> {
  const rows = pasts.length;
  const row = (name: string, width: number) =>
    float32Tensor([rows, 1, width], repeated(rows, noise(name, width)));
  const cache = (name: string) => {
    const tokens = noise(name, KV_WIDTH * 512);
    const data = new Float32Array(rows * KV_WIDTH * capacity);
    for (let place = 0; place < data.length; place++) {
      const head = Math.floor(place / (capacity * HEAD_SIZE)) % KV_HEADS;
      data[place] = present(tokens[head * 512 * HEAD_SIZE + (place % (capacity * HEAD_SIZE))], "a number");
    }
    return float32Tensor([rows, KV_HEADS, capacity, HEAD_SIZE], data);
  };
  const outputs = await session.run({
    past: int64Tensor([rows], pasts),
    q: row("q", QUERY_WIDTH),
    k: row("k", KV_WIDTH),
    v: row("v", KV_WIDTH),
    cacheKeys: cache("keys"),
    cacheValues: cache("values"),
  });
  return float32Data(outputs["attention"]);
}

function noise(name: string, length: number): Float32Array {
  const random = seededRandom("attention", name);
  return Float32Array.from({ length }, () => 4 * random.uniform() - 2);
}

function repeated(count: number, data: Float32Array): Float32Array {
  const all = new Float32Array(count * data.length);
  for (let index = 0; index < count; index++) all.set(data, index * data.length);
  return all;
}
