// The contract that every RolloutStore must pass, together with the stores of jobs and recorded completions.
import assert from "node:assert/strict";
import { test } from "node:test";
import { anyCompletion } from "../../../base/domain/recordings/completion-store.ts";
import type { NewRollout, RolloutChoice, RolloutFilter } from "../../../base/domain/rollouts/rollout.ts";
import type { Stores } from "../stores.ts";
import { sampleCompletion } from "./completion-store.ts";
import {
  firstPage,
  type MakeStorage,
  moment,
  openTwice,
  sampleJob,
  sampleVersion,
  storeModel,
} from "./storage-under-test.ts";

export function sampleRollout(id: string, changes: Partial<NewRollout> = {}): NewRollout {
  return {
    id,
    modelId: "m",
    entity: "team",
    pinnedStep: 0,
    step: 0,
    group: "g",
    split: "train",
    task: { text: "NUL \u0000" },
    metadata: { a: [1, null] },
    keyId: "key",
    owner: "Ada",
    secretHash: `hash of ${id}`,
    createdAt: moment(0),
    expiresAt: moment(100),
    ...changes,
  };
}

const outcome = { reward: 0.5, metrics: { won: true }, callRewards: {} };
const limits = { openMax: 100 };
const all: RolloutFilter = { modelId: "m", state: null, group: null, split: null, step: null };
const finished: RolloutChoice = {
  modelId: "m",
  ids: null,
  group: null,
  split: null,
  step: null,
  stepMin: 0,
  includesExpired: false,
  wholeSizeMin: null,
};
const groupLimits = { groupsMax: 10, rolloutsMax: 100 };

async function freeIds({ rollouts }: Stores, choice: Partial<RolloutChoice> = {}, now = moment(1)) {
  const { groups } = await rollouts.groups({ ...finished, ...choice }, groupLimits, now);
  return groups.map((group) => group.rollouts.map(({ id }) => id));
}

async function begin({ models, rollouts }: Stores, ...ids: readonly string[]): Promise<void> {
  await storeModel(models, "m");
  for (const id of ids) await rollouts.create(sampleRollout(id), limits);
}

const submit = ({ jobs }: Stores, id: string, rolloutIds: readonly string[]) =>
  jobs.create(sampleJob(id, "m"), [], null, { rollouts: { rolloutIds, standing: null } });

const isConflict = { code: "conflict" };

/** Registers the tests that a store of rollouts must pass. */
export function checkRolloutStore(makeStorage: MakeStorage): void {
  test("finds and lists rollouts as created, and expires open ones by the time of the reader", async (t) => {
    const [stores] = await openTwice(makeStorage, t);
    const { rollouts } = stores;
    await begin(stores, "a");
    await rollouts.create(
      sampleRollout("b", { group: null, split: "val", step: 3, pinnedStep: null }),
      limits,
    );
    const found = await rollouts.find("a", moment(99));
    const fresh = {
      state: "open",
      endedAt: null,
      outcome: null,
      callCount: 0,
      tokenCount: 0,
      lastStep: null,
    };
    assert.deepEqual(found, { ...sampleRollout("a"), ...fresh, jobId: null });
    assert.deepEqual(await rollouts.findByHash("hash of a", moment(99)), found);
    const late = await rollouts.find("a", moment(100));
    assert.deepEqual([late?.state, late?.endedAt], ["expired", moment(100)]);
    const idsOf = async (filter: Partial<RolloutFilter>, now = moment(1)) =>
      (await rollouts.list({ ...all, ...filter }, firstPage, now)).items.map(({ id }) => id);
    assert.deepEqual(await idsOf({}), ["a", "b"]);
    assert.deepEqual(await idsOf({ group: "g" }), ["a"]);
    assert.deepEqual(await idsOf({ split: "val", step: 3 }), ["b"]);
    assert.deepEqual(await idsOf({ state: "open" }, moment(100)), []);
    assert.deepEqual(await idsOf({ state: "expired" }, moment(100)), ["a", "b"]);
    assert.equal(await rollouts.find("c", moment(0)), null);
  });

  test("refuses more open rollouts than allowed, until some end or expire", async (t) => {
    const [stores] = await openTwice(makeStorage, t);
    const { rollouts } = stores;
    await begin(stores, "a");
    const next = (id: string, createdAt = moment(0)) =>
      rollouts.create(sampleRollout(id, { createdAt, expiresAt: moment(200) }), { openMax: 1 });
    await assert.rejects(next("b"), { code: "overloaded" });
    assert.ok(await rollouts.end("a", { at: moment(1), outcome: null }));
    await next("b");
    await next("c", moment(200));
    await assert.rejects(rollouts.create(sampleRollout("d", { modelId: "none" }), limits), {
      code: "not_found",
    });
  });

  test("ends a rollout only once, and counts only calls that were answered before", async (t) => {
    const [stores, other] = await openTwice(makeStorage, t);
    const { rollouts, completions } = stores;
    await begin(stores, "a");
    await completions.add([
      sampleCompletion("r1", { rolloutId: "a", step: 2 }),
      sampleCompletion("r2", { rolloutId: "a", step: 1 }),
      sampleCompletion("r3"),
    ]);
    const ends = await Promise.all([
      rollouts.end("a", { at: moment(2), outcome }),
      other.rollouts.end("a", { at: moment(2), outcome: null }),
    ]);
    assert.deepEqual(ends.toSorted(), [false, true]);
    await completions.add([sampleCompletion("r4", { rolloutId: "a" })]);
    const page = await completions.list({ ...anyCompletion, rolloutId: "a" }, { ...firstPage, after: null });
    assert.deepEqual(
      page.items.map(({ requestId }) => requestId),
      ["r1", "r2"],
    );
    assert.equal((await completions.find({ projectId: "team/games", requestId: "r4" }))?.rolloutId, null);
    const { callCount, tokenCount, lastStep } = (await rollouts.find("a", moment(3))) ?? {};
    assert.deepEqual([callCount, tokenCount, lastStep], [2, 40, 2]);
  });

  test("gives each rollout to one job, and to another only if that job failed", async (t) => {
    const [stores, other] = await openTwice(makeStorage, t);
    const { rollouts, jobs } = stores;
    await begin(stores, "a", "b", "c");
    for (const id of ["a", "b"]) await rollouts.end(id, { at: moment(1), outcome });
    assert.deepEqual(await freeIds(stores), [["a", "b"]]);
    const made = await Promise.allSettled([
      submit(stores, "j1", ["a", "b"]),
      submit(other, "j2", ["b"]),
      submit(other, "j3", ["a"]),
    ]);
    const taken = made.flatMap(({ status }, index) => (status === "fulfilled" ? [index] : []));
    assert.ok(taken.length === 1 || (taken.length === 2 && !taken.includes(0)), taken.join());
    await Promise.all(taken.map((index) => jobs.end(`j${index + 1}`, "failed", "for the test", moment(2))));
    assert.deepEqual(await freeIds(stores), [["a", "b"]]);
    await submit(stores, "j4", ["a"]);
    assert.deepEqual(await freeIds(stores), [["b"]]);
    assert.equal((await rollouts.find("a", moment(2)))?.jobId, "j4");
    await assert.rejects(submit(stores, "j5", ["a"]), isConflict);
    // A retry of a failed job trains on the same rollouts, unless another job has taken one of them.
    const failed = `j${taken[0] + 1}`;
    const retry = jobs.create(sampleJob("j6", "m", { retryOf: failed }), [], null);
    if (taken[0] === 1) await retry;
    else await assert.rejects(retry, isConflict);
  });

  test("takes expired rollouts only if asked, and they can no longer be finished then", async (t) => {
    const [stores] = await openTwice(makeStorage, t);
    const { rollouts } = stores;
    await begin(stores, "a", "b");
    assert.deepEqual(await freeIds(stores, {}, moment(100)), []);
    assert.deepEqual(await freeIds(stores, { includesExpired: true }, moment(100)), [["a", "b"]]);
    await submit(stores, "j", ["a"]);
    assert.equal(await rollouts.end("a", { at: moment(101), outcome }), false);
    assert.equal(await rollouts.end("b", { at: moment(101), outcome }), true);
    assert.equal((await rollouts.find("a", moment(101)))?.state, "expired");
  });

  test("deletes ended rollouts by the time of their end, except those of unfinished jobs", async (t) => {
    const [stores] = await openTwice(makeStorage, t);
    const { rollouts, jobs } = stores;
    await begin(stores, "a", "b", "c", "d");
    await rollouts.create(sampleRollout("e", { expiresAt: moment(500) }), limits);
    for (const id of ["a", "b", "c"]) await rollouts.end(id, { at: moment(id === "c" ? 9 : 1), outcome });
    await submit(stores, "j", ["b"]);
    const left = async () => (await rollouts.list(all, firstPage, moment(1))).items.map(({ id }) => id);
    assert.equal(await rollouts.deleteEnded(moment(1), 10), 0);
    assert.equal(await rollouts.deleteEnded(moment(5), 10), 1);
    assert.deepEqual(await left(), ["b", "c", "d", "e"]);
    await jobs.end("j", "failed", "for the test", moment(2));
    assert.equal(await rollouts.deleteEnded(moment(200), 2), 2);
    assert.equal(await rollouts.deleteEnded(moment(200), 2), 1);
    assert.deepEqual(await left(), ["e"]);
  });

  test("protects the version of an open rollout from deletion", async (t) => {
    const [stores] = await openTwice(makeStorage, t);
    const { rollouts, models } = stores;
    await begin(stores);
    await models.addVersion(sampleVersion("m", 1), async () => "folder");
    await models.addVersion(sampleVersion("m", 2), async () => "folder");
    await rollouts.create(sampleRollout("a", { step: 1, pinnedStep: 1 }), limits);
    await rollouts.create(sampleRollout("b", { step: 2, pinnedStep: null }), limits);
    assert.deepEqual((await models.deleteVersions("m", [1], moment(1))).inUse, [1]);
    const old = { keptCount: 1, spared: new Set<number>(), server: "s", now: moment(1) };
    assert.deepEqual(await models.deleteOlderVersions("m", old), []);
    assert.deepEqual((await models.deleteVersions("m", [2], moment(1))).deleted, [2]);
    // The rollout has expired.
    assert.deepEqual((await models.deleteVersions("m", [1], moment(100))).deleted, [1]);
  });

  test("counts the groups on which no job trains, and the whole ones", async (t) => {
    const [stores] = await openTwice(makeStorage, t);
    const { rollouts } = stores;
    await begin(stores, "a", "b");
    const count = (now = moment(1)) => rollouts.countGroups({ ...finished, wholeSizeMin: 2 }, now);
    assert.deepEqual(await count(), { all: 0, whole: 0 });
    await rollouts.end("a", { at: moment(1), outcome });
    assert.deepEqual(await count(), { all: 1, whole: 0 });
    await rollouts.end("b", { at: moment(1), outcome });
    await rollouts.create(sampleRollout("c", { group: "other" }), limits);
    await rollouts.end("c", { at: moment(1), outcome });
    assert.deepEqual(await count(), { all: 2, whole: 1 });
    await rollouts.create(sampleRollout("d"), limits);
    assert.deepEqual(await count(), { all: 2, whole: 0 });
    // The open rollout has expired, so the group no longer waits for it.
    assert.deepEqual(await count(moment(100)), { all: 2, whole: 1 });
    await submit(stores, "j", ["a", "b"]);
    assert.deepEqual(await count(moment(100)), { all: 1, whole: 0 });
  });

  test("selects groups by name or task, and whole ones if asked", async (t) => {
    const [stores] = await openTwice(makeStorage, t);
    const { rollouts } = stores;
    await begin(stores, "a", "b");
    const add = async (id: string, changes: Partial<NewRollout>) => {
      await rollouts.create(sampleRollout(id, changes), limits);
      await rollouts.end(id, { at: moment(1), outcome });
    };
    await rollouts.end("a", { at: moment(1), outcome });
    await add("c", { group: null, task: "x" });
    await add("d", { group: null, task: "y", step: 4 });
    await add("e", { group: null, task: "x" });
    assert.deepEqual(await freeIds(stores), [["a"], ["d"], ["c", "e"]]);
    assert.deepEqual(await freeIds(stores, { stepMin: 1 }), [["d"]]);
    assert.deepEqual(await freeIds(stores, { group: "g" }), [["a"]]);
    assert.deepEqual(await freeIds(stores, { ids: ["c"] }), [["c"]]);
    assert.deepEqual(await freeIds(stores, { wholeSizeMin: 2 }), [["c", "e"]]);
    await rollouts.end("b", { at: moment(1), outcome });
    assert.deepEqual(await freeIds(stores, { wholeSizeMin: 2 }), [
      ["a", "b"],
      ["c", "e"],
    ]);
  });
}
