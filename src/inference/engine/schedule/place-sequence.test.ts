import assert from "node:assert/strict";
import { test } from "node:test";
import { placeSequence, type LaneState, type PlacedNeed } from "./place-sequence.ts";

const costs = { second: 1000, call: 8000, copiedCountMax: 600 };

const lane = (slotCount: number, capacity: number, more: Partial<LaneState> = {}): LaneState => ({
  slotCount,
  capacity,
  heldCount: 0,
  positionCountMax: 2048,
  ...more,
});

const check = (
  positionCount: number,
  lanes: readonly LaneState[],
  place: number | null,
  more: Partial<PlacedNeed> = {},
) =>
  assert.equal(
    placeSequence({ slotCount: 1, positionCount, positionCountMax: 2048, ...more }, lanes, costs),
    place,
  );

test("sequences of like length share a lane", () => {
  check(50, [], null);
  check(50, [lane(3, 128)], 0);
  check(200, [lane(1, 128)], 0);
});

test("a long one among short ones has a lane of its own, and so have short ones beside a long one", () => {
  check(1000, [lane(15, 320)], null);
  check(100, [lane(1, 1280)], null);
  check(100, [lane(1, 1280), lane(3, 192)], 1);
  check(1000, [lane(3, 192), lane(1, 1280)], 1);
});

test("a third lane has to save a call", () => {
  check(500, [lane(15, 320), lane(1, 1280)], 1);
  check(500, [lane(15, 320), lane(1, 6400)], null);
});

test("a lane whose rows hold much is not copied for one that comes", () => {
  check(400, [lane(1, 320, { heldCount: 300 })], 0);
  check(400, [lane(1, 320, { heldCount: 900 })], null);
});

test("no place takes more memory than the first, with all that was promised", () => {
  const [short, long] = [lane(4, 128, { positionCountMax: 128 }), lane(4, 1280)];
  check(100, [long, short], 1, { positionCountMax: 128 });
  check(900, [short, long], 1);
  // In the first lane it would take 2048 positions, as in the second: but beside long ones it is promised as much as they.
  check(100, [short, lane(1, 128)], 0, { positionCountMax: 100 });
});
