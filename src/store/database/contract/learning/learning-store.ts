// The contract that every LearningStore must pass, together with the stores of jobs and models. It covers which version
// a model's name stands for at each stage of a cycle, and which server may change the stage.
import assert from "node:assert/strict";
import { test } from "node:test";
import { pathSteps } from "../../../../base/domain/feedback-query/feedback-field.ts";
import {
  type CycleProgress,
  type CycleStage,
  type LearningCycle,
  newCycleProgress,
} from "../../../../base/domain/learning/learning-cycle.ts";
import type { LearningOrder } from "../../../../base/domain/learning/learning-order.ts";
import type { Learning } from "../../../../base/domain/learning/learning-store.ts";
import { resolvePreferenceConfig } from "../../../../base/domain/preferences/preference-config.ts";
import type { NewWebhook } from "../../../../base/domain/webhooks/webhook.ts";
import type { Stores } from "../../stores.ts";
import {
  firstPage,
  type MakeStorage,
  moment,
  openTwice,
  sampleCounts,
  sampleJob,
  sampleVersion,
  storeModel,
  storeServer,
} from "../storage-under-test.ts";

export const sampleOrder: LearningOrder = {
  signals: ["ratings", "edits"],
  signalsMin: 1,
  secondsBetween: 0,
  days: 30,
  heldOutShare: 0.2,
  promptsMin: 1,
  promptsMax: 32,
  margin: 0.02,
  rollbackSeconds: 3600,
  rollbackSignalsMin: 2,
  rollbackMargin: 0.1,
  ratings: { terms: [{ kind: "reaction", weight: 1, rewards: { "👍": 1, "👎": 0 } }] },
  edits: { feedbackType: null, path: pathSteps("correction") ?? [] },
  judge: null,
  config: resolvePreferenceConfig({ loss: "kto" }),
};

const sampleLearning: Learning = {
  modelId: "m",
  order: sampleOrder,
  keyId: "key",
  keyOwner: "Ada \u0000",
  createdAt: moment(0),
  updatedAt: moment(0),
};

const webhook: NewWebhook = {
  id: "w",
  entity: "team",
  url: "http://127.0.0.1:9/",
  events: ["learning.promoted", "learning.rolled_back"],
  projectId: null,
  feedbackType: null,
  recordsMax: 100,
  description: null,
  secret: "whsec_",
  createdAt: moment(0),
};

const hold = { modelId: "m", owner: "server" };

function sampleCycle(jobId: string): LearningCycle {
  return {
    id: `cycle of ${jobId}`,
    modelId: "m",
    jobId,
    order: sampleOrder,
    learned: [{ kind: "ratings", owner: "Ada", creator: "NUL \u0000", count: 2 }],
    heldOut: [{ requestId: "r", choice: 0, isWanted: true }],
    createdAt: moment(1),
    ...newCycleProgress,
  };
}

/** Turns on the learning of a model that the server `server` runs. */
async function begin({ models, servers, learning }: Stores): Promise<void> {
  await storeModel(models, "m");
  await storeServer(servers);
  await learning.put(sampleLearning);
  await learning.claim("server");
}

const submit = ({ jobs }: Stores, id: string, origin = { hold, cycle: sampleCycle(id) }) =>
  jobs.create(sampleJob(id, "m"), [], null, { learning: origin });

/** Runs a job to its success, with a version. */
async function run({ jobs }: Stores, id: string, step: number): Promise<void> {
  await jobs.claim("server", moment(10));
  const version = sampleVersion("m", step, { jobId: id });
  await jobs.succeed(id, { owner: "server", version, counts: sampleCounts, at: moment(20), data: {} });
}

const advance = (
  { learning }: Stores,
  id: string,
  from: CycleStage,
  progress: Partial<CycleProgress>,
  by = hold,
) => learning.advance(by, { id: `cycle of ${id}` }, { from, progress: { ...sampleCycle(id), ...progress } });

const evaluating = {
  stage: "evaluating",
  baseStep: 0,
  candidateStep: 1,
  evaluatingSince: moment(21),
} as const;
const newest = async ({ models }: Stores) => (await models.newestVersion("m"))?.step;
const heldOf = async ({ models }: Stores, step: number) => (await models.findVersion("m", step))?.held?.state;

/** Registers the tests that a store of learning models must pass. */
export function checkLearningStore(makeStorage: MakeStorage): void {
  test("serves a candidate as the newest version only after its promotion, and no longer after a rollback", async (t) => {
    const [stores] = await openTwice(makeStorage, t);
    await stores.webhooks.create(webhook, { countMax: 1 });
    await begin(stores);
    await submit(stores, "j");
    await run(stores, "j", 1);
    assert.deepEqual([await newest(stores), await heldOf(stores, 1)], [0, "candidate"]);
    assert.equal((await advance(stores, "j", "training", evaluating))?.stage, "evaluating");
    assert.deepEqual((await stores.models.deleteVersions("m", [1], moment(0))).inUse, [1]);
    const kept = { keptCount: 1, spared: new Set<number>(), server: "server", now: moment(0) };
    assert.deepEqual(await stores.models.deleteOlderVersions("m", kept), []);
    const promoted = { ...evaluating, stage: "watching", promotedAt: moment(30) } as const;
    await advance(stores, "j", "evaluating", promoted);
    assert.deepEqual([await newest(stores), await heldOf(stores, 1)], [1, undefined]);
    const back = { ...promoted, stage: "rolled_back", reason: "worse", endedAt: moment(40) } as const;
    await advance(stores, "j", "watching", back);
    assert.deepEqual([await newest(stores), await heldOf(stores, 1)], [0, "rolled_back"]);
    const [cycle] = (await stores.learning.listCycles("m", firstPage)).items;
    assert.deepEqual(cycle, { ...sampleCycle("j"), ...back });
    const { items: told } = await stores.webhooks.listDeliveries("w", { state: null }, firstPage);
    const subject = { kind: "cycle", modelId: "m", cycleId: "cycle of j" };
    assert.deepEqual(
      told.map((event) => [event.type, event.subject]),
      [
        ["learning.promoted", subject],
        ["learning.rolled_back", subject],
      ],
    );
  });

  test("never promotes a candidate over a version that was published meanwhile", async (t) => {
    const [stores] = await openTwice(makeStorage, t);
    await begin(stores);
    await submit(stores, "j");
    await run(stores, "j", 1);
    await advance(stores, "j", "training", evaluating);
    await stores.jobs.create(sampleJob("other", "m"), [], null);
    await run(stores, "other", 2);
    const wanted = { ...evaluating, stage: "watching", promotedAt: moment(30) } as const;
    const stored = await advance(stores, "j", "evaluating", wanted);
    assert.deepEqual([stored?.stage, stored?.promotedAt], ["refused", null]);
    assert.match(stored?.reason ?? "", /Version 2 became the newest/);
    assert.deepEqual([await newest(stores), await heldOf(stores, 1)], [2, "refused"]);
  });

  test("does not roll back a version that another one has replaced", async (t) => {
    const [stores] = await openTwice(makeStorage, t);
    await begin(stores);
    await submit(stores, "j");
    await run(stores, "j", 1);
    await advance(stores, "j", "training", evaluating);
    const promoted = { ...evaluating, stage: "watching", promotedAt: moment(30) } as const;
    await advance(stores, "j", "evaluating", promoted);
    await stores.jobs.create(sampleJob("other", "m"), [], null);
    await run(stores, "other", 2);
    const back = { ...promoted, stage: "rolled_back", reason: "worse", endedAt: moment(40) } as const;
    assert.equal((await advance(stores, "j", "watching", back))?.stage, "promoted");
    assert.deepEqual([await newest(stores), await heldOf(stores, 1)], [2, undefined]);
  });

  test("lets only one server run the learning of a model, until that server's lease ends", async (t) => {
    const [first, second] = await openTwice(makeStorage, t);
    await begin(first);
    await storeServer(second.servers, "other");
    assert.deepEqual(await second.learning.claim("other"), []);
    const other = { ...hold, owner: "other" };
    await assert.rejects(submit(second, "k", { hold: other, cycle: sampleCycle("k") }), { code: "conflict" });
    await submit(first, "j");
    await run(first, "j", 1);
    assert.equal(await advance(second, "j", "training", evaluating, other), null);
    await first.servers.delete("server");
    assert.equal((await second.learning.claim("other"))[0]?.modelId, "m");
    const results = await Promise.all([
      advance(first, "j", "training", evaluating),
      advance(second, "j", "training", evaluating, other),
      advance(second, "j", "training", evaluating, other),
    ]);
    const stages = results.map((one) => one?.stage ?? null);
    assert.deepEqual([stages[0], stages.filter((stage) => stage === "evaluating").length], [null, 1]);
  });

  test("runs one cycle of a model at a time, and does not try its job again outside the gate", async (t) => {
    const [stores] = await openTwice(makeStorage, t);
    await begin(stores);
    await submit(stores, "j");
    await assert.rejects(submit(stores, "k"), { code: "conflict" });
    assert.equal(await stores.jobs.find("k"), null);
    await stores.jobs.requestCancel("j", moment(5));
    const retry = sampleJob("retry", "m", { retryOf: "j" });
    await assert.rejects(stores.jobs.create(retry, [], null), { code: "conflict" });
    await advance(stores, "j", "training", { stage: "failed", endedAt: moment(6) });
    await submit(stores, "k");
    assert.equal((await stores.learning.newestCycle("m"))?.jobId, "k");
  });

  test("refuses a candidate whose job ends after learning was turned off", async (t) => {
    const [stores] = await openTwice(makeStorage, t);
    await begin(stores);
    await submit(stores, "j");
    await stores.jobs.claim("server", moment(10));
    const ended = await stores.learning.remove("m", moment(15));
    assert.equal(ended?.stage, "refused");
    const version = sampleVersion("m", 1, { jobId: "j" });
    const success = { owner: "server", version, counts: sampleCounts, at: moment(20), data: {} };
    await stores.jobs.succeed("j", success);
    assert.deepEqual([await newest(stores), await heldOf(stores, 1)], [0, "refused"]);
    assert.equal(await stores.learning.find("m"), null);
    assert.equal(await stores.learning.remove("m", moment(16)), undefined);
  });

  test("keeps notes and turns of the model, the newest turns up to the limit", async (t) => {
    const [{ learning, ...stores }] = await openTwice(makeStorage, t);
    await begin({ learning, ...stores });
    await learning.note(hold, { signalCount: 3, fault: "no \u0000" });
    await learning.note({ ...hold, owner: "other" }, { signalCount: 4 });
    const notes = { signalCount: 3, heldOutCount: null, fault: "no \u0000" };
    assert.deepEqual(await learning.find("m"), { ...sampleLearning, ...notes });
    assert.equal(await learning.turnCursor(hold), 0);
    const turn = (hash: string, requestId = `r/${hash}`) => ({ hash, requestId });
    for (const [number, hash] of ["a", "b", "c"].entries())
      await learning.addTurns(hold, number + 1, [turn(hash)], { countMax: 2 });
    assert.equal(await learning.turnCursor(hold), 3);
    const found = await learning.findTurns("m", ["a", "b", "c", "d"]);
    assert.deepEqual(
      [...found].sort((one, other) => (one.hash < other.hash ? -1 : 1)),
      [turn("b"), turn("c")],
    );
    await storeModel(stores.models, "other");
    const learns = { entity: null, project: null, name: null, learns: true } as const;
    const { items } = await stores.models.list(learns, firstPage);
    assert.deepEqual(
      items.map(({ id }) => id),
      ["m"],
    );
    await stores.models.delete("m");
    assert.equal(await learning.find("m"), null);
    await assert.rejects(learning.put(sampleLearning), { code: "not_found" });
  });
}
