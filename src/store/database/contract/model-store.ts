// The contract that every ModelStore must pass.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ModelFilter, VersionKey } from "../../../base/domain/model.ts";
import type { PageRequest } from "../../../base/domain/page.ts";
import type { Stores } from "../stores.ts";
import {
  firstPage,
  type MakeStorage,
  moment,
  sampleCounts,
  sampleFeedback,
  sampleGroup,
  sampleLog,
  groupLines,
  sampleJob,
  sampleModel,
  samplePins,
  sampleVersion,
  storeModel,
  storeServer,
} from "./storage-under-test.ts";

/** Registers the tests that a model store must pass. */
export function checkModelStore(makeStorage: MakeStorage): void {
  test("finds a model by id and by name with its version 0, also after reopening", async (t) => {
    const open = await makeStorage(t);
    const first = await open();
    await first.models.create(sampleModel("m"), sampleVersion("m", 0));
    await first.close();
    const { models } = await open();
    assert.deepEqual(await models.find("m"), sampleModel("m"));
    assert.deepEqual(await models.findByName("team", "games", "name of m"), sampleModel("m"));
    assert.deepEqual(await models.newestVersion("m"), sampleVersion("m", 0));
    assert.equal(await models.find("other"), null);
    assert.equal(await models.findByName("team", "games", "other"), null);
    assert.equal(await models.newestVersion("other"), null);
    assert.equal(await models.greatestStep("m"), 0);
  });

  test("keeps a model's adapter settings", async (t) => {
    const { models } = await (await makeStorage(t))();
    const model = sampleModel("m", { adapter: { rank: 32, alpha: 12.5, targets: ["q_proj", "v_proj"] } });
    await models.create(model, sampleVersion("m", 0));
    assert.deepEqual(await models.find("m"), model);
  });

  test("refuses a second model of the same name with a conflict, and leaves nothing behind", async (t) => {
    const { models } = await (await makeStorage(t))();
    await storeModel(models, "m");
    const twin = sampleModel("n", { name: "name of m" });
    await assert.rejects(models.create(twin, sampleVersion("n", 0)), { code: "conflict" });
    assert.equal(await models.find("n"), null);
    assert.equal(await models.newestVersion("n"), null);
  });

  test("finds the models with a short name, newest first, up to a limit", async (t) => {
    const { models } = await (await makeStorage(t))();
    for (const [id, entity, project, name] of [
      ["a", "team", "games", "bot"],
      ["b", "team", "chess", "bot"],
      ["c", "others", "games", "bot"],
      ["d", "team", "games", "Bot"],
      ["e", "team", "bot", "games"],
    ]) {
      await models.create(sampleModel(id, { entity, project, name }), sampleVersion(id, 0));
    }
    const ids = async (entity: string | null, project: string | null, limit = 9) =>
      (await models.findByShortName(entity, project, "bot", limit)).map((model) => model.id);
    assert.deepEqual(await ids(null, null), ["c", "b", "a"]);
    assert.deepEqual(await ids(null, null, 2), ["c", "b"]);
    assert.deepEqual(await ids("team", null), ["b", "a"]);
    assert.deepEqual(await ids("team", "games"), ["a"]);
    assert.deepEqual(await ids(null, "games"), ["c", "a"]);
    assert.deepEqual(await ids("nobody", null), []);
  });

  test("pages models in creation order by entity, project and name", async (t) => {
    const { models } = await (await makeStorage(t))();
    await storeModel(models, "d");
    await models.create(sampleModel("c", { entity: "others" }), sampleVersion("c", 0));
    await models.create(sampleModel("b", { project: "chess" }), sampleVersion("b", 0));
    await storeModel(models, "a");
    const ids = async (filter: Partial<ModelFilter>, page: Partial<PageRequest> = {}) => {
      const everything = { entity: null, project: null, name: null };
      const { items, hasMore } = await models.list({ ...everything, ...filter }, { ...firstPage, ...page });
      return [items.map((model) => model.id), hasMore];
    };
    assert.deepEqual(await ids({}), [["d", "c", "b", "a"], false]);
    assert.deepEqual(await ids({}, { order: "desc", limit: 3 }), [["a", "b", "c"], true]);
    assert.deepEqual(await ids({}, { order: "desc", after: "c" }), [["d"], false]);
    assert.deepEqual(await ids({ entity: "team" }), [["d", "b", "a"], false]);
    assert.deepEqual(await ids({ project: "games", entity: "team" }, { limit: 1 }), [["d"], true]);
    assert.deepEqual(await ids({ name: "name of b" }), [["b"], false]);
    assert.deepEqual(await ids({ entity: "nobody" }), [[], false]);
    assert.deepEqual(await ids({ text: "CHESS/name of" }), [["b"], false]);
    assert.deepEqual(await ids({ text: "e", entity: "team" }, { limit: 2 }), [["d", "b"], true]);
    assert.deepEqual(await ids({ text: "%" }), [[], false]);
    for (const after of ["x", "c"])
      await assert.rejects(ids({ entity: "team" }, { after }), { code: "invalid" });
  });

  test("pages versions by step in both orders, and refuses an unknown cursor as invalid", async (t) => {
    const database = await (await makeStorage(t))();
    await storeVersions(database, 4);
    const { models } = database;
    const ascending = await models.listVersions("m", { after: "m:1", limit: 2, order: "asc" });
    assert.deepEqual([ascending.items.map((version) => version.step), ascending.hasMore], [[2, 3], true]);
    const descending = await models.listVersions("m", { after: "m:2", limit: 2, order: "desc" });
    assert.deepEqual([descending.items.map((version) => version.step), descending.hasMore], [[1, 0], false]);
    await assert.rejects(models.listVersions("m", { ...firstPage, after: "x" }), { code: "invalid" });
  });

  test("limits a page of versions in bytes, but always returns one", async (t) => {
    const database = await (await makeStorage(t))();
    await storeVersions(database, 3);
    const { models, trajectories } = database;
    const name = "n".repeat(1000);
    for (const step of [1, 2])
      await trajectories.append(sampleLog(`l${step}`, { step }), () => ({ [name]: step }));
    const page = async (bytesMax: number, after: string | null = null) => {
      const { items, hasMore } = await models.listVersions("m", { ...firstPage, after, bytesMax });
      return [items.map(({ step }) => step), hasMore];
    };
    assert.deepEqual(await page(1500), [[0, 1], true]);
    assert.deepEqual(await page(1), [[0], true]);
    assert.deepEqual(await page(1, "m:0"), [[1], true]);
    assert.deepEqual(await page(1, "m:2"), [[3], false]);
  });

  test("reads the dates of many models' versions together, model by model, and continues after any of them", async (t) => {
    const { models, ...rest } = await (await makeStorage(t))();
    await storeVersions({ models, ...rest }, 3);
    for (const id of ["a", "z"]) await storeModel(models, id);
    await models.deleteVersions("m", [2], new Date(0));
    const dated = (modelId: string, steps: readonly number[]) =>
      steps.map((step) => ({ modelId, step, createdAt: sampleVersion(modelId, step).createdAt }));
    const all = await models.listVersionTimes(["z", "none", "m", "a"], null, 9);
    assert.equal(all.length, 5);
    for (const [id, steps] of [
      ["a", [0]],
      ["m", [0, 1, 3]],
      ["z", [0]],
    ] as const) {
      const first = all.findIndex(({ modelId }) => modelId === id);
      assert.deepEqual(all.slice(first, first + steps.length), dated(id, steps));
    }
    for (const [place, version] of all.entries()) {
      const following = await models.listVersionTimes(["a", "m", "z"], version, 2);
      assert.deepEqual(following, all.slice(place + 1, place + 3));
    }
    assert.deepEqual(await models.listVersionTimes(["m"], { modelId: "m", step: 2 }, 9), dated("m", [3]));
    assert.deepEqual(await models.listVersionTimes([], null, 9), []);
  });

  test("reads models by id, and selected metrics of selected versions together", async (t) => {
    const { models, ...rest } = await (await makeStorage(t))();
    const odd = 'odd "name".0/é';
    const metrics = { "val/reward": 0.25, [odd]: -3e-7, other: 1 };
    await models.create(sampleModel("a"), sampleVersion("a", 0, { metrics }));
    await storeVersions({ models, ...rest }, 2);
    await models.deleteVersions("m", [2], new Date(0));
    const ids = (await models.findMany(["m", "none", "a", "m"])).map(({ id }) => id);
    assert.deepEqual(ids.toSorted(), ["a", "m"]);
    assert.deepEqual(await models.findMany([]), []);
    const asked = [0, 1, 2, 9].flatMap((step) => ["m", "a"].map((modelId) => ({ modelId, step })));
    const found = await models.findMetrics(asked, ["val/reward", odd, "none"]);
    const keyOf = ({ modelId, step }: VersionKey) => `${modelId}:${step}`;
    assert.deepEqual(
      found.toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1)),
      [
        { modelId: "a", step: 0, metrics: { "val/reward": 0.25, [odd]: -3e-7 } },
        { modelId: "m", step: 0, metrics: {} },
        { modelId: "m", step: 1, metrics: {} },
      ],
    );
    assert.deepEqual(await models.findMetrics([], ["val/reward"]), []);
  });

  test("removes a deleted version, never reuses its step, and accepts a cursor at it", async (t) => {
    const { models, ...rest } = await (await makeStorage(t))();
    await storeVersions({ models, ...rest }, 3);
    const nothing = { deleted: [], notFound: [], pinned: [], inUse: [] };
    const deletion = await models.deleteVersions("m", [3, 1, 1, 9], new Date(0));
    assert.deepEqual(deletion, { ...nothing, deleted: [3, 1], notFound: [9] });
    assert.deepEqual(await models.deleteVersions("m", [3], new Date(0)), { ...nothing, notFound: [3] });
    assert.equal(await models.findVersion("m", 3), null);
    assert.equal((await models.newestVersion("m"))?.step, 2);
    assert.equal(await models.greatestStep("m"), 3);
    const page = await models.listVersions("m", { ...firstPage, after: "m:1" });
    assert.deepEqual(
      page.items.map((version) => version.step),
      [2],
    );
  });

  test("reports version 0 as deleted and keeps it", async (t) => {
    const { models } = await (await makeStorage(t))();
    await storeModel(models, "m");
    const deletion = { deleted: [0], notFound: [], pinned: [], inUse: [] };
    assert.deepEqual(await models.deleteVersions("m", [0], new Date(0)), deletion);
    await models.pinVersion("m", 0, true);
    assert.deepEqual(await models.deleteVersions("m", [0], new Date(0)), deletion);
    assert.deepEqual(await models.findVersion("m", 0), sampleVersion("m", 0, { isPinned: true }));
  });

  test("keeps a pinned version until it is unpinned, also after reopening", async (t) => {
    const open = await makeStorage(t);
    const first = await open();
    await storeVersions(first, 2);
    assert.equal((await first.models.pinVersion("m", 1, true))?.isPinned, true);
    assert.equal(await first.models.pinVersion("m", 9, true), null);
    await first.close();
    const { models } = await open();
    const kept = { deleted: [2], notFound: [], pinned: [1], inUse: [] };
    assert.deepEqual(await models.deleteVersions("m", [1, 2], new Date(0)), kept);
    assert.equal((await models.newestVersion("m"))?.isPinned, true);
    assert.equal((await models.pinVersion("m", 1, false))?.isPinned, false);
    assert.deepEqual((await models.deleteVersions("m", [1], new Date(0))).deleted, [1]);
    assert.equal(await models.pinVersion("m", 1, true), null);
  });

  test("keeps a version from which a job started until the job has ended", async (t) => {
    const { models, jobs, ...rest } = await (await makeStorage(t))();
    await storeVersions({ models, jobs, ...rest }, 2);
    for (const [id, startStep] of [
      ["ended", 1],
      ["queued again", 2],
    ] as const) {
      await jobs.create(sampleJob(id, "m"), [], null);
      await jobs.claim("server", moment(9));
      await jobs.pin(id, "server", { ...samplePins, startStep, resultStep: 3 });
      if (id === "ended") await jobs.end(id, "failed", "failed", moment(10));
    }
    const release = { at: moment(9), notBefore: moment(99), attempt: "lost", waitingFor: null } as const;
    await jobs.release("queued again", "server", release);
    const deletion = { deleted: [1], notFound: [], pinned: [], inUse: [2] };
    assert.deepEqual(await models.deleteVersions("m", [1, 2], new Date(0)), deletion);
    await jobs.end("queued again", "cancelled", "cancelled", moment(11));
    assert.deepEqual((await models.deleteVersions("m", [2], new Date(0))).deleted, [2]);
  });

  test("deletes all but the newest versions and those that are needed", async (t) => {
    const { models, jobs, ...rest } = await (await makeStorage(t))();
    await storeVersions({ models, jobs, ...rest }, 7);
    await jobs.create(sampleJob("job", "m"), [], null);
    await jobs.claim("server", moment(9));
    await jobs.pin("job", "server", { ...samplePins, startStep: 1, resultStep: 8 });
    await models.pinVersion("m", 2, true);
    await models.deleteVersions("m", [6], new Date(0));
    const gone = (keptCount: number, ...spared: readonly number[]) =>
      models.deleteOlderVersions("m", {
        keptCount,
        spared: new Set(spared),
        server: "server",
        now: new Date(0),
      });
    assert.deepEqual(await gone(9), []);
    assert.deepEqual(await gone(2, 4), [3]);
    assert.deepEqual(await gone(1), [5, 4]);
    assert.deepEqual(
      (await models.listVersions("m", firstPage)).items.map(({ step }) => step),
      [0, 1, 2, 7],
    );
    const ofNobody = { keptCount: 1, spared: new Set<number>(), server: "server", now: new Date(0) };
    assert.deepEqual(await models.deleteOlderVersions("nobody", ofNobody), []);
  });

  test("gives a version without a job the next step, but none while a job is creating one", async (t) => {
    const { models, jobs, ...rest } = await (await makeStorage(t))();
    await storeVersions({ models, jobs, ...rest }, 2);
    await models.deleteVersions("m", [2], new Date(0));
    const steps: number[] = [];
    const draft = { metrics: { a: 1 }, base: "weights", adapterHash: "own hash", createdAt: moment(5) };
    const add = (id: string, modelId = "m") =>
      models.addVersion({ ...draft, id, modelId }, async (step) => {
        steps.push(step);
        return `folder ${step}`;
      });
    const added = sampleVersion("m", 3, {
      id: "own",
      adapterFolder: "folder 3",
      trainerState: null,
      metrics: { a: 1 },
      adapterHash: "own hash",
      createdAt: moment(5),
    });
    assert.deepEqual(await add("own"), added);
    assert.deepEqual(await models.newestVersion("m"), added);
    await assert.rejects(add("x", "nobody"), { code: "not_found" });
    await jobs.create(sampleJob("job", "m"), [], null);
    await jobs.claim("server", moment(9));
    await add("while it has not begun");
    const pins = await jobs.pin("job", "server", { ...samplePins, startStep: 3, resultStep: 4 });
    assert.equal(pins.resultStep, 5, "the step that it was to have is taken");
    await assert.rejects(add("x"), { code: "conflict" });
    await jobs.end("job", "cancelled", "cancelled", moment(10));
    await add("after");
    assert.deepEqual(steps, [3, 4, 5]);
  });

  test("discards a version whose adapter cannot be stored", async (t) => {
    const { models } = await (await makeStorage(t))();
    await storeModel(models, "m");
    const draft = {
      id: "v",
      modelId: "m",
      metrics: {},
      base: null,
      adapterHash: null,
      createdAt: moment(5),
    };
    await assert.rejects(
      models.addVersion(draft, () => Promise.reject(new Error("no room"))),
      /no room/,
    );
    assert.equal(await models.greatestStep("m"), 0);
    assert.equal((await models.addVersion(draft, async () => "folder")).step, 1);
  });

  test("stores saved names with their state, keeps both, and finds those that have expired", async (t) => {
    const { models, ...rest } = await (await makeStorage(t))();
    await storeVersions({ models, ...rest }, 1);
    const draft = { modelId: "m", metrics: {}, base: "weights", adapterHash: "hash", createdAt: moment(5) };
    const saved = { id: "weights/a", expiresAt: moment(7), metadata: { by: "me" }, baseName: "org/base" };
    const trainerStateIn = (folder: string) => `state in ${folder}`;
    const version = await models.addVersion(
      { ...draft, id: "a", saved, trainerStateIn },
      async () => "folder",
    );
    assert.deepEqual(version.saved, saved);
    assert.deepEqual(await models.findVersion("m", version.step), version);
    assert.deepEqual([version.isPinned, version.trainerState], [true, "state in folder"]);
    const kept = { ...saved, id: "weights/b", expiresAt: null, metadata: null };
    await models.addVersion({ ...draft, id: "b", saved: kept }, async () => "other");
    assert.deepEqual(await models.oldTrainerStates("m", 0), ["state of m:1"]);
    const key = { modelId: "m", step: version.step };
    assert.deepEqual(await models.expiredVersions(moment(6), 9), []);
    assert.deepEqual(await models.expiredVersions(moment(7), 9), [key]);
    assert.equal((await models.setExpiry("m", version.step, null))?.saved?.expiresAt, null);
    assert.deepEqual(await models.expiredVersions(moment(9), 9), []);
    await models.setExpiry("m", version.step, moment(7));
    await models.pinVersion("m", version.step, false);
    await models.deleteVersions("m", [version.step], new Date(0));
    assert.deepEqual(await models.expiredVersions(moment(9), 9), []);
    assert.equal(await models.setExpiry("m", 1, moment(7)), null);
    assert.deepEqual(await models.oldTrainerStates("m", 0), ["state in folder", "state of m:1"]);
  });

  test("keeps the training state of only the newest versions, up to a limit", async (t) => {
    const { models, ...rest } = await (await makeStorage(t))();
    await storeVersions({ models, ...rest }, 4);
    const statesOf = async () =>
      (await models.listVersions("m", firstPage)).items.map(({ trainerState }) => trainerState);
    const [, , , third, fourth] = await statesOf();
    const drop = async (keptCount: number) => {
      const old = await models.oldTrainerStates("m", keptCount);
      await models.dropTrainerStates("m", old);
      return old;
    };
    await models.dropTrainerStates("another", ["state of m:2"]);
    assert.deepEqual(await drop(2), ["state of m:2", "state of m:1"]);
    assert.deepEqual(await statesOf(), [null, null, null, third, fourth]);
    assert.deepEqual(await drop(2), []);
    await models.deleteVersions("m", [4], new Date(0));
    assert.deepEqual(await drop(1), ["state of m:4"]);
    assert.deepEqual(await statesOf(), [null, null, null, third]);
    assert.deepEqual(await drop(0), ["state of m:3"]);
    assert.deepEqual(await models.oldTrainerStates("nobody", 1), []);
  });

  test("completes the recorded base of versions, and leaves versions of other files unchanged", async (t) => {
    const { models, jobs, ...rest } = await (await makeStorage(t))();
    const bases = [null, "files:same", "files:other", "weights", "others"] as const;
    await storeVersions({ models, jobs, ...rest }, bases.length + 1, (step) => bases[step - 1] ?? null);
    await models.deleteVersions("m", [6], new Date(0));
    await models.create(sampleModel("n", { baseModel: "another" }), sampleVersion("n", 0));
    const hashes = { weights: "weights", files: "same" };
    assert.equal(await models.adoptBase("another", hashes), 0);
    assert.equal(await models.adoptBase("tiny", hashes), 1);
    const basesOf = async () => (await models.listVersions("m", firstPage)).items.map(({ base }) => base);
    assert.deepEqual(await basesOf(), [null, "weights", "weights", "files:other", "weights", "others"]);
    assert.equal(await models.adoptBase("tiny", hashes), 0);
    const others = async (limit = 9) =>
      (await models.versionsOverOthers("tiny", "weights", limit)).map(({ step }) => step);
    assert.deepEqual(await others(), [5, 3]);
    assert.deepEqual(await others(1), [5]);
    assert.deepEqual(await models.versionsOverOthers("another", "weights", 9), []);
    await models.create(sampleModel("o"), sampleVersion("o", 0), sampleVersion("o", 1, { base: "others" }));
    assert.deepEqual(await models.acceptBase("m", "weights"), [3, 5]);
    assert.deepEqual(await models.acceptBase("m", "weights"), []);
    assert.deepEqual(await others(), [1], "another model's version is not accepted");
    assert.equal((await basesOf())[0], null, "version 0 is the base itself");
  });

  test("creates a model together with the version copied for it, or not at all", async (t) => {
    const { models } = await (await makeStorage(t))();
    const copied = (id: string) => sampleVersion(id, 1, { copiedKind: "sft", trainerState: null });
    await models.create(sampleModel("m"), sampleVersion("m", 0), copied("m"));
    assert.deepEqual(await models.newestVersion("m"), copied("m"));
    const taken = { ...copied("n"), id: copied("m").id };
    await assert.rejects(models.create(sampleModel("n"), sampleVersion("n", 0), taken), { code: "conflict" });
    assert.equal(await models.findVersion("n", 0), null);
  });

  test("merges metrics into a version's, except those it was created with", async (t) => {
    const { models, trajectories } = await (await makeStorage(t))();
    await models.create(sampleModel("m"), sampleVersion("m", 0, { metrics: { a: 1, b: 2 } }));
    await trajectories.append(sampleLog("l1", { step: 0 }), () => ({ b: 0.1, c: 3, d: 4 }));
    await trajectories.append(sampleLog("l2", { step: 0 }), () => ({ a: 0.2, c: 5 }));
    assert.deepEqual((await models.findVersion("m", 0))?.metrics, { a: 1, b: 2, c: 5, d: 4 });
    await trajectories.append(sampleLog("l3", { step: 7 }), () => ({ a: 1 }));
    assert.equal(await models.findVersion("m", 7), null);
  });

  test("deletes a model with its jobs, events, trajectories and idempotency keys, and nothing else", async (t) => {
    const { models, jobs, trajectories, feedback } = await (await makeStorage(t))();
    await storeModel(models, "m");
    await storeModel(models, "other");
    const key = { keyId: "k", key: "once", bodyHash: "h" };
    await jobs.create(sampleJob("j", "m"), groupLines([sampleGroup(1)]), key);
    await jobs.create(sampleJob("kept", "other"), [], null);
    await trajectories.append(sampleLog("l"), () => ({}));
    await feedback.create([sampleFeedback("f")]);
    assert.equal(await models.delete("m"), true);
    assert.equal(await models.delete("m"), false);
    assert.equal(await models.find("m"), null);
    assert.equal(await models.newestVersion("m"), null);
    assert.equal(await jobs.find("j"), null);
    assert.equal(await jobs.trajectoryLines("j"), null);
    assert.deepEqual((await trajectories.list("m", { split: null }, firstPage)).items, []);
    assert.equal(await trajectories.lines("l"), null);
    assert.notEqual(await jobs.find("kept"), null);
    assert.notEqual(await feedback.find("team/games", "f"), null);
    await storeModel(models, "m");
    assert.deepEqual(await jobs.create(sampleJob("j", "m"), [], key), { id: "j", isNew: true });
  });
}

/** Stores a model `m` with the versions 0 to `lastStep`, which jobs created. */
async function storeVersions(
  { models, jobs, servers }: Pick<Stores, "models" | "jobs" | "servers">,
  lastStep: number,
  baseOf: (step: number) => string | null = () => "weights",
): Promise<void> {
  await storeModel(models, "m");
  await storeServer(servers);
  for (let step = 1; step <= lastStep; step++) {
    const jobId = `job ${step}`;
    await jobs.create(sampleJob(jobId, "m"), [], null);
    await jobs.claim("server", moment(step));
    await jobs.succeed(jobId, {
      owner: "server",
      version: sampleVersion("m", step, { jobId, base: baseOf(step) }),
      counts: sampleCounts,
      at: moment(step + 1),
      data: {},
    });
  }
}
