// The contract that every store must pass under concurrency: two connections, like those of two processes, use a store
// at the same time. A read followed by a write acts on the state at the time of the write. Each test must pass in every
// order of the connections' operations.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JobEvent } from "../../../../base/domain/job.ts";
import { allItems, type Page, type PageRequest } from "../../../../base/domain/page.ts";
import { ServiceError } from "../../../../base/domain/service-error.ts";
import { newestDatabaseVersion } from "../../migrations/migrations.ts";
import {
  firstPage,
  type MakeStorage,
  moment,
  openTwice,
  sampleCounts,
  sampleFeedback,
  sampleGroup,
  groupLines,
  sampleJob,
  sampleKey,
  sampleLog,
  sampleModel,
  samplePins,
  sampleVersion,
  rescueNow,
  storeModel,
  storeServer,
} from "../storage-under-test.ts";

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);

const everyJob = { entity: null, modelId: null, kind: null, state: null };

/** Runs the work on both connections at the same time, `count` times on each. */
function fromBoth<Side, Result>(
  sides: readonly [Side, Side],
  count: number,
  work: (side: Side, index: number) => Promise<Result>,
): Promise<readonly Result[]> {
  return Promise.all(numbers(2 * count).map((index) => work(sides[index % 2], index)));
}

/** Returns the code of the ServiceError with which the work fails, or "done". No other error may reach a caller. */
async function outcomeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "done";
  } catch (error) {
    if (error instanceof ServiceError) return error.code;
    throw error;
  }
}

/** Registers the tests that the stores of a database must pass together. */
export function checkTwoConnections(makeStorage: MakeStorage): void {
  checkNames(makeStorage);
  checkJobs(makeStorage);
  checkAttempts(makeStorage);
  checkMerging(makeStorage);
  checkOrder(makeStorage);
}

function checkNames(makeStorage: MakeStorage): void {
  test("reports the database's version on both connections", async (t) => {
    for (const stores of await openTwice(makeStorage, t))
      assert.equal((await stores.version())?.version, newestDatabaseVersion);
  });

  test("gives a name to one of two concurrent writers, and a conflict to the other", async (t) => {
    const sides = await openTwice(makeStorage, t);
    const models = await fromBoth(sides, 3, ({ models: store }, index) =>
      outcomeOf(store.create(sampleModel(`m${index}`, { name: "one" }), sampleVersion(`m${index}`, 0))),
    );
    assert.deepEqual(models.toSorted(), [...numbers(5).map(() => "conflict"), "done"]);
    const keys = await fromBoth(sides, 3, ({ keys: store }, index) =>
      outcomeOf(store.create(sampleKey(`k${index}`, { secretHash: "one" }))),
    );
    assert.deepEqual(keys.toSorted(), [...numbers(5).map(() => "conflict"), "done"]);
    const everyModel = { entity: null, project: null, name: null };
    assert.equal((await sides[1].models.list(everyModel, firstPage)).items.length, 1);
    assert.equal((await sides[1].keys.list(firstPage)).items.length, 1);
  });

  test("revokes a key once", async (t) => {
    const sides = await openTwice(makeStorage, t);
    await sides[0].keys.create(sampleKey("k"));
    const revoked = await fromBoth(sides, 3, ({ keys }) => keys.revoke("k", moment(1)));
    assert.equal(revoked.filter((isFirst) => isFirst).length, 1);
  });

  test("stores the same feedback from both connections once, and returns it to both", async (t) => {
    const sides = await openTwice(makeStorage, t);
    const batch = (author: string) =>
      numbers(600).map((index) => sampleFeedback(`r${index}`, { vendorUserId: author }));
    const answers = await fromBoth(sides, 2, ({ feedback }, index) => {
      const records = batch(`author ${index}`);
      return feedback.create(index % 2 === 0 ? records : records.toReversed());
    });
    const stored = new Map(answers[0].map((record) => [record.id, record]));
    for (const record of answers.flat()) assert.deepEqual(record, stored.get(record.id));
    assert.equal(new Set(answers.flat().map((record) => record.vendorUserId)).size, 1);
  });

  test("refuses other feedback under the same id from the other connection, and stores no part of it", async (t) => {
    const sides = await openTwice(makeStorage, t);
    const outcomes = await fromBoth(sides, 2, ({ feedback }, index) =>
      outcomeOf(
        feedback.create([
          sampleFeedback(`own ${index}`),
          sampleFeedback("shared", { contentHash: `${index}` }),
        ]),
      ),
    );
    assert.deepEqual(outcomes.toSorted(), ["conflict", "conflict", "conflict", "done"]);
    for (const index of numbers(4)) {
      const own = await sides[0].feedback.find("team/games", `own ${index}`);
      assert.equal(own !== null, outcomes[index] === "done");
    }
  });
}

function checkJobs(makeStorage: MakeStorage): void {
  test("creates one job per idempotency key, in either order", async (t) => {
    const sides = await openTwice(makeStorage, t);
    await storeModel(sides[0].models, "m");
    const key = { keyId: "k", key: "once", bodyHash: "h" };
    const created = await fromBoth(sides, 4, ({ jobs }, index) =>
      jobs.create(sampleJob(`j${index}`, "m"), groupLines([sampleGroup(index)]), key),
    );
    assert.equal(created.filter(({ isNew }) => isNew).length, 1);
    assert.equal(new Set(created.map(({ id }) => id)).size, 1);
    assert.deepEqual(
      (await sides[0].jobs.list(everyJob, firstPage)).items.map((job) => job.id),
      [created[0].id],
    );
    const others = await fromBoth(sides, 2, ({ jobs }, index) =>
      outcomeOf(jobs.create(sampleJob(`o${index}`, "m"), [], { ...key, key: "other", bodyHash: `${index}` })),
    );
    assert.deepEqual(others.toSorted(), ["conflict", "conflict", "conflict", "done"]);
  });

  test("claims a job once, and one of each model at a time", async (t) => {
    const sides = await openTwice(makeStorage, t);
    for (const side of numbers(2)) await storeServer(sides[side].servers, `owner ${side}`);
    for (const model of ["a", "b", "c"]) {
      await storeModel(sides[0].models, model);
      for (const number of numbers(3))
        await sides[0].jobs.create(sampleJob(`${model}${number}`, model), [], null);
    }
    for (const round of numbers(3)) {
      const claims = await fromBoth(sides, 4, ({ jobs }, index) =>
        jobs.claim(`owner ${index % 2}`, moment(10)),
      );
      const ids = claims.flatMap((job) => job?.id ?? []);
      assert.deepEqual(ids.toSorted(), [`a${round}`, `b${round}`, `c${round}`]);
      for (const id of ids) await sides[0].jobs.end(id, "failed", "next", moment(20));
    }
  });

  test("rescues a lost job on one connection", async (t) => {
    const sides = await openTwice(makeStorage, t);
    await storeServer(sides[0].servers);
    for (const model of ["a", "b", "c"]) {
      await storeModel(sides[0].models, model);
      await sides[0].jobs.create(sampleJob(model, model), [], null);
      await sides[0].jobs.claim("server", moment(10));
    }
    const rescued = await fromBoth(sides, 2, async ({ jobs, servers }) => {
      await servers.deleteExpired({ before: moment(71), after: moment(1000) });
      return rescueNow(jobs);
    });
    assert.deepEqual(rescued.flat().toSorted(), ["a", "b", "c"]);
  });

  test("rescues every job of a server that claims while its lease is being ended", async (t) => {
    const sides = await openTwice(makeStorage, t);
    for (const number of numbers(6)) {
      await storeModel(sides[0].models, `m${number}`);
      await sides[0].jobs.create(sampleJob(`j${number}`, `m${number}`), [], null);
    }
    await storeServer(sides[0].servers);
    const ending = sides[1].servers.delete("server").then(() => rescueNow(sides[1].jobs));
    await Promise.all(numbers(6).map(() => outcomeOf(sides[0].jobs.claim("server", moment(10)))));
    await ending;
    const running = { ...everyJob, state: "running" } as const;
    assert.deepEqual((await sides[0].jobs.list(running, firstPage)).items, []);
  });
}

function checkAttempts(makeStorage: MakeStorage): void {
  /** Opens two connections to a database with a job `j` that `server` is running. */
  const withRunningJob = async (...[context]: Parameters<MakeStorage>) => {
    const sides = await openTwice(makeStorage, context);
    await storeModel(sides[0].models, "m");
    await storeServer(sides[0].servers);
    await sides[0].jobs.create(sampleJob("j", "m"), [], null);
    await sides[0].jobs.claim("server", moment(10));
    return sides;
  };
  const success = (step: number) => ({
    owner: "server",
    version: sampleVersion("m", step, { jobId: "j" }),
    counts: sampleCounts,
    at: moment(20),
    data: {},
  });
  const terminalOf = (events: readonly JobEvent[]) =>
    events.filter(({ type }) => type === "training_ended" || type === "training_failed");

  test("returns the same pins on both connections", async (t) => {
    const sides = await withRunningJob(t);
    const pins = await fromBoth(sides, 3, ({ jobs }, index) =>
      jobs.pin("j", "server", { ...samplePins, startStep: index }),
    );
    assert.deepEqual(
      pins,
      pins.map(() => pins[0]),
    );
    assert.deepEqual((await sides[1].jobs.find("j"))?.pins, pins[0]);
  });

  test("ends a job once, as succeeded, failed or cancelled, with at most one version and one last event", async (t) => {
    const sides = await withRunningJob(t);
    const endings = await fromBoth(sides, 3, ({ jobs }, index) =>
      outcomeOf(
        index % 3 === 0
          ? jobs.succeed("j", success(1 + index))
          : jobs.end("j", index % 3 === 1 ? "failed" : "cancelled", "ended", moment(20)),
      ),
    );
    assert.deepEqual(endings.toSorted(), [...numbers(5).map(() => "conflict"), "done"]);
    const job = await sides[0].jobs.find("j");
    const { items } = await sides[0].jobs.listEvents("j", firstPage);
    assert.equal(terminalOf(items).length, 1);
    const { items: versions } = await sides[0].models.listVersions("m", firstPage);
    assert.deepEqual(
      versions.map(({ step }) => step),
      job?.state === "succeeded" ? [0, job.resultStep] : [0],
    );
  });

  test("loses neither a cancellation nor a concurrent end or requeue of the job", async (t) => {
    const sides = await withRunningJob(t);
    const put = { at: moment(10), notBefore: moment(0), attempt: "lost", waitingFor: null } as const;
    const [released, state] = await Promise.all([
      sides[0].jobs.release("j", "server", put),
      sides[1].jobs.requestCancel("j", moment(15)),
    ]);
    const job = await sides[0].jobs.find("j");
    assert.equal(released, true);
    // The cancellation either marked the running job, or cancelled the job after it was queued again.
    assert.equal(job?.state === "cancelled" || job?.cancelRequested, true);
    assert.equal(state, job?.state === "cancelled" ? "cancelled" : "running");
  });

  test("deletes a version on one connection, even while its job is succeeding", async (t) => {
    const sides = await withRunningJob(t);
    const [ended, ...deletions] = await Promise.all([
      outcomeOf(sides[0].jobs.succeed("j", success(1))),
      sides[1].models.deleteVersions("m", [0, 1], new Date(0)),
      sides[0].models.deleteVersions("m", [1], new Date(0)),
    ]);
    assert.equal(ended, "done");
    const deletedCount = deletions.flatMap(({ deleted }) => deleted).filter((step) => step === 1).length;
    assert.ok(deletedCount <= 1);
    assert.equal((await sides[1].models.newestVersion("m"))?.step, deletedCount === 1 ? 0 : 1);
    assert.equal(await sides[1].models.greatestStep("m"), 1);
  });
}

function checkMerging(makeStorage: MakeStorage): void {
  test("merges the metrics of both connections into the version", async (t) => {
    const sides = await openTwice(makeStorage, t);
    await storeModel(sides[0].models, "m");
    await fromBoth(sides, 10, ({ trajectories }, index) =>
      trajectories.append(sampleLog(`l${index}`, { step: 0 }), () => ({ [`m${index}`]: index })),
    );
    const metrics = (await sides[1].models.findVersion("m", 0))?.metrics ?? {};
    assert.equal(Object.keys(metrics).length, 20);
  });

  test("continues the sums of logs across both connections, and counts every scenario once", async (t) => {
    const sides = await openTwice(makeStorage, t);
    await storeModel(sides[0].models, "m");
    const metrics = await fromBoth(sides, 6, ({ trajectories }, index) =>
      trajectories.append(
        sampleLog(`l${index}`, { scenarioIds: [`s${index % 3}`, `t${index}`] }),
        (earlier) => ({
          sum: (earlier.metrics["sum"] ?? 0) + 1,
          scenarios: earlier.scenarioCount,
        }),
      ),
    );
    assert.deepEqual(
      metrics.map(({ sum }) => sum).toSorted((one, other) => one - other),
      numbers(12).map((index) => index + 1),
    );
    assert.equal(Math.max(...metrics.map(({ scenarios }) => scenarios)), 15);
    const { items } = await sides[1].trajectories.list("m", { split: null }, firstPage);
    assert.deepEqual(
      items.map((log) => log.metrics["sum"]),
      numbers(12).map((index) => index + 1),
    );
  });

  test("keeps every replacement from both connections in the history, in order", async (t) => {
    const sides = await openTwice(makeStorage, t);
    const { id: _id, createdAt: _createdAt, ...content } = sampleFeedback("f");
    await sides[0].feedback.create([sampleFeedback("f", { payload: { by: -1 } })]);
    await fromBoth(sides, 5, ({ feedback }, index) =>
      feedback.replace("team/games", "f", { ...content, payload: { by: index } }, moment(index)),
    );
    const last = await sides[1].feedback.find("team/games", "f");
    const { items } = await sides[1].feedback.history("team/games", "f", firstPage);
    const said = [...items.map(({ record }) => record), last].map((record) => record?.payload["by"]);
    assert.deepEqual(
      said.toSorted((one, other) => Number(one) - Number(other)),
      numbers(11).map((index) => index - 1),
    );
    // A content's `replacedAt` is the time of the content that replaced it.
    assert.deepEqual(
      items.map(({ replacedAt }) => replacedAt),
      said.slice(1).map((by) => moment(Number(by))),
    );
  });
}

function checkOrder(makeStorage: MakeStorage): void {
  /** Reads pages, each from the last item seen, until `done` is true and no more items arrive. */
  const follow = async (
    readPage: (page: PageRequest) => Promise<Page<{ readonly id: string }>>,
    writing: Promise<unknown>,
  ): Promise<readonly string[]> => {
    const seen: string[] = [];
    let isOver = false;
    const over = writing.finally(() => (isOver = true));
    for (;;) {
      const wasOver = isOver;
      const page = await readPage({ after: seen.at(-1) ?? null, limit: 2, order: "asc" });
      seen.push(...page.items.map(({ id }) => id));
      if (wasOver && page.items.length === 0) break;
      await new Promise((resolve) => setImmediate(resolve));
    }
    await over;
    return seen;
  };
  // Large groups. The transaction that stores them begins first, and is still writing when other transactions arrive.
  const large = numbers(40).map((index) => ({ ...sampleGroup(index), logs: ["x".repeat(100_000)] }));

  test("makes a short change wait for a long one, and both connections see both", async (t) => {
    const sides = await openTwice(makeStorage, t);
    await storeModel(sides[0].models, "m");
    await storeServer(sides[0].servers);
    for (const id of ["a", "b"]) await sides[0].keys.create(sampleKey(id));
    const writing = sides[0].jobs.create(sampleJob("j", "m"), groupLines(large), null);
    // At this point, the long transaction has started.
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(await sides[1].keys.revoke("a", moment(1)), true);
    await writing;
    assert.equal((await sides[1].jobs.claim("server", moment(10)))?.id, "j");
    assert.equal((await sides[1].jobs.findRunning("j", "server"))?.id, "j");
    assert.equal(await sides[0].keys.revoke("b", moment(2)), true);
    assert.deepEqual(
      (await sides[1].keys.list(firstPage)).items.map(({ revokedAt }) => revokedAt),
      [moment(1), moment(2)],
    );
  });

  test("skips no job in a paged list when a submission that began earlier commits later", async (t) => {
    const sides = await openTwice(makeStorage, t);
    for (const model of ["m", "n"]) await storeModel(sides[0].models, model);
    const writing = fromBoth(sides, 5, ({ jobs }, index) =>
      jobs.create(sampleJob(`j${index}`, index < 2 ? "m" : "n"), groupLines(index < 2 ? large : []), null),
    );
    const seen = await follow((page) => sides[1].jobs.list(everyJob, page), writing);
    assert.deepEqual(
      seen.toSorted(),
      numbers(10).map((index) => `j${index}`),
    );
    const listed: string[] = [];
    for await (const { id } of allItems((page) => sides[0].jobs.list(everyJob, page))) listed.push(id);
    assert.deepEqual(seen, listed);
  });

  test("skips no log in a paged list when a write that began earlier commits later", async (t) => {
    const sides = await openTwice(makeStorage, t);
    await storeModel(sides[0].models, "m");
    const writing = fromBoth(sides, 5, ({ trajectories }, index) =>
      trajectories.append(sampleLog(`l${index}`, { groups: index < 2 ? large : [] }), () => ({})),
    );
    const seen = await follow((page) => sides[1].trajectories.list("m", { split: null }, page), writing);
    assert.deepEqual(
      seen.toSorted(),
      numbers(10).map((index) => `l${index}`),
    );
  });

  test("skips no event in a paged list, whichever attempt writes it", async (t) => {
    const sides = await openTwice(makeStorage, t);
    await storeModel(sides[0].models, "m");
    await storeServer(sides[0].servers);
    await sides[0].jobs.create(sampleJob("j", "m"), [], null);
    await sides[0].jobs.claim("server", moment(10));
    const attempt = async ({ jobs }: (typeof sides)[0]): Promise<void> => {
      for (const sequence of numbers(20))
        await jobs.appendEvent("j", "server", sequence, { type: "gradient_step", data: {} });
    };
    const writing = Promise.all(sides.map(attempt));
    const seen = await follow((page) => sides[1].jobs.listEvents("j", page), writing);
    const { items } = await sides[0].jobs.listEvents("j", firstPage);
    assert.deepEqual(
      seen,
      items.map(({ id }) => id),
    );
    assert.equal(seen.length, 20);
  });
}
