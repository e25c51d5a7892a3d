import assert from "node:assert/strict";
import { test } from "node:test";
import { ownState, stateOf, storedState } from "./profile.ts";

test("keeps the trainer's name with a state that contains colons", () => {
  for (const state of ["remote://model/1", "a:b", "adapters/m/1/optimizer.safetensors", ""])
    assert.deepEqual(stateOf(storedState("remote-2", state)), { trainer: "remote-2", state });
});

test("attributes a state without a name to the embedded trainer", () => {
  for (const state of ["adapters/0190/1/optimizer.safetensors", "adapters/m:n/1/x", "/data/a:b"])
    assert.deepEqual(stateOf(state), { trainer: "embedded", state });
});

test("hides the states of other trainers", () => {
  assert.equal(ownState({ name: "remote" }, "remote:a"), "a");
  assert.equal(ownState({ name: "remote" }, "embedded:a"), null);
  assert.equal(ownState({ name: "remote" }, "adapters/m/1/x"), null);
  assert.equal(ownState({ name: "embedded" }, "adapters/m/1/x"), "adapters/m/1/x");
  assert.equal(ownState({ name: "embedded" }, null), null);
});
