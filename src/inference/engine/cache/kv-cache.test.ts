import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../base/domain/random.ts";
import { KvCache, laneBytes } from "./kv-cache.ts";
import type { KvLane } from "./kv-lane.ts";
import { positionBytes } from "./slab.ts";
import type { ModelShape } from "../model-shape.ts";
import { searchSeeds } from "../../../base/domain/testing/search.ts";

const shape: ModelShape = {
  caches: [
    { kvHeadCount: 3, headSize: 4 },
    { kvHeadCount: 2, headSize: 6 },
  ],
  states: [],
  vocabularySize: 8,
  contextLength: 1024,
};

const slotBytes = { bytesPerPosition: positionBytes(shape), bytesPerSlot: 0 };

/** Fills a slot with entries whose numbers identify their position. */
const fill = (lane: KvLane, slot: number, mark: number, count: number): void => {
  for (const [layer, { kvHeadCount, headSize }] of shape.caches.entries()) {
    const size = kvHeadCount * count * headSize;
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
  for (const [layer, { kvHeadCount, headSize }] of shape.caches.entries()) {
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

const cacheOf = (bytesMax = 2 ** 30): KvCache => new KvCache(shape, { bytesMax, slotCountMax: 128 });

/** Returns the number of the lane's slots that take memory. */
const writtenSlots = ({ writtenCount, capacity }: KvLane): number => writtenCount / capacity;

test("keeps the contents of slots when the lane grows and when it shrinks again", () => {
  const cache = cacheOf();
  const lane = cache.openLane("base");
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
  cache.shrinkLanes(() => ({ positionCount: 0, positionCountMax: 900 }));
  assert.equal(lane.capacity, 64);
  check(lane, 0, 1, 10);
  check(lane, 1, 2, 20);
  check(lane, 2, 3, 5);
});

test("a lane keeps its contents while its slots and its capacity change in any way", () => {
  let [movedCount, shrunkCount] = [0, 0];
  for (const seed of searchSeeds(8)) {
    const random = seededRandom("capacities", seed);
    const cache = cacheOf(random.index(2) === 0 ? 2 ** 30 : 16 * 1024 * positionBytes(shape));
    const lane = cache.openLane("base");
    const marks: number[] = [];
    for (let step = 0; step < 80; step++) {
      const { capacity } = lane;
      const { buffer } = lane.keys(0, 0, 0);
      const [one, other] = [random.index(Math.max(1, marks.length)), random.index(Math.max(1, marks.length))];
      const action = marks.length === 0 ? 0 : random.index(6);
      const count = 1 + random.index(random.index(4) === 0 ? 1024 : 200);
      if (action === 0 && marks.length < 12) {
        cache.ensure(lane, lane.usedCount + 1, count, 1024);
        fill(lane, lane.takeSlot(), step, count);
        marks.push(step);
      } else if (action === 1) {
        lane.swapSlots(one, other);
        [marks[one], marks[other]] = [marks[other], marks[one]];
      } else if (action === 2) {
        lane.copySlot(one, other);
        marks[other] = marks[one];
      } else if (action === 3) {
        lane.dropLastSlot();
        marks.pop();
      } else if (action === 4) {
        // Empties the slot and fills it again with other numbers, up to another length.
        lane.advance(one, -lane.lengths[one]);
        cache.ensure(lane, lane.usedCount, count, 1024);
        fill(lane, one, step, count);
        marks[one] = step;
      } else {
        cache.shrinkLanes(() => ({ positionCount: 0, positionCountMax: 1024 }));
      }
      if (lane.capacity > capacity && lane.keys(0, 0, 0).buffer === buffer) movedCount += 1;
      if (lane.capacity < capacity) shrunkCount += 1;
      marks.forEach((mark, slot) => check(lane, slot, mark, lane.lengths[slot]));
    }
  }
  assert.ok(movedCount > 0 && shrunkCount > 0);
});

test("long rows grow within the memory that the lane has", () => {
  const cache = cacheOf(2 ** 26);
  const lane = cache.openLane("base");
  // The keys of a layer take more than a megabyte.
  cache.ensure(lane, 100, 256, 1024);
  for (let slot = 0; slot < 100; slot++) fill(lane, lane.takeSlot(), slot, 256);
  const { buffer } = lane.keys(0, 0, 1);
  cache.ensure(lane, 100, 600, 1024);
  assert.equal(lane.keys(0, 0, 1).buffer, buffer);
  assert.equal(cache.bytes, 100 * lane.capacity * positionBytes(shape));
  for (const slot of [0, 57, 99]) check(lane, slot, slot, 256);
});

test("reserves only what a lane needs if the system refuses more address space", () => {
  const cache = new KvCache({ ...shape, contextLength: 2 ** 40 }, { bytesMax: 2 ** 60, slotCountMax: 128 });
  const lane = cache.openLane("base");
  cache.ensure(lane, 100, 256, 256);
  assert.equal(lane.positionRoom, 100 * 256);
});

test("swaps and copies whole slots", () => {
  const cache = cacheOf();
  const lane = cache.openLane("base");
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

test("writes only the real positions of padded rows", () => {
  const cache = cacheOf();
  const lane = cache.openLane("base");
  cache.ensure(lane, 1, 8, 64);
  const slot = lane.takeSlot();
  const [{ kvHeadCount, headSize }] = shape.caches;
  // `keys` holds two rows of 5 positions. The test writes row 1, of which the first 3 positions are real and the others
  // are padding.
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

test("never holds more than the reservations", () => {
  for (const seed of searchSeeds(10)) {
    const random = seededRandom("kv cache", seed);
    const bytesMax = 40 * 256 * positionBytes(shape);
    const cache = cacheOf(bytesMax);
    const lanes = [cache.openLane("base"), cache.openLane("base")].map((lane) => ({ lane, max: 1 }));
    for (let step = 0; step < 60; step++) {
      const entry = lanes[random.index(2)];
      const { lane } = entry;
      if (random.uniform() < 0.5 && lane.usedCount > 0) {
        lane.dropLastSlot();
        cache.shrinkLanes((kv) => ({
          positionCount: 0,
          positionCountMax: lanes.find((each) => each.lane === kv)?.max ?? 0,
        }));
        continue;
      }
      const max = Math.max(lane.usedCount === 0 ? 1 : entry.max, 1 + random.index(512));
      const reserved = lanes.reduce(
        (sum, other) =>
          sum +
          (other === entry
            ? laneBytes(lane.usedCount + 1, max, slotBytes)
            : laneBytes(other.lane.usedCount, other.max, slotBytes)),
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

test("rows that come one at a time copy few others, and get their room up to the memory limit", () => {
  const cache = cacheOf(96 * 64 * positionBytes(shape));
  const lane = cache.openLane("base");
  const slotRooms = Array.from({ length: 96 }, (_, row) => {
    cache.ensure(lane, row + 1, 1, 64);
    fill(lane, lane.takeSlot(), row, 1);
    return lane.slotRoom;
  });
  assert.deepEqual([...new Set(slotRooms)], [1, 2, 4, 8, 16, 32, 64, 96]);
  for (const row of [0, 31, 64, 95]) check(lane, row, row, 1);
});

test("gives memory back after little has been needed for long, and positions unless prompts will fill them", () => {
  const cache = cacheOf();
  const lane = cache.openLane("base");
  const shrink = (positionCount: number): void =>
    cache.shrinkLanes(() => ({ positionCount, positionCountMax: 900 }));
  const useOnce = (count: number): void => {
    cache.ensure(lane, count, 1, 900);
    while (lane.usedCount < count) lane.takeSlot();
    while (lane.usedCount > 1) lane.dropLastSlot();
  };
  cache.ensure(lane, 32, 600, 900);
  useOnce(32);
  fill(lane, 0, 1, 10);
  shrink(590);
  assert.deepEqual([writtenSlots(lane), lane.capacity], [32, 768]);
  shrink(0);
  assert.deepEqual([writtenSlots(lane), lane.capacity], [(32 * 768) / 64, 64]);
  let steps = 2;
  while (writtenSlots(lane) > 1 && steps < 1000) {
    shrink(0);
    steps += 1;
  }
  assert.deepEqual([writtenSlots(lane), steps], [1, 64]);
  check(lane, 0, 1, 10);
  useOnce(4);
  shrink(0);
  useOnce(3);
  for (let step = 0; step < 100; step++) shrink(0);
  assert.equal(writtenSlots(lane), 1, "a quarter is little");
  cache.ensure(lane, 3, 1, 900);
  while (lane.usedCount < 3) lane.takeSlot();
  while (lane.usedCount > 1) lane.dropLastSlot();
  for (let step = 0; step < 100; step++) shrink(0);
  assert.equal(writtenSlots(lane), 3, "a third is not");
});
