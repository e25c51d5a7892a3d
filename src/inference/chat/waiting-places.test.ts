import assert from "node:assert/strict";
import { test } from "node:test";
import { WaitingPlaces } from "./waiting-places.ts";

test("gives an entity half of the places that others leave, and takes each back once", () => {
  const places = new WaitingPlaces(8);
  const leave = Array.from({ length: 4 }, () => places.enter("a"));
  const refused = {
    code: "overloaded",
    message: /4 requests of the entity "a" already wait/,
    retryAfterSeconds: 2,
  };
  assert.throws(() => places.enter("a"), refused);
  places.enter("b")();
  leave[0]?.();
  leave[0]?.();
  places.enter("a");
  assert.throws(() => places.enter("a"), refused);
});
