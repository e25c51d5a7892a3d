// Tests the storage quotas of entities, and how often an entity's usage is read.
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../base/domain/testing/fake-clock.ts";
import { createMetrics } from "../../base/telemetry/metrics.ts";
import { createStorageQuotas } from "./quotas.ts";
import { retentionSettings, type RetentionSettings } from "./settings.ts";

function quotas(settings: Partial<RetentionSettings>) {
  const clock = new FakeClock();
  const metrics = createMetrics({ processMetrics: false });
  const state = { used: 0, looks: 0, isAway: false };
  const none = { trajectories: 0, jobs: 0, recordings: 0, revisions: 0, feedback: 0, traces: 0 };
  const store = {
    stored: async () => {
      state.looks += 1;
      if (state.isAway) throw new Error("away");
      return { ...none, files: state.used };
    },
  };
  const room = createStorageQuotas({ store, settings: retentionSettings.with(settings), clock, metrics });
  return { room, state, clock, metrics };
}

test("refuses a write at the quota, naming the usage and the cure", async () => {
  const { room, state, clock, metrics } = quotas({ entityBytes: ["1000"] });
  state.used = 999;
  await room.require("acme");
  state.used = 1234;
  await room.require("acme");
  assert.equal(state.looks, 1, "what was found holds for a moment");
  await clock.advance(2000);
  await assert.rejects(room.require("acme"), {
    code: "full",
    message: /The entity "acme" has 1\.23 kB stored, and may have 1 kB\. Delete .* retention\.entityBytes/,
  });
  assert.match((await metrics.expose()).text, /hone_storage_refusals_total 1/);
  state.used = 10;
  await clock.advance(2000);
  await room.require("acme");
});

test("supports quotas for single entities, and reads no usage without a limit", async () => {
  const { room, state } = quotas({ entityBytes: ["10", "acme=2kB", "free=0", "b c=3"] });
  assert.deepEqual(
    ["acme", "free", "b c", "other"].map((entity) => room.quotaOf(entity)),
    [2000, null, 3, 10],
  );
  state.used = 1999;
  await room.require("free");
  assert.equal(state.looks, 0);
  await room.require("acme");
  await assert.rejects(room.require("b c"), { code: "full" });
  await assert.rejects(room.require("other"), { code: "full" });
  await quotas({}).room.require("anybody");
});

test("shares one read among concurrent callers, and repeats a failed one", async () => {
  const { room, state } = quotas({ entityBytes: ["10"] });
  await Promise.all([room.require("acme"), room.require("acme")]);
  assert.equal(state.looks, 1);
  state.isAway = true;
  await assert.rejects(room.require("other"), { message: "away" });
  state.isAway = false;
  await room.require("other");
});

for (const wrong of ["acme", "=5", "acme=", "acme=5 GB", "acme=5GiB", "acme=-1", "acme=999999999999999TB"])
  test(`refuses the quota ${wrong}`, () => {
    assert.throws(() => quotas({ entityBytes: [wrong] }), { code: "invalid", message: /such as acme=20GB/ });
  });
