import assert from "node:assert/strict";
import { test } from "node:test";
import { TrainingSlots } from "./training-slots.ts";

const slots = (modelsMax: number) => new TrainingSlots({ modelsMax, waitingPerEntityMax: 1 });

/** True if the slot is taken once all pending promises have settled. */
async function isTaken({ taken }: { readonly taken: Promise<void> }): Promise<boolean> {
  let has = false;
  void taken.then(() => (has = true));
  await new Promise((resolve) => setImmediate(resolve));
  return has;
}

test("leaves the last slot to other entities, and says why a model waits", async () => {
  const all = slots(2);
  const [first, second] = [all.request("acme"), all.request("acme")];
  assert.deepEqual([await isTaken(first), await isTaken(second)], [true, false]);
  assert.match(second.reason() ?? "", /1 of your models are training, the maximum for one entity/);
  const other = all.request("other");
  assert.equal(await isTaken(other), true);
  const third = all.request("another");
  assert.match(third.reason() ?? "", /2 models are training, the maximum of this server/);
  first.leave();
  first.leave();
  assert.equal(await isTaken(second), true);
  assert.equal(second.reason(), null);
  assert.equal(await isTaken(third), false);
});

test("refuses a model beyond those that may wait, and any model without slots", () => {
  const all = slots(1);
  all.request("acme");
  const waiting = all.request("acme");
  assert.throws(() => all.request("acme"), { code: "overloaded", message: /1 models wait/ });
  waiting.leave();
  all.request("acme");
  assert.throws(() => slots(0).request("acme"), { code: "unsupported", message: /sessions.modelsMax is 0/ });
});
