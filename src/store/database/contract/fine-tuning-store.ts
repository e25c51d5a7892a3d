// The contract that every FineTuningStore must pass.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { FineTuningJob, FineTuningOrder } from "../../../base/domain/fine-tuning/fine-tuning-job.ts";
import { firstPage, type MakeStorage, moment, storeModel, storeServer } from "./storage-under-test.ts";

const order: FineTuningOrder = {
  model: "tiny",
  baseModel: "tiny",
  trainingFile: "file-1",
  validationFile: null,
  suffix: "desk",
  seed: 7,
  metadata: null,
  method: "supervised",
  hyperparameters: { n_epochs: 3 },
  grader: null,
  responseFormat: null,
  exampleCount: 2,
  keyId: "key",
  keyOwner: "Ada",
};

const progress = { stepCountTotal: 4, steps: [], events: [] };

export function sampleFineTuning(id: string, changes: Partial<FineTuningJob> = {}): FineTuningJob {
  return {
    id,
    entity: "team",
    project: "games",
    modelId: "m",
    order,
    state: "running",
    trainingJobId: "j",
    progress: null,
    errorMessage: null,
    createdAt: moment(1),
    endedAt: null,
    ...changes,
  };
}

/** A reinforcement job that waits for a server. */
const waiting = (id: string, changes: Partial<FineTuningJob> = {}): FineTuningJob =>
  sampleFineTuning(id, { state: "queued", trainingJobId: null, progress, ...changes });

const ids = (jobs: readonly FineTuningJob[]): readonly string[] => jobs.map(({ id }) => id);

/** Registers the tests that a store of fine-tuning jobs must pass. */
export function checkFineTuningStore(makeStorage: MakeStorage): void {
  test("returns a fine-tuning job unchanged, also after reopening, until its model is deleted", async (t) => {
    const open = await makeStorage(t);
    const first = await open();
    await storeModel(first.models, "m");
    const metadata = { 'a"\n': "\\[é]\n", b: "" };
    const job = waiting("a", { order: { ...order, metadata } });
    await first.fineTuning.create(job);
    await first.close();
    const { fineTuning, models } = await open();
    assert.deepEqual(await fineTuning.find("a"), job);
    assert.equal(await fineTuning.find("b"), null);
    await models.delete("m");
    assert.equal(await fineTuning.find("a"), null);
  });

  test("lists the fine-tuning jobs of an owner, and those with certain metadata", async (t) => {
    const { fineTuning, models } = await (await makeStorage(t))();
    await storeModel(models, "m");
    const withPairs = (metadata: FineTuningOrder["metadata"]) => ({ order: { ...order, metadata } });
    await fineTuning.create(sampleFineTuning("a", withPairs({ k: "v", l: "w" })));
    await fineTuning.create(sampleFineTuning("b", withPairs({ k: "V" })));
    await fineTuning.create(sampleFineTuning("c", { entity: "others" }));
    const list = async (
      metadata: FineTuningOrder["metadata"],
      entity = "team",
      project: string | null = null,
    ) => ids((await fineTuning.list({ reach: { entity, project }, metadata }, firstPage)).items);
    assert.deepEqual(await list({}), ["a", "b"]);
    assert.deepEqual(await list({ k: "v" }), ["a"]);
    assert.deepEqual(await list({ k: "v", l: "w" }), ["a"]);
    assert.deepEqual(await list({ k: "v", l: "x" }), []);
    assert.deepEqual(await list(null, "others"), ["c"]);
    assert.deepEqual(await list({}, "team", "chess"), []);
    const all = await fineTuning.list({ reach: null, metadata: {} }, { after: "c", limit: 1, order: "desc" });
    assert.deepEqual([ids(all.items), all.hasMore], [["b"], true]);
  });

  test("gives a waiting job to one server, entities in turn, and again if that server dies", async (t) => {
    const { fineTuning, models, servers } = await (await makeStorage(t))();
    await storeModel(models, "m");
    assert.deepEqual(await fineTuning.claim("one", 9), []);
    await storeServer(servers, "one");
    await storeServer(servers, "two");
    await fineTuning.create(sampleFineTuning("supervised"));
    for (const [id, entity] of [
      ["a", "team"],
      ["b", "team"],
      ["c", "others"],
    ] as const)
      await fineTuning.create(waiting(id, { entity }));
    assert.deepEqual(ids(await fineTuning.claim("one", 2)), ["a", "c"]);
    assert.deepEqual(ids(await fineTuning.claim("two", 9)), ["b"]);
    assert.equal((await fineTuning.find("a"))?.state, "running");
    await servers.delete("one");
    assert.deepEqual(ids(await fineTuning.claim("two", 9)), ["a", "b", "c"]);
    assert.equal(await fineTuning.advance("a", "one", { trainingJobId: "x", progress }), false);
    assert.equal(await fineTuning.advance("a", "two", { trainingJobId: "x", progress }), true);
    assert.equal((await fineTuning.find("a"))?.trainingJobId, "x");
  });

  test("changes the state only from expected states, and takes the job from its server", async (t) => {
    const { fineTuning, models, servers } = await (await makeStorage(t))();
    await storeModel(models, "m");
    await storeServer(servers, "one");
    await fineTuning.create(waiting("a"));
    await fineTuning.claim("one", 1);
    const at = moment(5);
    assert.equal(await fineTuning.changeState("a", { from: ["queued"], to: "paused", at }), null);
    const paused = await fineTuning.changeState("a", { from: ["running"], to: "paused", at });
    assert.deepEqual([paused?.state, paused?.endedAt], ["paused", null]);
    assert.equal(await fineTuning.advance("a", "one", { trainingJobId: null, progress }), false);
    assert.deepEqual(await fineTuning.claim("one", 1), []);
    await fineTuning.changeState("a", { from: ["paused"], to: "queued", at });
    assert.deepEqual(ids(await fineTuning.claim("one", 1)), ["a"]);
    const failure = { from: ["running"], to: "failed", at, errorMessage: "No reward." } as const;
    assert.equal(await fineTuning.changeState("a", { ...failure, owner: "two" }), null);
    const failed = await fineTuning.changeState("a", { ...failure, owner: "one" });
    assert.deepEqual([failed?.state, failed?.errorMessage, failed?.endedAt], ["failed", "No reward.", at]);
  });
}
