import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../base/domain/random.ts";
import { remainingAt, secondsUntil, usedAt, type Window } from "./rate-window.ts";

test("counts a slot fully while it lies within the minute, and then by the remaining share", () => {
  const window: Window = new Map([
    [0, 40],
    [3, 10],
  ]);
  assert.equal(usedAt(window, 35), 50);
  assert.equal(usedAt(window, 60), 50);
  assert.equal(usedAt(window, 65), 30);
  assert.equal(usedAt(window, 70), 10);
  assert.equal(usedAt(window, 100), 0);
  assert.equal(remainingAt(window, 65, 33.5), 3);
  assert.equal(remainingAt(window, 60, 33), 0);
});

test("admits in no minute more than the limit plus the part that one slot hides", () => {
  const random = seededRandom(11);
  const [limit, slotCount] = [60, 10];
  const window = new Map<number, number>();
  const passed: number[] = [];
  for (let seconds = 0; seconds < 1200; seconds += random.uniform()) {
    if (remainingAt(window, seconds, limit) < 1) continue;
    const slot = Math.floor(seconds / 10);
    window.set(slot, (window.get(slot) ?? 0) + 1);
    passed.push(seconds);
  }
  const most = Math.max(
    ...passed.map((start) => passed.filter((at) => at >= start && at < start + 60).length),
  );
  assert.ok(most >= limit && most <= limit + slotCount, String(most));
});

test("announces exactly the time at which the count falls to the given number", () => {
  const random = seededRandom(7);
  let waited = 0;
  for (let round = 0; round < 2000; round++) {
    const now = 1000 + random.uniform() * 60;
    const slots = Array.from({ length: 8 }, (_, index) => Math.floor(now / 10) - index);
    const window = new Map(slots.map((slot) => [slot, Math.floor(random.uniform() * 20)]));
    const used = Math.floor(random.uniform() * 80);
    const seconds = secondsUntil(window, now, used);
    const about = JSON.stringify({ round, window: [...window], now, used, seconds });
    assert.ok(usedAt(window, now + seconds + 1e-6) <= used + 1e-6, about);
    if (seconds > 0) {
      waited += 1;
      assert.ok(usedAt(window, now + seconds - 1e-3) > used, about);
    }
  }
  assert.ok(waited > 500, String(waited));
});
