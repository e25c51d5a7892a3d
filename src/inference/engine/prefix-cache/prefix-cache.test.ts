import assert from "node:assert/strict";
import { test } from "node:test";
import { KvLane } from "../cache/kv-lane.ts";
import { positionBytes } from "../cache/slab.ts";
import type { ModelShape } from "../model-shape.ts";
import { PrefixCache } from "./prefix-cache.ts";

const shape: ModelShape = {
  caches: [
    { kvHeadCount: 3, headSize: 2 },
    { kvHeadCount: 1, headSize: 6 },
  ],
  states: [],
  vocabularySize: 8,
  contextLength: 1024,
};

const tokenIds = Array.from({ length: 100 }, (_, index) => index);
const prompt = { scope: "a", tokenIds };
const bytesOf = (positionCount: number): number => positionCount * positionBytes(shape);

/** Returns the number that the tests store as the key at a place. They store its negative as the value. */
const keyOf = (place: { layer: number; head: number; position: number; index: number }): number =>
  10_000 * place.layer + 1000 * place.head + 2 * place.position + place.index;

/** Creates a lane with two slots. The second slot holds the first `count` positions of the prompt. */
const laneWith = (capacity: number, count: number): KvLane => {
  const lane = new KvLane(shape);
  lane.reshape(2, capacity);
  lane.takeSlot();
  const slot = lane.takeSlot();
  for (const [layer, { kvHeadCount, headSize }] of shape.caches.entries()) {
    const keys = Float32Array.from({ length: kvHeadCount * count * headSize }, (_, at) => {
      const [head, inHead] = [Math.floor(at / (count * headSize)), at % (count * headSize)];
      return keyOf({ layer, head, position: Math.floor(inHead / headSize), index: inHead % headSize });
    });
    const values = keys.map((key) => -key);
    lane.write(layer, slot, { row: 0, start: 0, count }, { keys, values, positionCount: count });
  }
  lane.advance(slot, count);
  return lane;
};

/**
 * Reads the prompt from the cache into a slot that holds its first `held.count` positions. Checks that the slot then
 * holds `expected` positions with the right numbers.
 */
const checkRead = (
  cache: PrefixCache,
  held: { readonly count: number; readonly of: number },
  expected: number,
): void => {
  const lane = laneWith(192, held.count);
  assert.equal(cache.read(prompt, held.of, { lane, slot: 1 }), expected - held.count);
  assert.equal(lane.lengths[1], expected);
  for (const [layer, { kvHeadCount, headSize }] of shape.caches.entries()) {
    const [keys, values] = [lane.keys(layer, 1, 1), lane.values(layer, 1, 1)];
    for (let head = 0; head < kvHeadCount; head++) {
      for (let at = 0; at < expected * headSize; at++) {
        const [position, index] = [Math.floor(at / headSize), at % headSize];
        const place = head * lane.capacity * headSize + at;
        const key = keyOf({ layer, head, position, index });
        assert.deepEqual([keys[place], values[place]], [key, -key], `layer ${layer}, head ${head}`);
      }
    }
  }
};

test("entries of one slot can be read into another of any capacity, after that one's contents", () => {
  const cache = new PrefixCache(shape, bytesOf(1000));
  cache.keep(prompt, 45, { lane: laneWith(64, 45), slot: 1 });
  cache.keep(prompt, 80, { lane: laneWith(128, 90), slot: 1 });
  assert.equal(cache.countCached(prompt, 100).readable, 80);
  checkRead(cache, { count: 0, of: 100 }, 80);
  checkRead(cache, { count: 0, of: 70 }, 70);
  checkRead(cache, { count: 50, of: 100 }, 80);
  checkRead(cache, { count: 80, of: 100 }, 80);
});

test("takes memory as needed, within its limit, and gives it back", () => {
  const cache = new PrefixCache(shape, bytesOf(70));
  assert.deepEqual([cache.bytes, cache.positionCountMax], [0, 64]);
  cache.keep(prompt, 10, { lane: laneWith(128, 100), slot: 1 });
  assert.equal(cache.bytes, bytesOf(32));
  cache.keep(prompt, 100, { lane: laneWith(128, 100), slot: 1 });
  assert.deepEqual([cache.bytes, cache.countCached(prompt, 100).readable], [bytesOf(64), 64]);
  cache.limit(bytesOf(63));
  assert.deepEqual([cache.bytes, cache.countCached(prompt, 100).readable], [bytesOf(32), 32]);
  cache.limit(-1);
  assert.deepEqual([cache.bytes, cache.positionCountMax], [0, 0]);
  cache.limit(bytesOf(1000));
  assert.equal(cache.positionCountMax, 64);
});
