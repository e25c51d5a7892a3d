import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../domain/random.ts";
import { KvCache, laneBytes } from "./kv-cache.ts";
import { positionBytes, roundUpSlots, type KvLane } from "./kv-lane.ts";
import type { ModelShape } from "../model-shape.ts";
import { searchSeeds } from "../../domain/testing/search.ts";

const shape: ModelShape = {
  layerCount: 2,
  kvHeadCount: 3,
  headSize: 4,
  vocabularySize: 8,
  contextLength: 1024,
};

/** Entries whose every number says what it belongs to. */
const fill = (lane: KvLane, slot: number, mark: number, count: number): void => {
  const size = shape.kvHeadCount * count * shape.headSize;
  for (let layer = 0; layer < shape.layerCount; layer++) {
    const keys = Float32Array.from({ length: size }, (_, index) => mark * 1000 + layer * 500 + index);
    lane.write(
      layer,
      slot,
      { row: 0, start: 0, count },
      { keys, values: keys.map((value) => -value), positionCount: count },
    );
  }
  lane.advance(slot, count);
};

const check = (lane: KvLane, slot: number, mark: number, count: number): void => {
  assert.equal(lane.lengths[slot], count);
  const { kvHeadCount, headSize } = shape;
  for (let layer = 0; layer < shape.layerCount; layer++) {
    const keys = lane.keys(layer, slot, 1);
    const values = lane.values(layer, slot, 1);
    for (let index = 0; index < kvHeadCount * count * headSize; index++) {
      const head = Math.floor(index / (count * headSize));
      const place = head * lane.capacity * headSize + (index % (count * headSize));
      assert.equal(keys[place], mark * 1000 + layer * 500 + index);
      assert.equal(values[place], -(mark * 1000 + layer * 500 + index));
    }
  }
};

test("keeps what slots hold when the lane grows, and when it shrinks again", () => {
  const cache = new KvCache(shape, 2 ** 30);
  const lane = cache.openLane();
  cache.ensure(lane, 1, 10, 900);
  fill(lane, lane.takeSlot(), 1, 10);
  cache.ensure(lane, 3, 20, 900);
  fill(lane, lane.takeSlot(), 2, 20);
  fill(lane, lane.takeSlot(), 3, 5);
  cache.ensure(lane, 3, 600, 900);
  assert.ok(lane.capacity >= 600 && lane.capacity <= 960);
  check(lane, 0, 1, 10);
  check(lane, 1, 2, 20);
  check(lane, 2, 3, 5);
  cache.relax(lane, 0, 900);
  assert.equal(lane.capacity, 64);
  check(lane, 1, 2, 20);
});

test("swaps and copies whole slots", () => {
  const cache = new KvCache(shape, 2 ** 30);
  const lane = cache.openLane();
  cache.ensure(lane, 4, 30, 64);
  for (const [mark, count] of [
    [1, 10],
    [2, 30],
    [3, 20],
  ]) {
    fill(lane, lane.takeSlot(), mark, count);
  }
  lane.swapSlots(0, 2);
  check(lane, 0, 3, 20);
  check(lane, 2, 1, 10);
  lane.copySlot(1, 0);
  check(lane, 0, 2, 30);
  check(lane, 1, 2, 30);
  const empty = lane.takeSlot();
  lane.swapSlots(empty, 2);
  check(lane, empty, 1, 10);
  lane.swapSlots(empty, 2);
  check(lane, 2, 1, 10);
  assert.deepEqual(lane.lengths, [30, 30, 10, 0]);
});

test("writes the real positions of padded rows", () => {
  const cache = new KvCache(shape, 2 ** 30);
  const lane = cache.openLane();
  cache.ensure(lane, 1, 8, 64);
  const slot = lane.takeSlot();
  const { kvHeadCount, headSize } = shape;
  // Row 1 of two, with 5 positions of which 3 are real.
  const keys = Float32Array.from({ length: 2 * kvHeadCount * 5 * headSize }, (_, index) => index);
  lane.write(0, slot, { row: 1, start: 0, count: 3 }, { keys, values: keys, positionCount: 5 });
  lane.advance(slot, 3);
  for (let head = 0; head < kvHeadCount; head++) {
    const start = head * lane.capacity * headSize;
    const from = (kvHeadCount + head) * 5 * headSize;
    assert.deepEqual(
      lane.keys(0, slot, 1).slice(start, start + 4 * headSize),
      Float32Array.from([...keys.slice(from, from + 3 * headSize), 0, 0, 0, 0]),
    );
  }
});

test("never holds more than the reservations that were made", () => {
  for (const seed of searchSeeds(10)) {
    const random = seededRandom("kv cache", seed);
    const bytesMax = 40 * 256 * positionBytes(shape);
    const cache = new KvCache(shape, bytesMax);
    const lanes = [cache.openLane(), cache.openLane()].map((lane) => ({ lane, max: 1 }));
    for (let step = 0; step < 60; step++) {
      const entry = lanes[random.index(2)];
      const { lane } = entry;
      if (random.uniform() < 0.5 && lane.usedCount > 0) {
        lane.dropLastSlot();
        cache.relax(lane, 0, entry.max);
        continue;
      }
      const max = Math.max(lane.usedCount === 0 ? 1 : entry.max, 1 + random.index(512));
      const reserved = lanes.reduce(
        (sum, other) =>
          sum +
          (other === entry
            ? laneBytes(lane.usedCount + 1, max, positionBytes(shape))
            : laneBytes(other.lane.usedCount, other.max, positionBytes(shape))),
        0,
      );
      if (reserved > bytesMax) continue;
      entry.max = max;
      const count = 1 + random.index(max);
      cache.ensure(lane, lane.usedCount + 1, count, max);
      lane.advance(lane.takeSlot(), count);
      assert.ok(cache.bytes <= bytesMax, `seed ${seed}: ${cache.bytes} of ${bytesMax}`);
    }
  }
});

test("a lane doubles while rows come one by one, and grows by what they need where memory ends", () => {
  const cache = new KvCache(shape, 96 * 64 * positionBytes(shape));
  const lane = cache.openLane();
  const slotCapacities = Array.from({ length: 96 }, (_, row) => {
    cache.ensure(lane, row + 1, 1, 64);
    fill(lane, lane.takeSlot(), row, 1);
    return lane.slotCapacity;
  });
  assert.deepEqual([...new Set(slotCapacities)], [1, 2, 4, 8, 16, 32, 64, 72, 80, 88, 96]);
  for (const row of [0, 31, 64, 95]) check(lane, row, row, 1);
});

test("gives slots back once few have been needed for long, and positions at once unless prompts will fill them", () => {
  const cache = new KvCache(shape, 2 ** 30);
  const lane = cache.openLane();
  cache.ensure(lane, 32, 600, 900);
  fill(lane, lane.takeSlot(), 1, 10);
  cache.relax(lane, 590, 900);
  assert.deepEqual([lane.slotCapacity, lane.capacity], [32, 768]);
  cache.relax(lane, 0, 900);
  assert.deepEqual([lane.slotCapacity, lane.capacity], [32, 64]);
  let steps = 2;
  while (lane.slotCapacity === 32 && steps < 1000) {
    cache.relax(lane, 0, 900);
    steps += 1;
  }
  assert.deepEqual([lane.slotCapacity, steps], [1, 64]);
  check(lane, 0, 1, 10);
  cache.ensure(lane, 32, 10, 900);
  for (let step = 0; step < 200; step++) {
    const isBusy = step % 50 === 0;
    while (lane.usedCount < (isBusy ? 9 : 1)) lane.takeSlot();
    while (lane.usedCount > (isBusy ? 9 : 1)) lane.dropLastSlot();
    cache.relax(lane, 0, 900);
  }
  assert.equal(lane.slotCapacity, 32, "short answers come and go");
});

test("rounds slots up to sizes that a slab can have", () => {
  assert.deepEqual([1, 2, 3, 8, 9, 16, 17].map(roundUpSlots), [1, 2, 4, 8, 16, 16, 24]);
});
