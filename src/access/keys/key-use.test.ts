import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../base/domain/testing/fake-clock.ts";
import { createKeyUse } from "./key-use.ts";

function keyUse(fail: () => boolean = () => false) {
  const clock = new FakeClock();
  const written: string[] = [];
  const faults: unknown[] = [];
  const use = createKeyUse({
    keys: {
      markUsed: async (ids, at) => {
        if (fail()) throw new Error("the database is away");
        written.push(`${[...ids].toSorted().join(" ")} at ${at.getTime() - start}`);
      },
    },
    clock,
    onFault: (error) => void faults.push(error),
  });
  const start = clock.now().getTime();
  return { clock, use, written, faults };
}

test("writes simultaneous uses once, after the requests, and again a minute later", async () => {
  const { clock, use, written } = keyUse();
  for (let index = 0; index < 100; index++) use.note(index % 2 === 0 ? "a" : "b");
  assert.deepEqual(written, []);
  await clock.advance(1000);
  assert.deepEqual(written, ["a b at 1000"]);
  use.note("a");
  await clock.advance(30_000);
  use.note("a");
  await clock.advance(28_999);
  assert.equal(written.length, 1);
  await clock.advance(1);
  use.note("a");
  await clock.advance(1000);
  assert.deepEqual(written, ["a b at 1000", "a at 61000"]);
  await use.stop();
});

test("writes noted uses on stop", async () => {
  const { use, written } = keyUse();
  use.note("a");
  await use.stop();
  assert.deepEqual(written, ["a at 0"]);
});

test("retries a failed write at the next request", async () => {
  let isAway = true;
  const { clock, use, written, faults } = keyUse(() => isAway);
  use.note("a");
  await clock.advance(1000);
  assert.equal(faults.length, 1);
  isAway = false;
  use.note("a");
  await clock.advance(1000);
  assert.deepEqual(written, ["a at 2000"]);
  await use.stop();
});
