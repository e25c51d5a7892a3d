// The contract of every TrajectoryStore.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TrajectoryLog } from "../../domain/trajectory.ts";
import { firstPage, type MakeStorage, moment, sampleGroup, storeModel } from "./storage-under-test.ts";

function sampleLog(id: string, changes: Partial<TrajectoryLog> = {}): TrajectoryLog {
  return {
    id,
    modelId: "m",
    split: "val",
    step: 0,
    recordedAt: moment(1),
    groups: [sampleGroup(1), sampleGroup(-0.5)],
    metrics: { "val/reward": 0.25 },
    ...changes,
  };
}

/** Registers the tests that a trajectory store must pass. */
export function checkTrajectoryStore(makeStorage: MakeStorage): void {
  test("a log comes back as it was, and its metrics are those of the version, also after reopening", async (t) => {
    const open = await makeStorage(t);
    const first = await open();
    await storeModel(first.models, "m");
    await first.models.updateVersionMetrics("m", 0, { kept: 1 });
    await first.trajectories.append(sampleLog("l"));
    await first.close();
    const { trajectories, models } = await open();
    const page = await trajectories.list("m", { split: null }, firstPage);
    assert.deepEqual(page, { items: [sampleLog("l")], hasMore: false });
    assert.deepEqual((await models.findVersion("m", 0))?.metrics, { kept: 1, "val/reward": 0.25 });
  });

  test("logs and metrics are paged in the order they came, of one split or of all", async (t) => {
    const { trajectories, models } = await (await makeStorage(t))();
    await storeModel(models, "m");
    for (const [id, split] of [
      ["d", "val"],
      ["c", "train"],
      ["b", "val"],
      ["a", "val"],
    ]) {
      await trajectories.append(sampleLog(id, { split, metrics: { [id]: 1 } }));
    }
    const page = await trajectories.listMetrics("m", { split: "val" }, { ...firstPage, limit: 2 });
    assert.deepEqual([page.items.map((row) => row.id), page.hasMore], [["d", "b"], true]);
    const next = await trajectories.list("m", { split: "val" }, { ...firstPage, after: "b" });
    assert.deepEqual([next.items.map((log) => log.id), next.hasMore], [["a"], false]);
    const newest = await trajectories.list("m", { split: null }, { after: null, limit: 1, order: "desc" });
    assert.deepEqual([newest.items.map((log) => log.id), newest.hasMore], [["a"], true]);
    assert.deepEqual(await trajectories.newestMetrics("m"), {
      id: "a",
      modelId: "m",
      split: "val",
      step: 0,
      recordedAt: moment(1),
      metrics: { a: 1 },
    });
    assert.equal(await trajectories.newestMetrics("nobody"), null);
    const unknown = { ...firstPage, after: "x" };
    await assert.rejects(trajectories.list("m", { split: null }, unknown), { code: "invalid" });
  });

  test("a log of no model is not found, and one of no version is kept", async (t) => {
    const { trajectories, models } = await (await makeStorage(t))();
    await assert.rejects(trajectories.append(sampleLog("l")), { code: "not_found" });
    await storeModel(models, "m");
    await trajectories.append(sampleLog("l", { step: 9 }));
    assert.equal((await trajectories.list("m", { split: null }, firstPage)).items.length, 1);
    assert.equal(await models.findVersion("m", 9), null);
  });
}
