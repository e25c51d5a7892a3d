import assert from "node:assert/strict";
import { test } from "node:test";
import { KvCache } from "./kv-cache.ts";
import type { KvLane } from "./kv-lane.ts";
import { Slab } from "./slab.ts";
import { SpareSlabs } from "./spare-slabs.ts";

const shape = {
  caches: [
    { kvHeadCount: 3, headSize: 4 },
    { kvHeadCount: 3, headSize: 4 },
  ],
  states: [],
  vocabularySize: 8,
  contextLength: 1024,
};

const used = (slotRoom: number, capacity: number, slots: number): Slab => {
  const slab = new Slab(shape, slotRoom * capacity, capacity);
  slab.noteSlots(slots);
  return slab;
};

const fillSlots = (lane: KvLane, slots: number): void => {
  const entries = { keys: new Float32Array(12).fill(NaN), values: new Float32Array(12).fill(NaN) };
  for (let slot = 0; slot < slots; slot++) {
    lane.takeSlot();
    for (let layer = 0; layer < shape.caches.length; layer++)
      lane.write(layer, slot, { row: 0, start: 0, count: 1 }, { ...entries, positionCount: 1 });
    lane.advance(slot, 1);
  }
};

const empty = (lane: KvLane): void => {
  while (lane.usedCount > 0) lane.dropLastSlot();
};

test("a lane reuses the memory of an earlier one, without another owner's numbers in it", () => {
  const cache = new KvCache(shape, { bytesMax: 2 ** 30, slotCountMax: 128 });
  const first = cache.openLane("base");
  cache.ensure(first, 8, 64, 64);
  fillSlots(first, 8);
  const { buffer } = first.keys(0, 0, 1);
  empty(first);
  cache.closeLane(first);
  assert.equal(cache.bytes, 0);

  const second = cache.openLane("adapter");
  cache.ensure(second, 1, 64, 64);
  assert.equal(second.keys(0, 0, 1).buffer, buffer);
  assert.equal(second.slotRoom, 8, "no room is made anew as slots come");
  for (let slot = 0; slot < 8; slot++) second.takeSlot();
  for (let layer = 0; layer < shape.caches.length; layer++)
    for (const held of [second.keys(layer, 0, 8), second.values(layer, 0, 8)])
      assert.ok(held.every((value) => value === 0));

  const third = cache.openLane("base");
  cache.ensure(third, 8, 64, 64);
  assert.notEqual(third.keys(0, 0, 1).buffer, buffer);
});

test("counts memory that an earlier lane has written as the new lane's", () => {
  const cache = new KvCache(shape, { bytesMax: 2 ** 30, slotCountMax: 128 });
  const first = cache.openLane("base");
  cache.ensure(first, 8, 64, 64);
  fillSlots(first, 6);
  const { bytes } = cache;
  empty(first);
  cache.closeLane(first);
  const second = cache.openLane("base");
  cache.ensure(second, 1, 64, 64);
  assert.equal(cache.bytes, bytes);
});

test("frees spare slabs when a lane needs the room", () => {
  const slotBytes = 64 * 2 * 2 * 3 * 4 * 4;
  const cache = new KvCache(shape, { bytesMax: 10 * slotBytes, slotCountMax: 128 });
  const first = cache.openLane("base");
  cache.ensure(first, 8, 64, 64);
  fillSlots(first, 8);
  empty(first);
  cache.closeLane(first);
  const second = cache.openLane("base");
  cache.ensure(second, 3, 128, 128);
  for (let slot = 0; slot < 3; slot++) second.takeSlot();
  const third = cache.openLane("base");
  cache.ensure(third, 1, 64, 64);
  assert.equal(third.slotRoom, 1, "eight more slots than six would be too many");
});

test("keeps a slab that its lane has outgrown only if it is small", () => {
  for (const [slots, isKept] of [
    [8, true],
    [6000, false],
  ] as const) {
    // The system refuses the address space of all rows, so every slab has only the room that its lane needs.
    const limits = { bytesMax: 2 ** 60, slotCountMax: 2 ** 50 };
    const cache = new KvCache(shape, limits);
    const lane = cache.openLane("base");
    cache.ensure(lane, slots, 64, 128);
    fillSlots(lane, slots);
    const { buffer } = lane.keys(0, 0, 1);
    cache.ensure(lane, 2 * slots, 128, 128);
    assert.notEqual(lane.keys(0, 0, 1).buffer, buffer);
    assert.equal(cache.takeDroppedBytes() > 0, !isKept);
    const next = cache.openLane("base");
    cache.ensure(next, slots, 64, 128);
    assert.equal(next.keys(0, 0, 1).buffer === buffer, isKept);
  }
});

test("a lane takes no spare slab that it would leave mostly unused", () => {
  const cache = new KvCache(shape, { bytesMax: 2 ** 30, slotCountMax: 10_000 });
  const first = cache.openLane("base");
  cache.ensure(first, 3000, 64, 64);
  fillSlots(first, 3000);
  const { buffer } = first.keys(0, 0, 1);
  empty(first);
  cache.closeLane(first);
  const [small, large] = [cache.openLane("base"), cache.openLane("base")];
  cache.ensure(small, 700, 64, 64);
  assert.notEqual(small.keys(0, 0, 1).buffer, buffer);
  cache.ensure(large, 750, 64, 64);
  assert.equal(large.keys(0, 0, 1).buffer, buffer);
});

test("keeps only written slabs, the newest, up to its limit", () => {
  const { writtenBytes } = used(4, 64, 4);
  const spares = new SpareSlabs(2 * writtenBytes);
  const [old, middle, young] = [used(4, 64, 4), used(8, 64, 4), used(4, 64, 4)];
  for (const slab of [old, middle, young, used(16, 64, 0)]) spares.give(slab, "base");
  assert.equal(spares.bytes, 2 * writtenBytes);
  assert.equal(spares.take(9 * 64, Infinity, "base"), null);
  assert.equal(spares.take(64, 3 * 64, "base"), null);
  assert.equal(spares.take(4 * 64, 4 * 64, "base"), young);
  assert.equal(spares.take(4 * 64, 4 * 64, "base"), middle);
  assert.equal(spares.take(4 * 64, 4 * 64, "base"), null);
  spares.give(young, "base");
  spares.limit(0);
  assert.equal(spares.take(64, Infinity, "base"), null);
  assert.equal(spares.takeDroppedBytes(), 2 * writtenBytes, "the oldest slab and the last one");
  assert.equal(spares.takeDroppedBytes(), 0);
});

test("gives an owner its own slab before a newer one of another owner", () => {
  const spares = new SpareSlabs(2 ** 30);
  const [own, other] = [used(4, 64, 4), used(4, 64, 4)];
  for (const slab of [own, other]) slab.keys[0].fill(1);
  spares.give(own, "base");
  spares.give(other, "adapter");
  assert.equal(spares.take(4 * 64, Infinity, "base"), own);
  assert.equal(own.keys[0][0], 1, "an owner's own slab need not be cleared");
  assert.equal(spares.take(4 * 64, Infinity, "base"), other);
  assert.ok(other.keys[0].every((value) => value === 0));
});

test("clears a slab of another owner as far as it was written with any capacity", () => {
  const spares = new SpareSlabs(2 ** 30);
  const slab = used(4, 64, 4);
  for (const values of [...slab.keys, ...slab.values]) values.fill(NaN);
  slab.setCapacity(32, [20]);
  spares.give(slab, "base");
  assert.equal(spares.take(64, Infinity, "adapter"), slab);
  for (const values of [...slab.keys, ...slab.values]) assert.ok(values.every((value) => value === 0));
});
