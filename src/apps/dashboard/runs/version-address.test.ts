import assert from "node:assert/strict";
import { test } from "node:test";

Object.assign(globalThis, { location: { hash: "" } });
const { versionAddresses } = await import("./version-address.ts");

test("leads from a value to the trajectories that it is the mean of, or to the groups of the version's job", () => {
  const addressAt = versionAddresses("m", [
    { step: 0, job_id: null },
    { step: 1, job_id: "j" },
  ]);
  assert.equal(addressAt(1, "train/reward"), "#/trajectories/m?source=log&split=train&step=1");
  assert.equal(addressAt(0, "val/reward"), "#/trajectories/m?source=log&split=val&step=0");
  assert.equal(addressAt(1, "data/reward"), "#/jobs/j/groups");
  assert.equal(addressAt(0, "loss/train"), "#/trajectories/m?step=0");
});
