// The contract that every TrajectoryStore must pass.
import assert from "node:assert/strict";
import { test } from "node:test";
import { unfoldedLines } from "../../../base/domain/text/folded-lines.ts";
import type {
  EarlierLogs,
  Metrics,
  TrajectoryLogFilter,
  TrajectoryStore,
} from "../../../base/domain/trajectory.ts";
import {
  firstPage,
  type MakeStorage,
  moment,
  sampleGroup,
  sampleLog,
  sampleModel,
  sampleVersion,
  storeModel,
} from "./storage-under-test.ts";

const idsOf = async (store: TrajectoryStore, split: string | null, page: Partial<typeof firstPage> = {}) => {
  const { items, hasMore } = await store.list("m", { split }, { ...firstPage, ...page });
  return [items.map((log) => log.id), hasMore];
};

async function groupsOf(store: TrajectoryStore, logId: string): Promise<readonly object[] | null> {
  const stored = await store.lines(logId);
  if (stored === null) return null;
  const groups: object[] = [];
  for await (const texts of unfoldedLines(stored, (text) => text))
    groups.push(JSON.parse(texts.join("")) as object);
  return groups;
}

/** Registers the tests that a trajectory store must pass. */
export function checkTrajectoryStore(makeStorage: MakeStorage): void {
  test("returns a log unchanged, and its metrics as those of the version, also after reopening", async (t) => {
    const open = await makeStorage(t);
    const first = await open();
    await first.models.create(sampleModel("m"), sampleVersion("m", 0, { metrics: { kept: 1 } }));
    const metrics = { "val/reward": 0.25 };
    assert.deepEqual(await first.trajectories.append(sampleLog("l"), () => metrics), metrics);
    await first.close();
    const { trajectories, models } = await open();
    const groups = [sampleGroup(1), sampleGroup(-0.5)];
    const { lines, outlines: _outlines, scenarioIds: _, ...log } = sampleLog("l", { groups });
    const contentBytes = Buffer.byteLength([...lines].join(""));
    assert.deepEqual(await trajectories.list("m", { split: null }, firstPage), {
      items: [{ ...log, metrics, contentBytes }],
      hasMore: false,
    });
    assert.deepEqual(await groupsOf(trajectories, "l"), groups);
    assert.equal(await groupsOf(trajectories, "x"), null);
    assert.deepEqual((await models.findVersion("m", 0))?.metrics, { kept: 1, ...metrics });
  });

  test("combines the logs of a split at a version with earlier ones of the same, and with no others", async (t) => {
    const open = await makeStorage(t);
    const first = await open();
    const { trajectories, models } = first;
    await storeModel(models, "m");
    await storeModel(models, "n");
    const seen: unknown[] = [];
    let count = 0;
    const append = (store: TrajectoryStore, place: object) =>
      store.append(
        sampleLog(`l${(count += 1)}`, place),
        () => ({ own: count, both: count }),
        (earlier) => {
          seen.push(earlier?.["sum"] ?? null);
          const sum = Number(earlier?.["sum"] ?? 0) + count;
          return { tally: { sum }, metrics: { both: sum } };
        },
      );
    assert.deepEqual(await append(trajectories, {}), { own: 1, both: 1 });
    await append(trajectories, {});
    await append(trajectories, { split: "other" });
    await append(trajectories, { step: 1 });
    await append(trajectories, { modelId: "n" });
    await trajectories.append(sampleLog("plain"), () => ({}));
    await first.close();
    const again = await open();
    await append(again.trajectories, {});
    assert.deepEqual(seen, [null, 1, null, null, null, 3]);
    assert.deepEqual((await again.models.findVersion("m", 0))?.metrics, { own: 6, both: 9 });
  });

  test("returns a log with a group of several megabytes unchanged", async (t) => {
    const { trajectories, models } = await (await makeStorage(t))();
    await storeModel(models, "m");
    const groups = [sampleGroup(1), { ...sampleGroup(2), logs: ["é".repeat(3 << 20)] }, sampleGroup(3)];
    await trajectories.append(sampleLog("l", { groups }), () => ({}));
    assert.deepEqual(await groupsOf(trajectories, "l"), groups);
  });

  test("measures each log with the metrics of the previous one and the scenarios of all", async (t) => {
    const { trajectories, models } = await (await makeStorage(t))();
    await storeModel(models, "m");
    await storeModel(models, "n");
    const seen: EarlierLogs[] = [];
    const append = (id: string, scenarioIds: readonly string[], metrics: Metrics, modelId = "m") =>
      trajectories.append(sampleLog(id, { modelId, split: id, scenarioIds }), (earlier) => {
        seen.push(earlier);
        return metrics;
      });
    await append("a", ["1", "2", "1"], { sum: 1 });
    await append("b", ["2", "NUL \u0000", "\ud83d"], { sum: 2 });
    await append("other", ["9"], { sum: 9 }, "n");
    await append("c", [], {});
    await append(
      "d",
      Array.from({ length: 1200 }, (_, index) => `s${index}`),
      {},
    );
    assert.deepEqual(seen, [
      { metrics: {}, scenarioCount: 2 },
      { metrics: { sum: 1 }, scenarioCount: 4 },
      { metrics: {}, scenarioCount: 1 },
      { metrics: { sum: 2 }, scenarioCount: 4 },
      { metrics: {}, scenarioCount: 1204 },
    ]);
  });

  test("pages logs in storage order, of one split or all, limited by items and bytes", async (t) => {
    const { trajectories, models } = await (await makeStorage(t))();
    await storeModel(models, "m");
    for (const [id, split] of [
      ["d", "val"],
      ["c", "train"],
      ["b", "val"],
      ["a", "val"],
    ]) {
      const log = sampleLog(id, { split, recordedAt: moment(9) });
      await trajectories.append(log, () => ({ [id === "c" ? "n".repeat(1000) : id]: 1 }));
    }
    assert.deepEqual(await idsOf(trajectories, "val", { limit: 2 }), [["d", "b"], true]);
    assert.deepEqual(await idsOf(trajectories, "val", { after: "b" }), [["a"], false]);
    assert.deepEqual(await idsOf(trajectories, null, { limit: 1, order: "desc" }), [["a"], true]);
    assert.deepEqual(await idsOf(trajectories, null, { bytesMax: 1000 }), [["d"], true]);
    assert.deepEqual(await idsOf(trajectories, null, { bytesMax: 1000, after: "d" }), [["c"], true]);
    await assert.rejects(idsOf(trajectories, null, { after: "x" }), { code: "invalid" });
  });

  test("finds logs by id, and lists them by step and time", async (t) => {
    const { trajectories, models } = await (await makeStorage(t))();
    await storeModel(models, "m");
    for (const [id, step, seconds] of [
      ["a", 0, 1],
      ["b", 1, 2],
      ["c", 1, 3],
    ] as const) {
      const log = sampleLog(id, { step, recordedAt: moment(seconds) });
      await trajectories.append(log, () => ({ [id]: step }));
    }
    assert.deepEqual((await trajectories.find("b"))?.metrics, { b: 1 });
    assert.equal(await trajectories.find("x"), null);
    const ids = async (filter: Omit<TrajectoryLogFilter, "split">, split: string | null = null) =>
      (await trajectories.list("m", { split, ...filter }, firstPage)).items.map(({ id }) => id);
    assert.deepEqual(await ids({ step: 1 }), ["b", "c"]);
    assert.deepEqual(await ids({ step: null, recordedFrom: null, recordedBefore: null }), ["a", "b", "c"]);
    assert.deepEqual(await ids({ recordedFrom: moment(2) }), ["b", "c"]);
    assert.deepEqual(await ids({ recordedFrom: moment(2), recordedBefore: moment(3) }), ["b"]);
    assert.deepEqual(await ids({ step: 0 }, "train"), []);
    const page = { ...firstPage, after: "a", limit: 1 };
    assert.equal((await trajectories.list("m", { split: null, step: 1 }, page)).items[0]?.id, "b");
  });

  test("reads logged lines from a given part", async (t) => {
    const { trajectories, models } = await (await makeStorage(t))();
    await storeModel(models, "m");
    const groups = [1, 2, 3].map(sampleGroup);
    await trajectories.append(sampleLog("l", { groups }), () => ({}));
    const from = async (count: number) => {
      const rest: string[] = [];
      for await (const line of (await trajectories.lines("l", count)) ?? []) rest.push(line);
      return rest;
    };
    assert.deepEqual(
      await from(1),
      groups.slice(1).map((group) => JSON.stringify(group)),
    );
    assert.deepEqual(await from(3), []);
  });

  test("refuses a log of an unknown model, and keeps one without a version", async (t) => {
    const { trajectories, models } = await (await makeStorage(t))();
    await assert.rejects(
      trajectories.append(sampleLog("l"), () => ({})),
      { code: "not_found" },
    );
    await storeModel(models, "m");
    await trajectories.append(sampleLog("l", { step: 9 }), () => ({ a: 1 }));
    assert.deepEqual(await idsOf(trajectories, null), [["l"], false]);
    assert.equal(await models.findVersion("m", 9), null);
  });

  test("throws if a log is removed while it is read, rather than ending early", async (t) => {
    const { trajectories, models } = await (await makeStorage(t))();
    await storeModel(models, "m");
    await trajectories.append(sampleLog("l", { groups: [sampleGroup(1), sampleGroup(0)] }), () => ({}));
    const lines = (await trajectories.lines("l"))?.[Symbol.asyncIterator]();
    assert.equal((await lines?.next())?.done, false);
    await models.delete("m");
    await assert.rejects(async () => await lines?.next(), { code: "not_found" });
  });
}
