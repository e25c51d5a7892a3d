import assert from "node:assert/strict";
import { test } from "node:test";
import { choosePreempted, planAdmissions, slotsThatFit } from "./scheduler.ts";
import type { LaneLoad, SlotHolder, StepBudget } from "./slot-holder.ts";
import { smallBudget as budget } from "../testing/step-budget.ts";

/** A prompt that the tests identify by a number. */
interface NamedPrompt extends SlotHolder {
  readonly name: number;
}

const prompt = (name: number, tokenCount: number, more: Partial<NamedPrompt> = {}): NamedPrompt => ({
  name,
  owner: "",
  laneId: "a",
  slotCount: 1,
  positionCountMax: tokenCount + 20,
  priority: 0,
  arrival: name,
  ...more,
});

const lane = (laneId: string, slotCount: number): LaneLoad => ({
  laneId,
  slotCount,
  positionCountMax: 64,
  decodingCount: slotCount,
});

/** Checks which of the waiting prompts are admitted, by their numbers. */
const check = (
  waiting: readonly NamedPrompt[],
  lanes: readonly LaneLoad[],
  expected: readonly number[],
  more: Partial<StepBudget> = {},
  running: readonly NamedPrompt[] = [],
): void => {
  const admitted = planAdmissions(waiting, { lanes, running }, { ...budget, ...more });
  assert.deepEqual(
    admitted.map(({ name }) => name),
    expected,
  );
};

test("starts nothing if nothing waits", () => check([], [], []));

test("starts everything that fits, in any lanes", () => {
  check([prompt(1, 10), prompt(2, 9), prompt(3, 3)], [], [1, 2, 3]);
  check([prompt(1, 10, { laneId: "b" }), prompt(2, 10)], [lane("a", 2), lane("c", 1)], [1, 2]);
});

test("nothing overtakes the oldest prompt that does not fit", () => {
  check([prompt(1, 10, { slotCount: 4 }), prompt(2, 10)], [lane("a", 6)], []);
});

test("admits only prompts whose memory can be reserved", () => {
  // A slot takes 64 positions of 10 bytes, so two slots take 1280 bytes and three take 1920.
  const three = [prompt(1, 10), prompt(2, 10), prompt(3, 10)];
  check(three, [], [1, 2], { kvCacheBytesMax: 1919 });
  check(three, [], [1, 2, 3], { kvCacheBytesMax: 1920 });
});

test("the owner who holds least is next, regardless of arrival", () => {
  const many = [1, 2, 3, 4, 5, 6].map((name) => prompt(name, 10, { owner: "a" }));
  const few = [prompt(7, 10, { owner: "b" }), prompt(8, 10, { owner: "b" })];
  check([...many, ...few], [], [1, 7, 2, 8, 3], { slotCountMax: 5 });
  const running = [prompt(0, 10, { owner: "b", slotCount: 3 })];
  check([...many, ...few], [lane("a", 3)], [1, 2, 3, 4, 7], {}, running);
  const better = prompt(9, 10, { owner: "a", priority: -1 });
  check([better, ...many, ...few], [], [9, 7, 1], { slotCountMax: 3 });
});

test("memory counts like slots, whichever share is larger", () => {
  // Owner a has a quarter of the memory, and owner b an eighth of the slots.
  const running = [prompt(0, 10, { owner: "a", positionCountMax: 2500 }), prompt(1, 10, { owner: "b" })];
  check([prompt(2, 10, { owner: "a" }), prompt(3, 10, { owner: "b" })], [lane("a", 2)], [3, 2], {}, running);
});

test("nothing of any owner overtakes the prompt whose turn it is", () => {
  check([prompt(1, 10, { owner: "a" }), prompt(2, 10, { owner: "b", slotCount: 9 })], [], [1]);
  check([prompt(1, 10, { owner: "a", slotCount: 9 }), prompt(2, 10, { owner: "b" })], [], []);
});

test("says how many choices fit at the same time", () => {
  assert.equal(
    slotsThatFit(64, { slotCountMax: 8, kvCacheBytesMax: 640 * 4, bytesPerPosition: 10, bytesPerSlot: 0 }),
    4,
  );
  assert.equal(
    slotsThatFit(64, { slotCountMax: 3, kvCacheBytesMax: 640 * 4, bytesPerPosition: 10, bytesPerSlot: 0 }),
    3,
  );
  assert.equal(
    slotsThatFit(65, { slotCountMax: 3, kvCacheBytesMax: 1279, bytesPerPosition: 10, bytesPerSlot: 0 }),
    0,
  );
});

/** Checks which holders are preempted for the waiting prompts, by their numbers in the order of `running`. */
const checkPreempted = (
  waiting: readonly NamedPrompt[],
  running: readonly NamedPrompt[],
  expected: readonly number[],
  more: Partial<StepBudget> = {},
): void => {
  const chosen = choosePreempted(waiting, running, { ...budget, ...more });
  assert.deepEqual(
    chosen.map(({ name }) => name),
    expected,
  );
};

test("preempts nothing for a prompt without better priority, nor if there is room", () => {
  const running = [prompt(1, 10, { slotCount: 7, priority: 1 })];
  checkPreempted([], running, []);
  checkPreempted([prompt(2, 10)], running, []);
  checkPreempted([prompt(2, 10, { slotCount: 2, priority: 1 })], running, []);
  checkPreempted([prompt(2, 10, { slotCount: 2, priority: 3 })], running, []);
});

test("preempts the last of the worst priority first, and no more than needed", () => {
  const running = [
    prompt(1, 10, { slotCount: 2, priority: 2 }),
    prompt(2, 10, { slotCount: 2, priority: 1 }),
    prompt(3, 10, { slotCount: 2, priority: 2 }),
    prompt(4, 10, { slotCount: 2, priority: 0 }),
  ];
  checkPreempted([prompt(5, 10)], running, [3]);
  checkPreempted([prompt(5, 10, { slotCount: 3 })], running, [1, 3]);
  checkPreempted([prompt(5, 10, { slotCount: 6 })], running, [1, 2, 3]);
  checkPreempted([prompt(5, 10, { slotCount: 7 })], running, []);
});

test("preempts nothing if that makes no room, and no holder that frees nothing needed", () => {
  // A slot takes 64 positions of 10 bytes, but in the lanes a and c it takes three times as many positions.
  const tight = { kvCacheBytesMax: 7 * 640 };
  const inLane = (name: number, laneId: string, priority: number) =>
    prompt(name, laneId === "b" ? 10 : 128, { laneId, priority });
  const running = [
    inLane(1, "a", 2),
    inLane(2, "b", 1),
    inLane(3, "b", 1),
    inLane(4, "b", 3),
    inLane(5, "b", 1),
  ];
  checkPreempted([inLane(6, "c", 0)], running, [1], tight);
  checkPreempted([inLane(6, "c", 2)], running, [], tight);
  checkPreempted([inLane(6, "a", 1)], running, [1], tight);
  checkPreempted([{ ...inLane(6, "c", 0), slotCount: 6 }], running, [], tight);
});

test("a newcomer gets room from the last prompts of an owner who holds much, until both hold as much", () => {
  const running = [1, 2, 3, 4, 5, 6, 7, 8].map((name) => prompt(name, 10, { owner: "a" }));
  const waiting = [9, 10, 11, 12, 13].map((name) => prompt(name, 10, { owner: "b" }));
  checkPreempted(waiting.slice(0, 1), running, [8]);
  checkPreempted(waiting, running, [5, 6, 7, 8]);
  checkPreempted([prompt(9, 10, { owner: "b", slotCount: 4 })], running, [5, 6, 7, 8]);
  checkPreempted([prompt(9, 10, { owner: "b", slotCount: 5 })], running, []);
  // The owner of the running prompts also has a prompt that has waited longer, but it is not that owner's turn.
  checkPreempted([prompt(0, 10, { owner: "a" }), ...waiting.slice(0, 1)], running, [8]);
  checkPreempted([prompt(0, 10, { owner: "a" })], running, []);
});

test("preempts no owner who holds as little, and no better priority", () => {
  const [a, b, c] = ["a", "b", "c"].map((owner) => prompt(1, 10, { owner, slotCount: 4 }));
  checkPreempted([prompt(9, 10, { owner: "c", slotCount: 4 })], [a, b], []);
  checkPreempted([prompt(9, 10, { owner: "c" })], [a, b], []);
  checkPreempted([prompt(9, 10, { owner: "a" })], [b, c], []);
  const better = [1, 2, 3, 4, 5, 6, 7, 8].map((name) => prompt(name, 10, { owner: "a", priority: -1 }));
  checkPreempted([prompt(9, 10, { owner: "b" })], better, []);
});

test("makes room for several waiting prompts in their order", () => {
  const running = [1, 2, 3, 4].map((name) => prompt(name, 10, { slotCount: 2, priority: 5 }));
  const waiting = [
    prompt(5, 10, { slotCount: 2, priority: 1 }),
    prompt(6, 10, { slotCount: 3, priority: 2 }),
    prompt(7, 10, { slotCount: 4, priority: 3 }),
    prompt(8, 10, { slotCount: 1, priority: 4 }),
  ];
  checkPreempted(waiting.slice(0, 1), running, [4]);
  checkPreempted(waiting.slice(0, 2), running, [2, 3, 4]);
  // The third prompt does not fit together with the first two, so nothing is preempted for the fourth, although the
  // fourth would fit.
  checkPreempted(waiting, running, [2, 3, 4]);
});
