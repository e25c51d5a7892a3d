import assert from "node:assert/strict";
import { test } from "node:test";
import { placeSequence, type LaneState, type SlotRequest } from "./place-sequence.ts";

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
  more: Partial<SlotRequest> = {},
) =>
  assert.equal(
    placeSequence({ slotCount: 1, positionCount, positionCountMax: 2048, ...more }, lanes, costs),
    place,
  );

test("sequences of similar length share a lane", () => {
  check(50, [], null);
  check(50, [lane(3, 128)], 0);
  check(200, [lane(1, 128)], 0);
});

test("a long sequence among short ones gets a separate lane, and so do short ones among long ones", () => {
  check(1000, [lane(15, 320)], null);
  check(100, [lane(1, 1280)], null);
  check(100, [lane(1, 1280), lane(3, 192)], 1);
  check(1000, [lane(3, 192), lane(1, 1280)], 1);
});

test("a third lane must save a call", () => {
  check(500, [lane(15, 320), lane(1, 1280)], 1);
  check(500, [lane(15, 320), lane(1, 6400)], null);
});

test("a lane with much content is not copied for a new sequence", () => {
  check(400, [lane(1, 320, { heldCount: 300 })], 0);
  check(400, [lane(1, 320, { heldCount: 900 })], null);
});

test("no lane takes more memory than the first, including all reservations", () => {
  const [short, long] = [lane(4, 128, { positionCountMax: 128 }), lane(4, 1280)];
  check(100, [long, short], 1, { positionCountMax: 128 });
  check(900, [short, long], 1);
  // The sequence would take 2048 positions in either lane: next to long rows, its reservation becomes as long as
  // theirs.
  check(100, [short, lane(1, 128)], 0, { positionCountMax: 100 });
});
