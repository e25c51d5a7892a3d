// The contract for summaries of trajectories that every TrajectoryStore must pass.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { MetricComparison, OutlineFilter } from "../../../base/domain/summaries/trajectory-outline.ts";
import type { Stores } from "../stores.ts";
import {
  groupLines,
  groupOutlines,
  type MakeStorage,
  moment,
  sampleGroup,
  sampleJob,
  sampleLog,
  storeModel,
} from "./storage-under-test.ts";

const everything: OutlineFilter = {
  source: null,
  split: null,
  step: null,
  rewardMin: null,
  rewardMax: null,
  metrics: [],
  recordedFrom: null,
  recordedBefore: null,
};

/** Registers the tests of summaries that a trajectory store must pass. */
export function checkTrajectoryOutlines(makeStorage: MakeStorage): void {
  /**
   * Stores two logs and a job of the model `m`, and a log of another model. The rewards of `m` are 1 to 6 in storage
   * order.
   */
  const filled = async (stores: Stores): Promise<void> => {
    await storeModel(stores.models, "m");
    await storeModel(stores.models, "n");
    const { trajectories, jobs } = stores;
    const log = (id: string, changes: Parameters<typeof sampleLog>[1]) =>
      trajectories.append(sampleLog(id, changes), () => ({}));
    await log("a", { step: 0, recordedAt: moment(1), groups: [sampleGroup(1), sampleGroup(2)] });
    await log("other", { modelId: "n", groups: [sampleGroup(9)] });
    const groups = [sampleGroup(3), sampleGroup(4)];
    const job = sampleJob("j", "m", { createdAt: moment(2) });
    const outlines = groupOutlines(groups);
    await jobs.create(job, groupLines(groups), null, { outlines });
    await log("b", {
      step: 1,
      split: "train",
      recordedAt: moment(3),
      groups: [sampleGroup(5), sampleGroup(6)],
    });
  };

  test("numbers summaries in storage order, with the location of each trajectory", async (t) => {
    const open = await makeStorage(t);
    const first = await open();
    await filled(first);
    await first.close();
    const { trajectories } = await open();
    const [outline] = groupOutlines([sampleGroup(1), sampleGroup(2)]).slice(1);
    const place = { source: "log", sourceId: "a", split: "val", step: 0, recordedAt: moment(1) } as const;
    assert.deepEqual(await trajectories.findOutline("m", 2), { ...outline, ...place, number: 2 });
    assert.equal(outline.part, 1);
    assert.equal(outline.reward, 2);
    const ofJob = await trajectories.findOutline("m", 4);
    assert.deepEqual(
      [ofJob?.source, ofJob?.sourceId, ofJob?.split, ofJob?.step],
      ["job", "j", "train", null],
    );
    assert.equal((await trajectories.findOutline("n", 1))?.reward, 9);
    for (const number of [0, 7]) assert.equal(await trajectories.findOutline("m", number), null);
    assert.equal(await trajectories.findOutline("x", 1), null);
  });

  test("filters summaries, and pages them in either order", async (t) => {
    const stores = await (await makeStorage(t))();
    await filled(stores);
    const rewards = async (
      filter: Partial<OutlineFilter>,
      { limit = 10, after = null, order = "asc" }: Partial<typeof firstOutlines> = {},
    ) => {
      const asked = { ...everything, ...filter };
      const page = await stores.trajectories.listOutlines("m", asked, { limit, after, order });
      return [page.items.map(({ reward }) => reward), page.hasMore] as const;
    };
    assert.deepEqual(await rewards({}), [[1, 2, 3, 4, 5, 6], false]);
    assert.deepEqual(await rewards({}, { order: "desc", limit: 4 }), [[6, 5, 4, 3], true]);
    assert.deepEqual(await rewards({}, { order: "desc", limit: 4, after: 3 }), [[2, 1], false]);
    assert.deepEqual(await rewards({}, { limit: 2, after: 4 }), [[5, 6], false]);
    assert.deepEqual(await rewards({}, { after: 6 }), [[], false]);
    assert.deepEqual(await rewards({}, { after: 1, order: "desc" }), [[], false]);
    assert.deepEqual(await rewards({ source: "job" }), [[3, 4], false]);
    assert.deepEqual(await rewards({ split: "train" }, { limit: 3 }), [[3, 4, 5], true]);
    assert.deepEqual(await rewards({ step: 0 }), [[1, 2], false]);
    assert.deepEqual(await rewards({ step: 1, rewardMin: 6 }), [[6], false]);
    assert.deepEqual(await rewards({ rewardMin: 2, rewardMax: 4 }), [[2, 3, 4], false]);
    assert.deepEqual(await rewards({ recordedFrom: moment(2) }), [[3, 4, 5, 6], false]);
    assert.deepEqual(await rewards({ recordedBefore: moment(2) }), [[1, 2], false]);
    const metric = (comparison: MetricComparison, value: number, name = "score") =>
      rewards({ metrics: [{ name, comparison, value }] });
    const scored = [1, 2, 3].map((score) => {
      const group = sampleGroup(score);
      const metrics = { score, "is.right": score === 2 };
      return { ...group, trajectories: group.trajectories.map((one) => ({ ...one, metrics })) };
    });
    await stores.trajectories.append(sampleLog("scored", { groups: scored }), () => ({}));
    assert.deepEqual(await metric(">=", 2), [[2, 3], false]);
    assert.deepEqual(await metric("<", 2), [[1], false]);
    assert.deepEqual(await metric("=", 1, "is.right"), [[2], false]);
    assert.deepEqual(await metric("=", 0, "is.right"), [[1, 3], false]);
    assert.deepEqual(await metric("<=", 9, "none"), [[], false]);
    const nobody = await stores.trajectories.listOutlines("x", everything, firstOutlines);
    assert.deepEqual(nobody, { items: [], last: 0, hasMore: false });
  });

  test("counts summaries by source and split", async (t) => {
    const stores = await (await makeStorage(t))();
    await filled(stores);
    const { trajectories, models } = stores;
    await trajectories.append(sampleLog("c", { step: 1, groups: [sampleGroup(7)] }), () => ({}));
    const val = { source: "log", split: "val" } as const;
    const trained = { source: "job", split: "train", count: 2, meanReward: 3.5 };
    const train = { source: "log", split: "train", count: 2, meanReward: 5.5 };
    assert.deepEqual(await trajectories.countOutlines("m", null), [
      { ...val, count: 3, meanReward: 10 / 3 },
      trained,
      train,
    ]);
    assert.deepEqual(await trajectories.countOutlines("m", 1), [train, { ...val, count: 1, meanReward: 7 }]);
    await models.delete("m");
    assert.deepEqual(await trajectories.countOutlines("m", null), []);
    assert.deepEqual((await trajectories.listOutlines("m", everything, firstOutlines)).items, []);
  });

  test("counts rewards near the largest number without overflow", async (t) => {
    const { trajectories, models } = await (await makeStorage(t))();
    await storeModel(models, "m");
    const great = [1, 1, 1, 1].map((sign) => sampleGroup(sign * 1e308));
    await trajectories.append(sampleLog("a", { groups: great }), () => ({}));
    await trajectories.append(sampleLog("b", { groups: great }), () => ({}));
    const [count] = await trajectories.countOutlines("m", null);
    assert.deepEqual([count?.count, count?.meanReward], [8, Number.MAX_VALUE / 8]);
    await trajectories.append(sampleLog("c", { groups: great.map(() => sampleGroup(-1e308)) }), () => ({}));
    const [lower] = await trajectories.countOutlines("m", null);
    assert.equal(lower?.count, 12);
    assert.ok(Number.isFinite(lower?.meanReward));
  });
}

const firstOutlines: {
  readonly limit: number;
  readonly after: number | null;
  readonly order: "asc" | "desc";
} = { limit: 10, after: null, order: "asc" };
