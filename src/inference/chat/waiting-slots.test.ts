import assert from "node:assert/strict";
import { test } from "node:test";
import { WaitingSlots } from "./waiting-slots.ts";

test("gives an entity half of the slots that others leave free, and frees each slot only once", () => {
  const waitingSlots = new WaitingSlots(8);
  const leave = Array.from({ length: 4 }, () => waitingSlots.enter("a"));
  const refused = {
    code: "overloaded",
    message: /4 requests of the entity "a" already wait/,
    retryAfterSeconds: 2,
  };
  assert.throws(() => waitingSlots.enter("a"), refused);
  waitingSlots.enter("b")();
  leave[0]?.();
  leave[0]?.();
  waitingSlots.enter("a");
  assert.throws(() => waitingSlots.enter("a"), refused);
});
