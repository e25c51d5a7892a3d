// Tests that attention over a cache does not depend, to the last bit, on the cache's capacity or on other rows.
import assert from "node:assert/strict";
import { test } from "node:test";
import { present } from "../../base/domain/assert.ts";
import { seededRandom } from "../../base/domain/random.ts";
import { cacheAttention, cacheMask } from "../../lib/graph/attention.ts";
import { GraphBuilder } from "../../lib/graph/builder.ts";
import { cacheDims, cacheForm } from "../../lib/graph/cache-products.ts";
import { float32Data, float32Tensor, int64Tensor } from "../../lib/graph/tensor.ts";
import { createSession } from "./session.ts";
import type { Session } from "./session.ts";

interface Heads {
  readonly kvHeads: number;
  readonly queryHeads: number;
  readonly headSize: number;
}

for (const heads of [
  { kvHeads: 3, queryHeads: 9, headSize: 64 },
  { kvHeads: 1, queryHeads: 4, headSize: 64 },
  { kvHeads: 1, queryHeads: 1, headSize: 256 },
  { kvHeads: 1, queryHeads: 8, headSize: 512 },
]) {
  const { kvHeads, queryHeads, headSize } = heads;
  test(`a row's attention is the same at every capacity and next to any rows (${queryHeads} heads of ${headSize} over ${kvHeads})`, async () => {
    const session = await decodeSession(heads);
    for (const past of [1, 40, 63, 64, 127, 200]) {
      const capacityMin = 64 * Math.ceil((past + 1) / 64);
      const alone = await attend(session, heads, [past], capacityMin);
      for (const capacity of [capacityMin, capacityMin + 64, 512]) {
        const together = await attend(session, heads, [past, 3, capacity - 1, past], capacity);
        const first = together.subarray(0, queryHeads * headSize);
        assert.deepEqual(first, alone, `past ${past} at capacity ${capacity}`);
      }
    }
    await session.release();
  });
}

async function decodeSession({ kvHeads, queryHeads, headSize }: Heads): Promise<Session> {
  const b = new GraphBuilder();
  const pastLengths = b.input("past", "int64", ["B"]);
  const { shape: cacheShape, capacity } = cacheForm("B", kvHeads, "C", headSize);
  const mask = cacheMask(b, { pastLengths, capacity });
  const { attention } = cacheAttention(
    b,
    {
      q: b.input("q", "float32", ["B", 1, queryHeads * headSize]),
      k: b.input("k", "float32", ["B", 1, kvHeads * headSize]),
      v: b.input("v", "float32", ["B", 1, kvHeads * headSize]),
      cacheKeys: b.input("cacheKeys", "float32", cacheShape),
      cacheValues: b.input("cacheValues", "float32", cacheShape),
    },
    { queryHeads, kvHeads, headSize, scale: 0.125, mask },
  );
  return await createSession(b.build({ attention }), { weights: new Map(), threads: 2 });
}

/**
 * Computes the attention of rows. In every call, the filled part of their cache is the same, and the rest contains
 * arbitrary numbers.
 */
async function attend(
  session: Session,
  { kvHeads, queryHeads, headSize }: Heads,
  pasts: readonly number[],
  capacity: number,
): Promise<Float32Array> {
  const kvWidth = kvHeads * headSize;
  const rows = pasts.length;
  const row = (name: string, width: number) =>
    float32Tensor([rows, 1, width], repeated(rows, noise(name, width)));
  const cache = (name: string) => {
    const tokens = noise(name, kvWidth * 512);
    const data = new Float32Array(rows * kvWidth * capacity);
    for (let place = 0; place < data.length; place++) {
      const head = Math.floor(place / (capacity * headSize)) % kvHeads;
      data[place] = present(tokens[head * 512 * headSize + (place % (capacity * headSize))], "a number");
    }
    return float32Tensor(cacheDims(rows, kvHeads, capacity, headSize), data);
  };
  const outputs = await session.run({
    past: int64Tensor([rows], pasts),
    q: row("q", queryHeads * headSize),
    k: row("k", kvWidth),
    v: row("v", kvWidth),
    cacheKeys: cache("keys"),
    cacheValues: cache("values"),
  });
  return float32Data(outputs["attention"]);
}

/** Random numbers that were already drawn, by name and length. */
const drawn = new Map<string, Float32Array>();

function noise(name: string, length: number): Float32Array {
  const key = `${name} ${length}`;
  const random = seededRandom("attention", name);
  const numbers = drawn.get(key) ?? Float32Array.from({ length }, () => 4 * random.uniform() - 2);
  drawn.set(key, numbers);
  return numbers;
}

function repeated(count: number, data: Float32Array): Float32Array {
  const all = new Float32Array(count * data.length);
  for (let index = 0; index < count; index++) all.set(data, index * data.length);
  return all;
}
