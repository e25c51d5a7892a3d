import assert from "node:assert/strict";
import { test } from "node:test";
import { noUsage, type UsageRow } from "../../base/domain/keys/usage.ts";
import { FakeClock } from "../../base/domain/testing/fake-clock.ts";
import { createUsageMeter } from "./key-use.ts";

const by = { keyId: "k", entity: "acme", model: "tiny" };
const row = { ...noUsage, ...by, day: "2026-11-21" };

function meter(isAway: () => boolean = () => false) {
  const clock = new FakeClock();
  const added: (readonly UsageRow[])[] = [];
  const faults: unknown[] = [];
  const usage = createUsageMeter({
    store: {
      add: async (rows) => {
        if (isAway()) throw new Error("the database is away");
        added.push(rows);
      },
    },
    clock,
    onFault: (error) => void faults.push(error),
  });
  return { clock, usage, added, faults };
}

test("adds the usage of a few seconds together, one row per key and model", async () => {
  const { clock, usage, added } = meter();
  for (let index = 0; index < 10; index++) usage.count(by, { requests: 1, promptTokens: 7 });
  usage.count({ ...by, model: "acme/p/m" }, { requests: 1, completionTokens: 2 });
  assert.deepEqual(added, []);
  await clock.advance(5000);
  assert.deepEqual(added, [
    [
      { ...row, requests: 10, promptTokens: 70 },
      { ...row, model: "acme/p/m", requests: 1, completionTokens: 2 },
    ],
  ]);
  await clock.advance(60_000);
  assert.equal(added.length, 1);
  await usage.stop();
});

test("assigns usage around midnight to its day", async () => {
  const { clock, usage, added } = meter();
  await clock.advance(12 * 3_600_000 - 1);
  usage.count(by, { requests: 1 });
  await clock.advance(1);
  usage.count(by, { requests: 1 });
  await usage.stop();
  assert.deepEqual(
    added.flat().map(({ day, requests }) => [day, requests]),
    [
      ["2026-11-21", 1],
      ["2026-11-22", 1],
    ],
  );
});

test("adds counts once after a failed write, with later ones", async () => {
  let isAway = true;
  const { clock, usage, added, faults } = meter(() => isAway);
  usage.count(by, { requests: 1, trainingTokens: 5 });
  await clock.advance(11_000);
  assert.equal(faults.length, 2);
  usage.count(by, { requests: 2 });
  isAway = false;
  await clock.advance(5000);
  assert.deepEqual(added, [[{ ...row, requests: 3, trainingTokens: 5 }]]);
  await usage.stop();
});

test("adds counts on stop, and ends even if that fails", async () => {
  const { usage, added } = meter();
  usage.count(by, { requests: 1 });
  await usage.stop();
  assert.deepEqual(added, [[{ ...row, requests: 1 }]]);
  const gone = meter(() => true);
  gone.usage.count(by, { requests: 1 });
  await gone.usage.stop();
  assert.equal(gone.faults.length, 1);
});

test("adds many rows in several transactions", async () => {
  const { usage, added } = meter();
  for (let index = 0; index < 700; index++) usage.count({ ...by, keyId: `k${index}` }, { requests: 1 });
  await usage.stop();
  assert.deepEqual(
    added.map(({ length }) => length),
    [300, 300, 100],
  );
});
