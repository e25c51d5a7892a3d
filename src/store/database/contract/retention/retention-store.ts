// The contract that every RetentionStore must pass: limits are enforced, bytes are counted as stored, and nothing that
// is still needed is removed.
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import {
  type KeepLimits,
  type KeptKind,
  keptKinds,
  type RetentionStore,
  type SweepPlace,
} from "../../../../base/domain/retention/retention-store.ts";
import type { OutlineFilter } from "../../../../base/domain/summaries/trajectory-outline.ts";
import type { Stores } from "../../stores.ts";
import { sampleQueue } from "../annotation-store.ts";
import { sampleCompletion } from "../completion-store.ts";
import { sampleOrder, sampleRule } from "../rule-store.ts";
import {
  authorOf,
  batchOf,
  firstPage,
  type MakeStorage,
  moment,
  openTwice,
  sampleCounts,
  sampleFeedback,
  sampleGroup,
  sampleJob,
  sampleLog,
  sampleModel,
  samplePins,
  sampleVersion,
  storeModel,
  storeServer,
} from "../storage-under-test.ts";

const noLimits: KeepLimits = { before: null, entityBytes: null, modelCount: null };
const at = moment(1000);
const all = {
  rewardMin: null,
  rewardMax: null,
  metrics: [],
  recordedFrom: null,
  recordedBefore: null,
} as const;
const outlines: OutlineFilter = { source: null, split: null, step: null, ...all };
const everyOutline = { after: null, limit: 100, order: "asc" } as const;

/**
 * Sweeps until nothing more can be removed.
 *
 * @returns number of removed items, by entity
 */
async function swept(
  store: RetentionStore,
  kind: KeptKind,
  limits: Partial<KeepLimits>,
  isDry = false,
): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  for (let from: SweepPlace | null = null, steps = 0; ; steps++) {
    assert.ok(steps < 100, "a sweep comes to an end");
    const step = await store.sweep(kind, { ...noLimits, ...limits }, { from, isDry, at });
    for (const { entity, itemCount } of step.removed) counts[entity] = (counts[entity] ?? 0) + itemCount;
    from = step.next;
    if (from === null) break;
  }
  if (!isDry) while (await store.clear());
  return counts;
}

/** Opens stores with the models `m` and `n` of the entity `team`, and a model `o` of another entity. */
async function withModels(makeStorage: MakeStorage, t: TestContext): Promise<Stores> {
  const stores = await (await makeStorage(t))();
  for (const id of ["m", "n"]) await storeModel(stores.models, id);
  await stores.models.create(sampleModel("o", { entity: "other" }), sampleVersion("o", 0));
  await storeServer(stores.servers);
  return stores;
}

async function appendLog(
  { trajectories }: Stores,
  id: string,
  changes: Parameters<typeof sampleLog>[1] = {},
): Promise<void> {
  await trajectories.append(sampleLog(id, changes), ({ metrics }) => ({
    "data/step_num_groups": 1,
    "data/cum/num_groups": (metrics["data/cum/num_groups"] ?? 0) + 1,
  }));
}

async function logsIn({ trajectories }: Stores, modelId: string): Promise<readonly string[]> {
  const { items } = await trajectories.list(modelId, { split: null }, firstPage);
  return items.map(({ id }) => id);
}

/**
 * Stores a job that has ended. The job has two events: the last event, which says how it ended, and one earlier event.
 */
async function endedJob(
  { jobs }: Stores,
  id: string,
  seconds: number,
  { modelId = "m", lines = [`{"of":"${id}"}`], retryOf = null as string | null } = {},
): Promise<void> {
  await jobs.create(sampleJob(id, modelId, { retryOf }), lines, null, { outlines: [] });
  assert.equal((await jobs.claim("server", moment(seconds)))?.id, id);
  await jobs.appendEvent(id, "server", 0, { type: "training_started", data: { num_sequences: 1 } });
  await jobs.end(id, "failed", "no", moment(seconds));
}

async function isThere({ jobs }: Stores, id: string): Promise<boolean> {
  return (await jobs.find(id))?.dataRemovedAt === null;
}

async function recordingsIn({ completions }: Stores): Promise<readonly string[]> {
  const none = { entity: null, projectId: null, modelId: null, step: null, requestId: null };
  const filter = { ...none, endedFrom: null, endedBefore: null, feedback: null };
  const { items } = await completions.list(filter, everyOutline);
  return items.map(({ requestId }) => requestId);
}

/** Registers the tests that a retention store must pass. */
export function checkRetentionStore(makeStorage: MakeStorage): void {
  test("removes expired logs with their trajectories, and keeps the newest log of each model", async (t) => {
    const stores = await withModels(makeStorage, t);
    const { retention, trajectories } = stores;
    for (const [index, id] of ["a", "b", "c"].entries())
      await appendLog(stores, id, { recordedAt: moment(index), groups: [sampleGroup(index)] });
    await appendLog(stores, "only", { modelId: "o", recordedAt: moment(0) });
    assert.deepEqual(await swept(retention, "trajectories", {}), {});
    assert.deepEqual(await swept(retention, "trajectories", { before: moment(1) }), { team: 1 });
    assert.deepEqual(await logsIn(stores, "m"), ["b", "c"]);
    assert.equal(await trajectories.find("a"), null);
    assert.equal(await trajectories.lines("a"), null);
    const listed = await trajectories.listOutlines("m", outlines, everyOutline);
    assert.deepEqual(
      listed.items.map(({ number, sourceId }) => [number, sourceId]),
      [
        [2, "b"],
        [3, "c"],
      ],
    );
    assert.equal(await trajectories.findOutline("m", 1), null);
    assert.deepEqual(await trajectories.countOutlines("m", null), [
      { source: "log", split: "val", count: 2, meanReward: 1.5 },
    ]);
    assert.deepEqual(await swept(retention, "trajectories", { before: moment(100) }), { team: 1 });
    await appendLog(stores, "d", { recordedAt: moment(9) });
    const { metrics } = (await trajectories.find("d")) ?? assert.fail("it was stored");
    assert.equal(metrics["data/cum/num_groups"], 4, "sums go on");
    assert.deepEqual(await logsIn(stores, "m"), ["c", "d"]);
    assert.deepEqual(await logsIn(stores, "o"), ["only"]);
    assert.equal((await trajectories.findOutline("m", 4))?.sourceId, "d", "numbers are not used again");
  });

  test("removes the oldest data of an entity over its limit, across models; a dry sweep only reports it", async (t) => {
    const stores = await withModels(makeStorage, t);
    const { retention } = stores;
    for (const [index, id] of ["a", "b", "c", "d", "e", "f"].entries()) {
      const modelId = index % 2 === 0 ? "m" : "n";
      await appendLog(stores, id, { modelId, recordedAt: moment(index) });
    }
    for (const id of ["x", "y", "z"]) await appendLog(stores, id, { modelId: "o" });
    const bytesOfOne = ((await stores.trajectories.find("a"))?.contentBytes ?? 0) + 0;
    const stored = async (entity: string | null) =>
      (await retention.stored(entity)).trajectories / bytesOfOne;
    assert.deepEqual(await Promise.all([stored(null), stored("team"), stored("other")]), [9, 6, 3]);
    const limits = { entityBytes: 3 * bytesOfOne };
    assert.deepEqual(await swept(retention, "trajectories", limits, true), { team: 3 });
    assert.deepEqual(await Promise.all([stored("team"), stored("other")]), [6, 3]);
    assert.deepEqual(await swept(retention, "trajectories", { ...limits, before: moment(1) }, true), {
      team: 3,
    });
    assert.deepEqual(await swept(retention, "trajectories", limits), { team: 3 });
    assert.deepEqual([await logsIn(stores, "m"), await logsIn(stores, "n")], [["e"], ["d", "f"]]);
    assert.deepEqual(await swept(retention, "trajectories", limits), {});
    assert.deepEqual(await swept(retention, "trajectories", { entityBytes: 1 }), { team: 1, other: 2 });
    assert.deepEqual([await stored("team"), await stored("other")], [2, 1]);
    await stores.models.delete("m");
    assert.deepEqual([await stored("team"), await stored(null)], [1, 2]);
  });

  test("removes an ended job's training data and all events but the last, and keeps the job", async (t) => {
    const stores = await withModels(makeStorage, t);
    const { retention, jobs } = stores;
    await endedJob(stores, "a", 1);
    await endedJob(stores, "b", 2);
    await jobs.create(sampleJob("queued", "m", { createdAt: moment(0) }), ["{}"], null);
    assert.deepEqual(await swept(retention, "jobs", { before: moment(2) }), { team: 1 });
    const job = (await jobs.find("a")) ?? assert.fail("it stays");
    assert.deepEqual([job.state, job.dataRemovedAt], ["failed", at]);
    const refused = { code: "conflict", message: /What training job a trained on was removed at 2026/ };
    await assert.rejects(jobs.trajectoryLines("a"), refused);
    await assert.rejects(jobs.create(sampleJob("again", "m", { retryOf: "a" }), [], null), refused);
    await assert.rejects(jobs.create(sampleJob("replay", "m", { replayOf: "a" }), [], null), refused);
    assert.equal(await jobs.find("again"), null);
    const types = (await jobs.listEvents("a", firstPage)).items.map(({ type }) => type);
    assert.deepEqual(types, ["training_failed"]);
    assert.equal((await jobs.listEvents("b", firstPage)).items.length, 2);
    assert.deepEqual(await swept(retention, "jobs", { entityBytes: 1 }), { team: 1 });
    assert.equal((await retention.stored("team")).jobs, 2, "the queued one's lines");
    assert.deepEqual(await swept(retention, "jobs", { before: moment(99), entityBytes: 1 }), {});
  });

  test("keeps the data of jobs that another job retries or repeats, or that created a pinned version", async (t) => {
    const stores = await withModels(makeStorage, t);
    const { retention, jobs, models } = stores;
    await endedJob(stores, "tried", 1);
    await endedJob(stores, "other", 2);
    await jobs.create(sampleJob("retry", "m", { retryOf: "tried" }), [], null);
    const everything = { before: moment(500), entityBytes: 0 };
    assert.deepEqual(await swept(retention, "jobs", everything, true), { team: 1 });
    assert.deepEqual(await swept(retention, "jobs", everything), { team: 1 });
    assert.deepEqual([await isThere(stores, "tried"), await isThere(stores, "other")], [true, false]);
    await jobs.claim("server", moment(3));
    await jobs.pin("retry", "server", samplePins);
    const version = sampleVersion("m", 1, { jobId: "retry" });
    await jobs.succeed("retry", { owner: "server", version, counts: sampleCounts, at: moment(4), data: {} });
    await models.pinVersion("m", 1, true);
    await endedJob(stores, "later", 5);
    assert.deepEqual(await swept(retention, "jobs", everything), { team: 1 });
    assert.deepEqual(await Promise.all(["tried", "retry", "later"].map((id) => isThere(stores, id))), [
      true,
      true,
      false,
    ]);
    await endedJob(stores, "last", 6);
    await jobs.create(sampleJob("replay", "m", { replayOf: "retry" }), [], null);
    await models.pinVersion("m", 1, false);
    assert.deepEqual(await swept(retention, "jobs", everything), {}, "a replay may need them all");
    await jobs.requestCancel("replay", moment(7));
    assert.deepEqual(await swept(retention, "jobs", everything), { team: 4 });
    assert.equal((await retention.stored(null)).jobs, 0);
  });

  test("removes recordings by age, by a model's count and by an entity's bytes, oldest first", async (t) => {
    const stores = await withModels(makeStorage, t);
    const { retention, completions } = stores;
    const ids = Array.from({ length: 30 }, (_, index) => String(index));
    await completions.add(ids.map((id, index) => sampleCompletion(id, { endedAt: moment(index) })));
    await completions.add([sampleCompletion("n", { modelId: "n", endedAt: moment(30) })]);
    await completions.add([
      sampleCompletion("o", { modelId: "o", projectId: "other/games", endedAt: moment(31) }),
    ]);
    assert.deepEqual(await swept(retention, "recordings", {}), {});
    const limits = { before: moment(4), modelCount: 10 };
    assert.deepEqual(await swept(retention, "recordings", limits, true), { team: 20 });
    assert.deepEqual(await swept(retention, "recordings", { before: moment(4) }), { team: 4 });
    assert.deepEqual(await swept(retention, "recordings", limits), { team: 16 });
    assert.deepEqual(await recordingsIn(stores), [...ids.slice(20), "n", "o"]);
    await completions.delete({ projectId: "team/games", requestId: "28" });
    const { recordings: before } = await retention.stored("team");
    await completions.add([sampleCompletion("29", { endedAt: moment(32) })]);
    assert.equal((await retention.stored("team")).recordings, before, "it took another's place");
    assert.deepEqual(await swept(retention, "recordings", { entityBytes: before - 1 }), { team: 1 });
    assert.equal((await recordingsIn(stores))[0], "21");
    assert.deepEqual(await swept(retention, "recordings", { entityBytes: 0 }), { team: 9, other: 1 });
    assert.equal((await retention.stored(null)).recordings, 0, "what they shared is counted too");
  });

  test("keeps recordings that are queued for annotation, or that an automatic rule is about to train on", async (t) => {
    const stores = await withModels(makeStorage, t);
    const { retention, completions, annotation, feedback, rules } = stores;
    await completions.add(["a", "to/do", "c", "noted", "ready"].map((id) => sampleCompletion(id)));
    await annotation.createQueue(sampleQueue("q"));
    const call = { callId: "to%2Fdo", vendorRef: "weave:///team/games/call/to%2Fdo" };
    const adding = { displayFields: [], addedBy: "Ada", at: moment(1), itemsMax: 10, newId: () => "item" };
    await annotation.addItems("q", [call], adding);
    for (const id of ["noted", "ready"])
      await feedback.create([sampleFeedback(id, { vendorRef: `hone:///team/games/call/${id}` })]);
    await rules.create(sampleRule("r", { standing: sampleOrder }), { countMax: 9 });
    await rules.claim("server");
    await rules.advance(
      { ruleId: "r", owner: "server", updatedAt: moment(0) },
      {
        from: null,
        to: 2,
        notes: ["noted", "ready"].map((id) => ({ feedbackId: id, promptHash: `prompt of ${id}` })),
        prompts: new Map([
          ["prompt of noted", false],
          ["prompt of ready", true],
        ]),
      },
    );
    const everything = { before: moment(500), entityBytes: 0, modelCount: 0 };
    assert.deepEqual(await swept(retention, "recordings", everything), { team: 3 });
    assert.deepEqual(await recordingsIn(stores), ["to/do", "ready"]);
    const key = { queueId: "q", itemId: "item", annotator: "ann" };
    await annotation.move(key, { to: "completed", from: ["unstarted"], at: moment(2), until: moment(3) });
    assert.deepEqual(await swept(retention, "recordings", everything), { team: 1 });
    assert.deepEqual(await recordingsIn(stores), ["ready"]);
    await rules.delete("r");
    assert.deepEqual(await swept(retention, "recordings", everything), { team: 1 });
  });

  test("removes replaced feedback by its replacement time, and keeps the current record", async (t) => {
    const stores = await withModels(makeStorage, t);
    const { retention, feedback } = stores;
    const replace = async (projectId: string, id: string, seconds: number): Promise<void> => {
      const { id: _id, createdAt: _at, ...content } = sampleFeedback(id, { projectId, payload: { seconds } });
      await feedback.replace(projectId, id, content, moment(seconds));
    };
    for (const [projectId, id] of [
      ["team/games", "a"],
      ["team/chess", "b"],
      ["other/games", "a"],
    ] as const) {
      await feedback.create([sampleFeedback(id, { projectId })]);
      for (const seconds of [10, 20, 30]) await replace(projectId, id, seconds);
    }
    const stored = async (entity: string | null) => (await retention.stored(entity)).revisions;
    const [ofTeam, ofOther] = [await stored("team"), await stored("other")];
    assert.ok(ofTeam > ofOther && ofOther > 0);
    assert.deepEqual(await swept(retention, "revisions", { before: moment(20) }), { team: 2, other: 1 });
    const history = async () => (await feedback.history("team/games", "a", firstPage)).items;
    assert.deepEqual(
      (await history()).map(({ replacedAt }) => replacedAt),
      [moment(20), moment(30)],
    );
    const limit = await stored("other");
    assert.deepEqual(await swept(retention, "revisions", { entityBytes: limit }, true), { team: 2 });
    assert.deepEqual(await swept(retention, "revisions", { entityBytes: limit }), { team: 2 });
    await replace("team/games", "a", 40);
    assert.equal((await history()).at(-1)?.replacedAt.getTime(), moment(40).getTime());
    await feedback.delete("team/games", ["a"]);
    await feedback.delete("team/chess", ["b"]);
    assert.equal(await stored("team"), 0);
    assert.deepEqual(await swept(retention, "revisions", { entityBytes: 0 }), { other: 2 });
    assert.equal(await stored(null), 0);
    assert.notEqual(await feedback.find("other/games", "a"), null);
  });

  test("counts the payloads of feedback and files for as long as they exist", async (t) => {
    const stores = await withModels(makeStorage, t);
    const { retention, feedback, files, traces } = stores;
    const other = sampleFeedback("c", { projectId: "other/games", payload: { é: "👍" } });
    await feedback.create([sampleFeedback("a", { payload: { text: "é".repeat(1000) } })]);
    const ofFeedback = async (entity: string | null) => (await retention.stored(entity)).feedback;
    const one = await ofFeedback("team");
    assert.ok(one > 2000 && one < 2100, String(one));
    assert.equal(
      await feedback.createBatch(batchOf(feedback, [sampleFeedback("b"), other]), authorOf(other)),
      true,
    );
    assert.equal(
      await feedback.createBatch(batchOf(feedback, [sampleFeedback("b")]), authorOf(other)),
      false,
    );
    assert.equal(await ofFeedback("other"), Buffer.byteLength(JSON.stringify(other.payload)));
    const both = await ofFeedback("team");
    await feedback.create([sampleFeedback("b"), sampleFeedback("d")]);
    assert.equal((await ofFeedback("team")) - both, both - one, "one of them was there");
    const { id: _id, createdAt: _at, ...content } = sampleFeedback("b");
    await feedback.replace("team/games", "a", content, moment(2));
    assert.equal(await ofFeedback("team"), 3 * (both - one));
    await feedback.delete("team/games", ["a", "b", "d", "none"]);
    assert.deepEqual([await ofFeedback("team"), await ofFeedback(null)], [0, await ofFeedback("other")]);
    const dates = { createdAt: moment(0), usedAt: moment(0) };
    const about = { entity: "team", name: "n", purpose: "fine-tune", expiresAt: null, ...dates };
    await files.create({ ...about, id: "f", byteCount: 2 ** 40 }, 2 ** 50);
    await files.create({ ...about, id: "g", byteCount: 3 }, 2 ** 50);
    const traced = {
      projectId: "team/games",
      digest: "d",
      fileId: "t",
      entity: "team",
      createdAt: moment(0),
    };
    await traces.files.create({ ...traced, byteCount: 5 }, 2 ** 50);
    const { files: ofFiles, traces: ofTraces } = await retention.stored("team");
    assert.deepEqual([ofFiles, ofTraces], [2 ** 40 + 3, 5]);
    await files.delete("f");
    assert.equal((await retention.stored(null)).files, 3);
  });

  test("lists removed data by day, kind and entity", async (t) => {
    const stores = await withModels(makeStorage, t);
    const { retention } = stores;
    for (const id of ["a", "b", "c"]) await appendLog(stores, id);
    await endedJob(stores, "j", 1);
    const bytesOfOne = (await stores.trajectories.find("a"))?.contentBytes ?? 0;
    const from = null;
    const limits = { ...noLimits, before: moment(500) };
    await retention.sweep("trajectories", limits, { from, isDry: true, at });
    assert.deepEqual(await retention.removed(null, 10), []);
    await retention.sweep("trajectories", limits, { from, isDry: false, at });
    await appendLog(stores, "d");
    const later = moment(86_400);
    await retention.sweep("trajectories", limits, { from, isDry: false, at: moment(1001) });
    await retention.sweep("jobs", limits, { from, isDry: false, at: later });
    const [job, ...logs] = await retention.removed("team", 10);
    const day = { kind: "trajectories", entity: "team", day: "2026-11-21" } as const;
    assert.deepEqual(logs, [{ ...day, itemCount: 3, byteCount: 3 * bytesOfOne, lastAt: moment(1001) }]);
    assert.deepEqual([job.day, job.kind, job.itemCount, job.lastAt], ["2026-11-22", "jobs", 1, later]);
    assert.equal((await retention.removed(null, 1)).length, 1);
    assert.deepEqual(await retention.removed("other", 10), []);
  });

  test("lets one server sweep at a time, until it finishes, loses its lease or is late", async (t) => {
    const [{ retention, servers }, other] = await openTwice(makeStorage, t);
    for (const id of ["one", "two"]) await storeServer(servers, id);
    assert.equal(await retention.claim("one", moment(0), moment(60)), true);
    assert.equal(await other.retention.claim("two", moment(1), moment(61)), false);
    assert.equal(await retention.claim("one", moment(2), moment(62)), true);
    await other.retention.release("two");
    assert.equal(await other.retention.claim("two", moment(3), moment(63)), false);
    assert.equal(await other.retention.claim("two", moment(62), moment(120)), true, "it is late");
    assert.equal(await retention.claim("one", moment(63), moment(123)), false);
    await other.retention.release("two");
    assert.equal(await retention.claim("one", moment(64), moment(124)), true);
    await servers.delete("one");
    assert.equal(await other.retention.claim("two", moment(65), moment(125)), true, "its lease is gone");
  });

  test("removes each item once when two servers sweep concurrently", async (t) => {
    const [stores, other] = await openTwice(makeStorage, t);
    await storeModel(stores.models, "m");
    await storeServer(stores.servers);
    for (let index = 0; index < 8; index++) {
      await appendLog(stores, `log ${index}`, { recordedAt: moment(index) });
      await endedJob(stores, `job ${index}`, index);
    }
    const ids = Array.from({ length: 40 }, (_, index) => String(index));
    await stores.completions.add(ids.map((id) => sampleCompletion(id)));
    const limits = { before: moment(500), entityBytes: 0 };
    const counts = await Promise.all(
      keptKinds.flatMap((kind) =>
        [stores, other].map(async ({ retention }) => (await swept(retention, kind, limits))["team"] ?? 0),
      ),
    );
    const sums = [0, 2, 4, 6].map((index) => (counts[index] ?? 0) + (counts[index + 1] ?? 0));
    assert.deepEqual(sums, [7, 8, 40, 0]);
    const { trajectories, ...rest } = await stores.retention.stored(null);
    assert.equal(trajectories, (await stores.trajectories.find("log 7"))?.contentBytes);
    const none = { jobs: 0, recordings: 0, revisions: 0, feedback: 0, files: 0, traces: 0 };
    assert.deepEqual(rest, none);
    const removed = await stores.retention.removed(null, 10);
    assert.deepEqual(
      removed.map(({ kind, itemCount }) => [kind, itemCount]),
      [
        ["jobs", 8],
        ["recordings", 40],
        ["trajectories", 7],
      ],
    );
  });
}
