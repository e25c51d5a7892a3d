// The contract that every JobStore must pass.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { present } from "../../../base/domain/assert.ts";
import type { JobDraft, JobStore } from "../../../base/domain/job.ts";
import { resolveSupervisedConfig } from "../../../base/domain/supervised/supervised-config.ts";
import { resolveTrainingConfig } from "../../../base/domain/training-config.ts";
import type { TrajectoryGroup } from "../../../base/domain/trajectory.ts";
import type { Stores } from "../stores.ts";
import {
  firstPage,
  type MakeStorage,
  moment,
  sampleCounts,
  sampleGroup,
  groupLines,
  sampleJob,
  sampleModel,
  samplePins,
  sampleVersion,
  storeModel,
  storeServer,
} from "./storage-under-test.ts";

const claimNow = (jobs: JobStore, owner = "server") => jobs.claim(owner, moment(10));

/** Simulates a server that dies and returns. In between, its jobs are queued again. */
const loseServer = async (
  { jobs, servers }: Pick<Stores, "jobs" | "servers">,
  notBefore: (restartCount: number) => Date = () => moment(0),
  id = "server",
): Promise<void> => {
  await servers.delete(id);
  await jobs.rescue({ at: moment(10), notBefore });
  await storeServer(servers, id);
};

/** Options of a requeue: the attempt was lost at moment 10, and the job may be retried immediately. */
const lostNow = { at: moment(10), notBefore: moment(0), attempt: "lost", waitingFor: null } as const;

const sampleProgress = {
  phase: "training",
  prepared: { count: 5, total: 6 },
  gradientStepCount: 2,
  gradientStepCountTotal: 4,
  savedStepCount: 1,
  endsAt: moment(9),
} as const;

const succeedNow = (jobs: JobStore, id: string, step: number, owner = "server") =>
  jobs.succeed(id, {
    owner,
    version: sampleVersion("m", step, { id: `${id}:${step}`, jobId: id }),
    counts: sampleCounts,
    at: moment(20),
    data: { loss: 0.5 },
  });

const linesOf = async (jobs: JobStore, id: string): Promise<readonly string[] | null> => {
  const stored = await jobs.trajectoryLines(id);
  if (stored === null) return null;
  const lines: string[] = [];
  for await (const line of stored) lines.push(line);
  return lines;
};

/** Returns the content hash that the store computes for a job. */
const contentHashOf = (job: JobDraft, groups: readonly TrajectoryGroup[]): string =>
  createHash("sha256")
    .update([job.task.config, ...groups].map((part) => `${JSON.stringify(part)}\n`).join(""))
    .digest("hex");

const eventsOf = async (jobs: JobStore, id: string) =>
  (await jobs.listEvents(id, firstPage)).items.map(({ type, data }) => [type, data]);

/** Registers the tests that a job store must pass. */
export function checkJobStore(makeStorage: MakeStorage): void {
  checkSubmission(makeStorage);
  checkClaims(makeStorage);
  checkEvents(makeStorage);
  checkEndings(makeStorage);
}

/** Returns a function that opens an empty database, and stores the models `m` and `n` and two servers in it. */
function withModels(makeStorage: MakeStorage) {
  return async (...[context]: Parameters<MakeStorage>) => {
    const database = await (await makeStorage(context))();
    await storeModel(database.models, "m");
    await storeModel(database.models, "n");
    for (const id of ["server", "another"]) await storeServer(database.servers, id);
    return database;
  };
}

function checkSubmission(makeStorage: MakeStorage): void {
  const openWithModels = withModels(makeStorage);

  test("returns a job with its training data, also after reopening", async (t) => {
    const open = await makeStorage(t);
    const first = await open();
    await storeModel(first.models, "m");
    await storeServer(first.servers);
    const groups = [sampleGroup(1), sampleGroup(0)];
    assert.deepEqual(await first.jobs.create(sampleJob("j", "m"), groupLines(groups), null), {
      id: "j",
      isNew: true,
    });
    await first.close();
    const { jobs } = await open();
    const contentHash = contentHashOf(sampleJob("j", "m"), groups);
    assert.deepEqual(await jobs.find("j"), { ...sampleJob("j", "m"), contentHash, dataRemovedAt: null });
    assert.deepEqual(
      await linesOf(jobs, "j"),
      groups.map((group) => JSON.stringify(group)),
    );
    assert.equal(await jobs.find("x"), null);
    assert.equal(await linesOf(jobs, "x"), null);
  });

  test("returns every field that is set on a job", async (t) => {
    const { jobs } = await openWithModels(t);
    const draft = sampleJob("j", "m", {
      state: "failed",
      startedAt: moment(1),
      endedAt: moment(2),
      errorMessage: "It was lost.",
      attemptCount: 1,
      lostCount: 2,
      restartCount: 3,
      waitingFor: "a full disk",
      warnings: ["The learning rate is high."],
      counts: sampleCounts,
      resultStep: 4,
      cancelRequested: true,
      pins: samplePins,
    });
    await jobs.create(draft, [], null);
    assert.deepEqual(await jobs.find("j"), {
      ...draft,
      contentHash: contentHashOf(draft, []),
      dataRemovedAt: null,
    });
  });

  test("keeps the configuration of each kind of job, and lists jobs of one kind", async (t) => {
    const { jobs } = await openWithModels(t);
    const config = resolveSupervisedConfig({ learningRate: [0.1 + 0.2, 1e-300], isShuffled: false });
    const supervised = sampleJob("s", "m", { task: { kind: "sft", config } });
    await jobs.create(sampleJob("r", "m"), [], null);
    await jobs.create(supervised, [], null);
    assert.deepEqual((await jobs.find("s"))?.task, supervised.task);
    for (const [kind, ids] of [
      ["rl", ["r"]],
      ["sft", ["s"]],
      [null, ["r", "s"]],
    ] as const) {
      const { items } = await jobs.list({ entity: null, modelId: "m", kind, state: null }, firstPage);
      assert.deepEqual(
        items.map(({ id }) => id),
        ids,
      );
    }
  });

  test("hashes configuration and trajectories, not ids and times", async (t) => {
    const { jobs } = await openWithModels(t);
    const hashOf = async (id: string, changes: Partial<JobDraft>, rewards: readonly number[]) => {
      await jobs.create(sampleJob(id, "m", changes), groupLines(rewards.map(sampleGroup)), null);
      return (await jobs.find(id))?.contentHash;
    };
    const hash = await hashOf("a", {}, [1, 0]);
    assert.equal(await hashOf("b", { modelId: "n", createdAt: moment(9) }, [1, 0]), hash);
    assert.notEqual(await hashOf("c", {}, [0, 1]), hash);
    const config = resolveTrainingConfig({ learningRate: 1 });
    assert.notEqual(await hashOf("d", { task: { kind: "rl", config } }, [1, 0]), hash);
  });

  test("returns a group of several megabytes in parts, and hashes it as a whole", async (t) => {
    const { jobs } = await openWithModels(t);
    const groups = [sampleGroup(1), { ...sampleGroup(2), logs: ["é".repeat(3 << 20)] }, sampleGroup(3)];
    const job = sampleJob("j", "m");
    await jobs.create(job, groupLines(groups), null);
    const parts = await linesOf(jobs, "j");
    assert.deepEqual(parts, groupLines(groups));
    assert.equal(parts.length, 6);
    assert.equal((await jobs.find("j"))?.contentHash, contentHashOf(job, groups));
  });

  test("throws if trajectories are removed while they are read, rather than ending early", async (t) => {
    const { jobs, models } = await openWithModels(t);
    await jobs.create(sampleJob("j", "m"), groupLines([sampleGroup(1), sampleGroup(0)]), null);
    const lines = (await jobs.trajectoryLines("j"))?.[Symbol.asyncIterator]();
    assert.equal((await lines?.next())?.done, false);
    await models.delete("m");
    await assert.rejects(async () => await lines?.next(), { code: "not_found" });
  });

  test("records the request that created a job, regardless of the reader", async (t) => {
    const { jobs } = await openWithModels(t);
    const madeBy = { requestId: "r-1", traceparent: "00-1-2-01" };
    await jobs.create(sampleJob("a", "m", { madeBy }), [], null);
    await jobs.create(sampleJob("b", "m", { madeBy: { ...madeBy, traceparent: null } }), [], null);
    await jobs.create(sampleJob("c", "m"), [], null);
    assert.deepEqual((await jobs.find("a"))?.madeBy, madeBy);
    assert.deepEqual((await jobs.find("b"))?.madeBy, { ...madeBy, traceparent: null });
    const unknown = await jobs.find("c");
    assert.ok(unknown !== null && !("madeBy" in unknown));
    assert.deepEqual((await jobs.claim("server", new Date(0)))?.madeBy, madeBy);
  });

  test("refuses a job for a model that does not exist", async (t) => {
    const { jobs } = await openWithModels(t);
    await assert.rejects(jobs.create(sampleJob("j", "nobody"), [], null), { code: "not_found" });
    assert.equal(await jobs.find("j"), null);
  });

  test("returns the earlier job for an idempotency key, and a conflict for another body", async (t) => {
    const { jobs } = await openWithModels(t);
    const key = { keyId: "k", key: "once", bodyHash: "h" };
    assert.equal(await jobs.findCreated(key), null);
    await jobs.create(sampleJob("a", "m"), [], key);
    assert.equal(await jobs.findCreated(key), "a");
    assert.deepEqual(await jobs.create(sampleJob("b", "m"), [], key), { id: "a", isNew: false });
    assert.equal(await jobs.find("b"), null);
    const otherBody = { ...key, bodyHash: "other" };
    await assert.rejects(jobs.create(sampleJob("b", "m"), [], otherBody), { code: "conflict" });
    await assert.rejects(jobs.findCreated(otherBody), { code: "conflict" });
    const anothers = { ...key, keyId: "another" };
    assert.equal(await jobs.findCreated(anothers), null);
    assert.deepEqual(await jobs.create(sampleJob("b", "m"), [], anothers), { id: "b", isNew: true });
  });

  test("lists jobs in submission order by model and state, in pages", async (t) => {
    const { jobs } = await openWithModels(t);
    for (const [id, model] of [
      ["d", "m"],
      ["c", "n"],
      ["b", "m"],
      ["a", "m"],
    ]) {
      await jobs.create(sampleJob(id, model), [], null);
    }
    await claimNow(jobs);
    const all = { entity: null, modelId: null, kind: null, state: null };
    const page = await jobs.list(all, { ...firstPage, limit: 3 });
    assert.deepEqual([page.items.map((job) => job.id), page.hasMore], [["d", "c", "b"], true]);
    const rest = await jobs.list(all, { ...firstPage, after: "b" });
    assert.deepEqual([rest.items.map((job) => job.id), rest.hasMore], [["a"], false]);
    const queued = await jobs.list(
      { ...all, modelId: "m", state: "queued" },
      { ...firstPage, order: "desc" },
    );
    assert.deepEqual(
      queued.items.map((job) => job.id),
      ["a", "b"],
    );
    assert.deepEqual((await jobs.list({ ...all, entity: "nobody" }, firstPage)).items, []);
    assert.equal((await jobs.list({ ...all, entity: "team" }, firstPage)).items.length, 4);
    const ofText = async (text: string) =>
      (await jobs.list({ ...all, text }, firstPage)).items.map(({ id }) => id);
    assert.deepEqual(await ofText("team/GAMES/name of n"), ["c"]);
    assert.deepEqual(await ofText("%"), []);
    const small = await jobs.list(all, { ...firstPage, bytesMax: 1 });
    assert.deepEqual([small.items.map((job) => job.id), small.hasMore], [["d"], true]);
    await assert.rejects(jobs.list(all, { ...firstPage, after: "x" }), { code: "invalid" });
  });

  test("continues a list of jobs after a job of its models in any state, and after no other", async (t) => {
    const { jobs } = await openWithModels(t);
    for (const [id, model] of [
      ["m1", "m"],
      ["n1", "n"],
      ["m2", "m"],
    ])
      await jobs.create(sampleJob(id, model), [], null);
    await claimNow(jobs);
    const all = { entity: null, modelId: null, kind: null, state: null };
    const queued = await jobs.list({ ...all, modelId: "m", state: "queued" }, { ...firstPage, after: "m1" });
    assert.deepEqual(
      queued.items.map(({ id }) => id),
      ["m2"],
    );
    for (const filter of [
      { ...all, modelId: "m" },
      { ...all, entity: "nobody" },
    ])
      await assert.rejects(jobs.list(filter, { ...firstPage, after: "n1" }), { code: "invalid" });
  });
}

function checkClaims(makeStorage: MakeStorage): void {
  const openWithModels = withModels(makeStorage);

  test("claims the oldest job first, one of each model at a time", async (t) => {
    const { jobs } = await openWithModels(t);
    await jobs.create(sampleJob("m1", "m"), [], null);
    await jobs.create(sampleJob("m2", "m"), [], null);
    await jobs.create(sampleJob("n1", "n"), [], null);
    // The store may choose the order of concurrent claims, so the test sorts them.
    const claims = await Promise.all([claimNow(jobs), claimNow(jobs), claimNow(jobs)]);
    const [first, second, ...others] = claims
      .flatMap((job) => job ?? [])
      .toSorted((one, other) => one.id.localeCompare(other.id));
    assert.deepEqual([first?.id, second?.id, others], ["m1", "n1", []]);
    const running = { state: "running" as const, attemptCount: 1, startedAt: moment(10) };
    const contentHash = contentHashOf(sampleJob("m1", "m"), []);
    const expected = { ...sampleJob("m1", "m", running), contentHash, dataRemovedAt: null };
    assert.deepEqual(first, expected);
    await succeedNow(jobs, "m1", 1);
    assert.equal((await claimNow(jobs))?.id, "m2");
  });

  test("rotates among entities and among the models of each, however many jobs one has queued", async (t) => {
    const { jobs, models } = await openWithModels(t);
    await models.create(sampleModel("r", { entity: "rivals" }), sampleVersion("r", 0));
    for (const id of ["m1", "m2", "m3", "n1", "r1", "r2"])
      await jobs.create(sampleJob(id, id.charAt(0)), [], null);
    const order: string[] = [];
    for (let job = await claimNow(jobs); job !== null; job = await claimNow(jobs)) {
      order.push(job.id);
      await jobs.end(job.id, "failed", "", moment(20));
    }
    assert.deepEqual(order, ["m1", "r1", "n1", "r2", "m2", "m3"]);
  });

  test("gives a job to servers that have its base model, and names the missing model while none does", async (t) => {
    const { jobs, models, servers } = await openWithModels(t);
    await models.create(sampleModel("g", { baseModel: "great" }), sampleVersion("g", 0));
    for (const id of ["g1", "m1", "m2"]) await jobs.create(sampleJob(id, id.charAt(0)), [], null);
    assert.equal((await claimNow(jobs))?.id, "m1");
    const waiting = async () => {
      const { items } = await jobs.list({ entity: null, modelId: null, kind: null, state: null }, firstPage);
      return items.map(({ waitingFor }) => /"\w+"/.exec(waitingFor ?? "")?.[0] ?? waitingFor);
    };
    assert.deepEqual(await waiting(), ['"great"', null, null]);
    await storeServer(servers, "great", ["great", "great", "other"]);
    assert.deepEqual(await waiting(), [null, null, null]);
    for (const id of ["server", "another"]) await servers.delete(id);
    await jobs.create(sampleJob("m3", "m"), [], null);
    assert.deepEqual(await waiting(), [null, null, '"tiny"', '"tiny"'], "what runs has what it needs");
    assert.match((await jobs.find("m3"))?.waitingFor ?? "", /"tiny" is not served/);
    await servers.delete("great");
    assert.deepEqual(
      (await jobs.countWaiting()).map(({ waitingFor, count }) => [/"\w+"/.exec(waitingFor)?.[0], count]),
      [
        ['"tiny"', 2],
        ['"great"', 1],
      ],
    );
    await jobs.requestCancel("m3", moment(11));
    assert.equal((await jobs.find("m3"))?.waitingFor, null);
    assert.equal((await jobs.countWaiting())[0]?.count, 1);
    await storeServer(servers, "new", ["great"]);
    assert.equal((await claimNow(jobs, "new"))?.id, "g1");
    assert.equal(await claimNow(jobs, "new"), null);
  });

  test("holds back only the later jobs of the same model while a job must not be retried yet", async (t) => {
    const { jobs } = await openWithModels(t);
    await jobs.create(sampleJob("m1", "m"), [], null);
    await claimNow(jobs);
    await jobs.create(sampleJob("m2", "m"), [], null);
    await jobs.create(sampleJob("n1", "n"), [], null);
    const later = { ...lostNow, notBefore: moment(30) };
    assert.equal(await jobs.release("m1", "another", later), false);
    assert.equal(await jobs.release("m1", "server", later), true);
    assert.equal(await jobs.release("m1", "server", later), false);
    assert.equal((await claimNow(jobs))?.id, "n1");
    assert.equal(await claimNow(jobs), null);
    const retried = await jobs.claim("server", moment(30));
    assert.deepEqual([retried?.id, retried?.attemptCount], ["m1", 2]);
    assert.deepEqual(retried?.startedAt, moment(10), "the first start is kept");
  });

  test("does not count a returned attempt, and shows what the job waits for", async (t) => {
    const { jobs } = await openWithModels(t);
    await jobs.create(sampleJob("j", "m"), [], null);
    await claimNow(jobs);
    await jobs.release("j", "server", { ...lostNow, attempt: "returned", waitingFor: "room" });
    const { state, attemptCount, lostCount, waitingFor } = present(await jobs.find("j"), "the job");
    assert.deepEqual([state, attemptCount, lostCount, waitingFor], ["queued", 0, 0, "room"]);
    assert.equal((await claimNow(jobs))?.waitingFor, "room", "it may find the same again");
    await jobs.advance("j", "server", sampleProgress, sampleCounts);
    assert.equal((await jobs.find("j"))?.waitingFor, null);
  });

  test("counts attempts lost with their process and with their server separately", async (t) => {
    const { jobs, servers } = await openWithModels(t);
    await jobs.create(sampleJob("j", "m"), [], null);
    await claimNow(jobs);
    await jobs.release("j", "server", lostNow);
    for (let restart = 0; restart < 2; restart++) {
      await claimNow(jobs);
      await loseServer({ jobs, servers });
    }
    const { attemptCount, lostCount, restartCount } = present(await jobs.find("j"), "the job");
    assert.deepEqual([attemptCount, lostCount, restartCount], [3, 1, 2]);
  });

  test("restarts the count of losses after an attempt that saved further steps, and does not count that one", async (t) => {
    const open = await makeStorage(t);
    let database = await open();
    await storeModel(database.models, "m");
    await storeServer(database.servers);
    await database.jobs.create(sampleJob("j", "m"), [], null);
    const ends = {
      process: () => database.jobs.release("j", "server", lostNow),
      server: async () => {
        await database.close();
        database = await open();
        await loseServer(database);
      },
    } as const;
    const attempt = async (end: keyof typeof ends, hasAdvanced: boolean): Promise<readonly number[]> => {
      await claimNow(database.jobs);
      if (hasAdvanced) await database.jobs.advance("j", "server", sampleProgress, sampleCounts);
      await ends[end]();
      const { lostCount, restartCount } = present(await database.jobs.find("j"), "the job");
      return [lostCount, restartCount];
    };
    assert.deepEqual(await attempt("process", false), [1, 0]);
    assert.deepEqual(await attempt("server", false), [1, 1]);
    assert.deepEqual(await attempt("server", true), [0, 0]);
    assert.deepEqual(await attempt("server", false), [0, 1]);
    assert.deepEqual(await attempt("process", false), [1, 1]);
    assert.deepEqual(await attempt("process", true), [0, 0]);
    assert.deepEqual(await attempt("process", false), [1, 0]);
  });

  test("makes a job that is rescued repeatedly wait as long as requested", async (t) => {
    const { jobs, servers } = await openWithModels(t);
    await jobs.create(sampleJob("j", "m"), [], null);
    const notBefore = (restartCount: number) => moment(restartCount < 2 ? 10 : 10 * restartCount);
    await claimNow(jobs);
    await loseServer({ jobs, servers }, notBefore);
    assert.equal((await claimNow(jobs))?.id, "j");
    await loseServer({ jobs, servers }, notBefore);
    // A returning server does not end this wait, because the job itself may be killing servers.
    await loseServer({ jobs, servers });
    assert.equal(await jobs.claim("server", moment(19)), null);
    assert.equal((await jobs.claim("server", moment(20)))?.restartCount, 2);
  });

  test("trains a retry on the original's lines, and copies its content hash", async (t) => {
    const { jobs } = await openWithModels(t);
    await jobs.create(sampleJob("j", "m"), ["[1]\n", "[2]\n"], null);
    await jobs.end("j", "failed", "It was lost.", moment(1));
    await jobs.create(sampleJob("k", "m", { retryOf: "j" }), [], null);
    const linesOf = async (id: string): Promise<readonly string[]> => {
      const lines: string[] = [];
      for await (const line of present(await jobs.trajectoryLines(id), "the lines")) lines.push(line);
      return lines;
    };
    assert.deepEqual(await linesOf("k"), await linesOf("j"));
    const [first, second] = [present(await jobs.find("j"), "j"), present(await jobs.find("k"), "k")];
    assert.deepEqual([second.retryOf, second.contentHash], ["j", first.contentHash]);
  });

  test("ends a wait when the clock shows a time before the wait began", async (t) => {
    const { jobs } = await openWithModels(t);
    await jobs.create(sampleJob("j", "m"), [], null);
    await claimNow(jobs);
    await jobs.release("j", "server", { ...lostNow, notBefore: moment(1000) });
    assert.equal(await jobs.claim("server", moment(999)), null);
    assert.equal((await jobs.claim("server", moment(9)))?.id, "j");
  });

  test("keeps each warning once, in order", async (t) => {
    const { jobs } = await openWithModels(t);
    await jobs.create(sampleJob("j", "m"), [], null);
    for (const warning of ["one", "two", "one"]) await jobs.addWarning("j", warning);
    assert.deepEqual((await jobs.find("j"))?.warnings, ["one", "two"]);
    await assert.rejects(jobs.addWarning("x", "one"), { code: "not_found" });
  });

  test("refuses a new job when the queue is full, but still returns an existing one", async (t) => {
    const { jobs } = await openWithModels(t);
    const key = { keyId: "k", key: "once", bodyHash: "h" };
    await jobs.create(sampleJob("a", "m"), [], key, { queuedMax: 1 });
    await assert.rejects(jobs.create(sampleJob("b", "n"), [], null, { queuedMax: 1 }), {
      code: "overloaded",
      retryAfterSeconds: 60,
    });
    assert.equal(await jobs.find("b"), null);
    const again = await jobs.create(sampleJob("c", "m"), [], key, { queuedMax: 1 });
    assert.deepEqual(again, { id: "a", isNew: false });
    await claimNow(jobs);
    assert.equal((await jobs.create(sampleJob("d", "n"), [], null, { queuedMax: 1 })).isNew, true);
  });

  test("keeps room for other entities' jobs when one entity has filled its share", async (t) => {
    const { jobs, models } = await openWithModels(t);
    await models.create(sampleModel("o", { entity: "other" }), sampleVersion("o", 0));
    const limits = { queuedPerEntityMax: 2 };
    for (const [id, modelId] of [
      ["a", "m"],
      ["b", "n"],
      ["c", "o"],
    ] as const)
      await jobs.create(sampleJob(id, modelId), [], null, limits);
    await assert.rejects(jobs.create(sampleJob("d", "m"), [], null, limits), {
      code: "overloaded",
      message: /2 .* of this entity|full/,
    });
    assert.equal((await jobs.create(sampleJob("e", "o"), [], null, limits)).isNew, true);
    await claimNow(jobs);
    assert.equal((await jobs.create(sampleJob("f", "n"), [], null, limits)).isNew, true);
  });

  test("gives an entity half of the free places in the queue", async (t) => {
    const { jobs, models } = await openWithModels(t);
    await models.create(sampleModel("o", { entity: "other" }), sampleVersion("o", 0));
    const limits = { queuedMax: 4 };
    const create = (id: string, modelId: string) => jobs.create(sampleJob(id, modelId), [], null, limits);
    await create("a", "m");
    await create("b", "n");
    await assert.rejects(create("c", "m"), { code: "overloaded", message: /2 .* its share|full/ });
    await create("d", "o");
    await assert.rejects(create("e", "o"), { code: "overloaded" });
    await claimNow(jobs);
    await create("f", "m");
  });

  test("keeps the first pins, for the owner that runs the job", async (t) => {
    const { jobs, servers } = await openWithModels(t);
    await jobs.create(sampleJob("j", "m"), [], null);
    await assert.rejects(jobs.pin("j", "server", samplePins), { code: "conflict" });
    await assert.rejects(jobs.pin("x", "server", samplePins), { code: "not_found" });
    await claimNow(jobs);
    await assert.rejects(jobs.pin("j", "another", samplePins), { code: "conflict" });
    assert.equal((await jobs.find("j"))?.pins, null);
    assert.deepEqual(await jobs.pin("j", "server", samplePins), samplePins);
    assert.deepEqual(await jobs.pin("j", "server", { ...samplePins, startStep: 7 }), samplePins);
    await loseServer({ jobs, servers });
    assert.deepEqual((await claimNow(jobs, "another"))?.pins, samplePins);
  });

  test("finds a running job only for its owner", async (t) => {
    const { jobs } = await openWithModels(t);
    await jobs.create(sampleJob("j", "m"), [], null);
    assert.equal(await jobs.findRunning("j", "server"), null);
    await claimNow(jobs);
    assert.deepEqual(await jobs.findRunning("j", "server"), await jobs.find("j"));
    assert.equal(await jobs.findRunning("j", "another"), null);
    await jobs.requestCancel("j", moment(11));
    assert.equal((await jobs.findRunning("j", "server"))?.cancelRequested, true);
    await jobs.end("j", "cancelled", "", moment(12));
    assert.equal(await jobs.findRunning("j", "server"), null);
  });

  test("keeps the progress of a running job", async (t) => {
    const { jobs } = await openWithModels(t);
    await jobs.create(sampleJob("j", "m"), [], null);
    for (const update of ["updateProgress", "advance"] as const) {
      await jobs[update]("j", "server", sampleProgress, sampleCounts);
      assert.equal((await jobs.find("j"))?.progress, null);
    }
    await claimNow(jobs);
    for (const [index, update] of (["updateProgress", "advance"] as const).entries()) {
      const progress = { ...sampleProgress, gradientStepCount: index };
      await jobs[update]("j", "server", progress, sampleCounts);
      assert.deepEqual((await jobs.find("j"))?.progress, progress);
      assert.deepEqual((await jobs.find("j"))?.counts, sampleCounts);
    }
    await jobs.updateProgress("j", "server", { ...sampleProgress, gradientStepCountTotal: null }, null);
    const job = await jobs.find("j");
    assert.deepEqual([job?.progress?.gradientStepCountTotal, job?.counts], [null, sampleCounts]);
  });

  test("ignores reports of an attempt after another has taken the job", async (t) => {
    const { jobs, servers } = await openWithModels(t);
    await jobs.create(sampleJob("j", "m"), [], null);
    await claimNow(jobs);
    await loseServer({ jobs, servers });
    await claimNow(jobs, "another");
    const before = await jobs.find("j");
    await jobs.updateProgress("j", "server", sampleProgress, sampleCounts);
    await jobs.advance("j", "server", sampleProgress, sampleCounts);
    assert.deepEqual(await jobs.find("j"), before);
    const event = { type: "training_started", data: {} } as const;
    await assert.rejects(jobs.appendEvent("j", "server", 0, event), { code: "conflict" });
    assert.deepEqual(await eventsOf(jobs, "j"), []);
    // The old owner's updates had no effect. So the attempt has saved no more steps, and the loss of its owner counts.
    await loseServer({ jobs, servers }, undefined, "another");
    assert.equal((await jobs.find("j"))?.restartCount, 2);
  });
}

function checkEvents(makeStorage: MakeStorage): void {
  const openWithModels = withModels(makeStorage);

  test("writes an event once, however often it is reported", async (t) => {
    const { jobs, servers } = await openWithModels(t);
    await jobs.create(sampleJob("j", "m"), [], null);
    await claimNow(jobs);
    await jobs.appendEvent("j", "server", 0, { type: "training_started", data: { num_sequences: 2 } });
    await jobs.appendEvent("j", "server", 1, { type: "gradient_step", data: { loss: 1 } });
    await loseServer({ jobs, servers });
    await claimNow(jobs);
    await jobs.appendEvent("j", "server", 0, { type: "training_started", data: { num_sequences: 7 } });
    await jobs.appendEvent("j", "server", 1, { type: "gradient_step", data: { loss: 7 } });
    await jobs.appendEvent("j", "server", 2, { type: "gradient_step", data: { loss: 0.5 } });
    await succeedNow(jobs, "j", 1);
    assert.deepEqual(await eventsOf(jobs, "j"), [
      ["training_started", { num_sequences: 2 }],
      ["gradient_step", { loss: 1 }],
      ["gradient_step", { loss: 0.5 }],
      ["training_ended", { loss: 0.5 }],
    ]);
  });

  test("refuses events for a job that is not running", async (t) => {
    const { jobs } = await openWithModels(t);
    await jobs.create(sampleJob("j", "m"), [], null);
    const event = { type: "training_started", data: {} } as const;
    await assert.rejects(jobs.appendEvent("j", "server", 0, event), { code: "conflict" });
    await assert.rejects(jobs.appendEvent("x", "server", 0, event), { code: "not_found" });
    assert.deepEqual(await eventsOf(jobs, "j"), []);
  });

  test("pages events by ids of the same job, in both orders", async (t) => {
    const { jobs } = await openWithModels(t);
    await jobs.create(sampleJob("j", "m"), [], null);
    await jobs.create(sampleJob("k", "n"), [], null);
    await claimNow(jobs);
    await claimNow(jobs);
    for (let sequence = 0; sequence < 4; sequence++) {
      await jobs.appendEvent("j", "server", sequence, { type: "gradient_step", data: { sequence } });
      await jobs.appendEvent("k", "server", sequence, { type: "gradient_step", data: { sequence } });
    }
    const first = await jobs.listEvents("j", { ...firstPage, limit: 3 });
    assert.deepEqual([first.items.map((event) => event.data.sequence), first.hasMore], [[0, 1, 2], true]);
    const ids = first.items.map((event) => event.id);
    const rest = await jobs.listEvents("j", { ...firstPage, after: ids[2] });
    assert.deepEqual([rest.items.map((event) => event.data.sequence), rest.hasMore], [[3], false]);
    const back = await jobs.listEvents("j", { after: ids[1], limit: 5, order: "desc" });
    assert.deepEqual(
      back.items.map((event) => event.data.sequence),
      [0],
    );
    for (const after of ["x", "0", `0${ids[0]}`, `${ids[0]}.0`, "j:9", ""]) {
      await assert.rejects(jobs.listEvents("j", { ...firstPage, after }), { code: "invalid" });
    }
    await assert.rejects(jobs.listEvents("k", { ...firstPage, after: ids[0] }), { code: "invalid" });
  });
}

function checkEndings(makeStorage: MakeStorage): void {
  const openWithModels = withModels(makeStorage);

  test("stores the version, the state and the event of a success together, once", async (t) => {
    const { jobs, models } = await openWithModels(t);
    await jobs.create(sampleJob("j", "m"), [], null);
    await assert.rejects(succeedNow(jobs, "j", 1), { code: "conflict" });
    await claimNow(jobs);
    await assert.rejects(succeedNow(jobs, "j", 1, "another"), { code: "conflict" });
    assert.equal(await models.greatestStep("m"), 0);
    await succeedNow(jobs, "j", 1);
    await assert.rejects(succeedNow(jobs, "j", 2), { code: "conflict" });
    const job = await jobs.find("j");
    assert.deepEqual([job?.state, job?.resultStep, job?.endedAt], ["succeeded", 1, moment(20)]);
    assert.equal((await models.newestVersion("m"))?.jobId, "j");
    assert.equal(await models.greatestStep("m"), 1);
    assert.equal((await eventsOf(jobs, "j")).length, 1);
  });

  test("ends a replay with its comparison, and without a version", async (t) => {
    const { jobs, models } = await openWithModels(t);
    await jobs.create(sampleJob("r", "m", { replayOf: "j" }), [], null);
    await claimNow(jobs);
    const different = [{ file: "adapter_config.json", matrix: null, valueCount: null, greatest: null }];
    const comparison = { files: ["adapter_config.json"], matrixCount: 0, differentCount: 1, different };
    const ended = { owner: "server", version: null, comparison, counts: sampleCounts, at: moment(20) };
    await jobs.succeed("r", { ...ended, data: { matrices: 0 } });
    const job = await jobs.find("r");
    assert.deepEqual([job?.state, job?.resultStep, job?.replayOf], ["succeeded", null, "j"]);
    assert.deepEqual(job?.comparison, comparison);
    assert.equal((await models.newestVersion("m"))?.step, 0);
    const { items } = await jobs.listEvents("r", firstPage);
    assert.deepEqual(
      items.map(({ type, data }) => [type, data]),
      [["training_ended", { matrices: 0 }]],
    );
  });

  test("refuses a success at an existing step with a conflict, and changes nothing", async (t) => {
    const { jobs, models } = await openWithModels(t);
    await jobs.create(sampleJob("j", "m"), [], null);
    await claimNow(jobs);
    await assert.rejects(succeedNow(jobs, "j", 0), { code: "conflict" });
    assert.equal((await jobs.find("j"))?.state, "running");
    assert.deepEqual(await eventsOf(jobs, "j"), []);
    assert.equal((await models.newestVersion("m"))?.jobId, null);
  });

  test("stores the state and the event of a failure with its message, once", async (t) => {
    const { jobs } = await openWithModels(t);
    await jobs.create(sampleJob("j", "m"), [], null);
    await claimNow(jobs);
    await assert.rejects(jobs.end("j", "failed", "no", moment(20), { owner: "another" }), {
      code: "conflict",
    });
    await jobs.end("j", "failed", "out of memory", moment(20), { owner: "server" });
    await assert.rejects(jobs.end("j", "cancelled", "late", moment(21)), { code: "conflict" });
    await assert.rejects(jobs.end("x", "failed", "nobody", moment(21)), { code: "not_found" });
    const job = await jobs.find("j");
    assert.deepEqual([job?.state, job?.errorMessage, job?.endedAt], ["failed", "out of memory", moment(20)]);
    assert.deepEqual(await eventsOf(jobs, "j"), [["training_failed", { error_message: "out of memory" }]]);
  });

  test("discards leftovers only for the owner, and delays the job's end until then", async (t) => {
    const { jobs } = await openWithModels(t);
    await jobs.create(sampleJob("j", "m"), [], null);
    await claimNow(jobs);
    const end = (owner: string, discard: () => Promise<void>) =>
      jobs.end("j", "failed", "no", moment(20), { owner, discard });
    const mayNot = async (): Promise<void> => assert.fail("it is not this one's");
    await assert.rejects(end("another", mayNot), { code: "conflict" });
    const fault = new Error("the disk does not let go of it");
    await assert.rejects(
      end("server", () => Promise.reject(fault)),
      fault,
    );
    assert.equal((await jobs.find("j"))?.state, "running");
    let discardedCount = 0;
    await end("server", async () => void (discardedCount += 1));
    assert.equal((await jobs.find("j"))?.state, "failed");
    await assert.rejects(end("server", mayNot), { code: "conflict" });
    assert.equal(discardedCount, 1);
  });

  test("cancels a queued job immediately, marks a running one, and leaves an ended one unchanged", async (t) => {
    const { jobs } = await openWithModels(t);
    await jobs.create(sampleJob("a", "m"), [], null);
    await jobs.create(sampleJob("b", "n"), [], null);
    assert.equal((await claimNow(jobs))?.id, "a");
    assert.equal(await jobs.requestCancel("b", moment(15)), "cancelled");
    assert.equal(await jobs.requestCancel("b", moment(16)), "cancelled");
    const cancelled = await jobs.find("b");
    assert.deepEqual([cancelled?.state, cancelled?.endedAt], ["cancelled", moment(15)]);
    assert.deepEqual(await eventsOf(jobs, "b"), [
      ["training_failed", { error_message: "The job was cancelled before it ran." }],
    ]);
    assert.equal(await jobs.requestCancel("a", moment(15)), "running");
    assert.equal((await jobs.find("a"))?.cancelRequested, true);
    await jobs.end("a", "cancelled", "The job was cancelled.", moment(17));
    assert.equal(await jobs.requestCancel("a", moment(18)), "cancelled");
    assert.equal(await jobs.requestCancel("x", moment(18)), null);
    assert.equal(await claimNow(jobs), null);
  });
}
