// The contract that every RuleStore and TrainingSourceStore must pass: the state of automatic rules, and that no
// feedback is trained on twice.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AutomaticHold, AutomaticOrder, StoredRule } from "../../../base/domain/rewards/stored-rule.ts";
import {
  answerId,
  feedbackMark,
  type FeedbackOrigin,
  type TrainingSource,
} from "../../../base/domain/rewards/training-source.ts";
import { resolveTrainingConfig } from "../../../base/domain/training-config.ts";
import type { Stores } from "../stores.ts";
import {
  firstPage,
  type MakeStorage,
  moment,
  openTwice,
  sampleJob,
  storeModel,
  storeServer,
} from "./storage-under-test.ts";

const limits = { countMax: 10 };

export const sampleOrder: AutomaticOrder = {
  modelId: "m",
  rollouts: null,
  filter: { $expr: { $eq: [{ $getField: "creator" }, { $literal: "NUL \u0000" }] } },
  since: moment(-60),
  groupsMin: 2,
  groupsMax: 10,
  secondsBetween: 0.5,
  jobsPerDay: 24,
  tokensPerDay: null,
  versionAgeMax: 3,
  config: resolveTrainingConfig({ learningRate: 0.1 + 0.2 }),
};

export function sampleRule(id: string, changes: Partial<StoredRule> = {}): StoredRule {
  return {
    id,
    entity: "team",
    project: "games",
    name: `name-of-${id}`,
    rule: { terms: [{ kind: "reaction", weight: 1, rewards: { "👍": 1, "👎": 0.1 } }] },
    standing: null,
    isPaused: false,
    createdAt: moment(0),
    updatedAt: moment(0),
    ...changes,
  };
}

function source(requestId: string, feedback: Readonly<Record<string, boolean>>): TrainingSource {
  return {
    requestId,
    choice: 0,
    step: 1,
    reward: 0.1 + 0.2,
    peopleCount: 2,
    feedback: Object.entries(feedback).map(([id, isNew]) => ({ id, contentHash: `hash of ${id}`, isNew })),
    use: "trained",
  };
}

const markOf = (id: string): string => feedbackMark({ id, contentHash: `hash of ${id}` });

/** Submits a job that is created from the given feedback sources. */
async function submit(
  { jobs }: Stores,
  id: string,
  sources: readonly TrainingSource[],
  standing: FeedbackOrigin["standing"] = null,
): Promise<void> {
  await jobs.create(sampleJob(id, "m", { createdAt: moment(5) }), ["{}"], null, {
    feedback: { sources, standing },
  });
}

async function marksOf({ sources }: Stores, ...requestIds: readonly string[]): Promise<object> {
  const marks = await sources.trainedOn(
    "m",
    requestIds.map((requestId) => ({ requestId, choice: 0 })),
  );
  return Object.fromEntries([...marks].map(([answer, known]) => [answer, [...known].sort()]));
}

/** Registers the tests that stores of rules and sources must pass. */
export function checkRuleStore(makeStorage: MakeStorage): void {
  const withModel = async (...[context]: Parameters<MakeStorage>): Promise<Stores> => {
    const stores = await (await makeStorage(context))();
    await storeModel(stores.models, "m");
    await storeServer(stores.servers);
    return stores;
  };
  const withAutomatic = async (...[context]: Parameters<MakeStorage>) => {
    const stores = await withModel(context);
    await stores.rules.create(sampleRule("r", { standing: sampleOrder }), limits);
    await stores.rules.claim("server");
    const hold: AutomaticHold = { ruleId: "r", owner: "server", updatedAt: moment(0) };
    return { stores, hold, progress: () => stores.rules.progress("r", moment(-3600)) };
  };

  test("returns a rule unchanged, also after reopening, in lists and pages", async (t) => {
    const open = await makeStorage(t);
    const first = await open();
    await storeModel(first.models, "m");
    const rules = [
      sampleRule("c", { standing: sampleOrder, isPaused: true }),
      sampleRule("a", { project: "other" }),
      sampleRule("b", { entity: "others" }),
    ];
    for (const rule of rules) await first.rules.create(rule, limits);
    await first.close();
    const stores = await open();
    assert.deepEqual(await stores.rules.find("c"), rules[0]);
    assert.equal(await stores.rules.find("d"), null);
    const idsOf = async (filter: object, page = firstPage) =>
      (await stores.rules.list({ entity: null, project: null, modelId: null, ...filter }, page)).items.map(
        ({ id }) => id,
      );
    assert.deepEqual(await idsOf({}), ["c", "a", "b"]);
    assert.deepEqual(await idsOf({ entity: "team" }), ["c", "a"]);
    assert.deepEqual(await idsOf({ project: "other" }), ["a"]);
    assert.deepEqual(await idsOf({ modelId: "m" }), ["c"]);
    assert.deepEqual(await idsOf({}, { after: "a", limit: 1, order: "desc" }), ["c"]);
    await assert.rejects(idsOf({ entity: "team" }, { ...firstPage, after: "b" }), { code: "invalid" });
    assert.equal(await stores.rules.delete("c"), true);
    assert.equal(await stores.rules.delete("c"), false);
    // A rule whose model was deleted no longer trains automatically.
    await stores.rules.create(rules[0], limits);
    await stores.models.delete("m");
    assert.equal((await stores.rules.find("c"))?.standing, null);
  });

  test("requires unique names in a project, existing models, and no more rules than the limit", async (t) => {
    const { rules } = await withModel(t);
    const name = "same";
    await rules.create(sampleRule("a", { name }), { countMax: 2 });
    await assert.rejects(rules.create(sampleRule("b", { name }), { countMax: 2 }), { code: "conflict" });
    await rules.create(sampleRule("c", { name, project: "other" }), { countMax: 1 });
    await rules.create(sampleRule("d"), { countMax: 2 });
    await assert.rejects(rules.create(sampleRule("e"), { countMax: 2 }), { code: "conflict" });
    const gone = { ...sampleOrder, modelId: "none" };
    await assert.rejects(rules.create(sampleRule("f", { standing: gone }), limits), { code: "not_found" });
    const changes = { name, rule: sampleRule("d").rule, standing: null, updatedAt: moment(9) };
    await assert.rejects(rules.replace("d", changes), { code: "conflict" });
    await assert.rejects(rules.replace("a", { ...changes, standing: gone }), { code: "not_found" });
    assert.deepEqual(await rules.replace("a", changes), { ...sampleRule("a"), ...changes });
    assert.equal(await rules.replace("none", changes), null);
  });

  test("gives an automatic rule to one server while its lease lasts, and to none while it is paused", async (t) => {
    const [stores, other] = await openTwice(makeStorage, t);
    await storeModel(stores.models, "m");
    for (const server of ["one", "two"]) await storeServer(stores.servers, server);
    await stores.rules.create(sampleRule("a", { standing: sampleOrder }), limits);
    await stores.rules.create(sampleRule("b"), limits);
    await stores.rules.create(sampleRule("c", { standing: sampleOrder, isPaused: true }), limits);
    const claimedBy = async ({ rules }: Stores, server: string) =>
      (await rules.claim(server)).map(({ id }) => id);
    const together = await Promise.all([claimedBy(stores, "one"), claimedBy(other, "two")]);
    assert.deepEqual(together.flat(), ["a"]);
    const [owner, next] = together[0].length === 1 ? ["one", "two"] : ["two", "one"];
    assert.deepEqual(await claimedBy(other, "nobody"), []);
    assert.deepEqual(await claimedBy(other, next), []);
    await stores.rules.setPaused("c", false, moment(1));
    assert.deepEqual(await claimedBy(other, next), ["c"]);
    await stores.servers.delete(owner);
    assert.deepEqual(await claimedBy(other, next), ["a", "c"]);
    const advance = { from: null, to: 1, notes: [], prompts: new Map() };
    const hold = { ruleId: "a", owner, updatedAt: moment(0) };
    assert.equal(await stores.rules.advance(hold, advance), false);
    assert.equal(await stores.rules.advance({ ...hold, owner: next }, advance), true);
  });

  test("writes an automatic rule's notes and its position atomically, for the holder of the unchanged rule", async (t) => {
    const { stores, hold, progress } = await withAutomatic(t);
    const { rules } = stores;
    const notes = [
      { promptHash: "p", feedbackId: "1" },
      { promptHash: "p", feedbackId: "2" },
      { promptHash: "q", feedbackId: "3" },
    ];
    const step = {
      from: null,
      to: 7,
      notes,
      prompts: new Map([
        ["p", true],
        ["q", false],
      ]),
    };
    assert.equal(await rules.advance(hold, step), true);
    assert.equal(await rules.advance(hold, step), false, "it does not stand there any more");
    assert.equal(await rules.advance({ ...hold, updatedAt: moment(1) }, { ...step, from: 7 }), false);
    assert.deepEqual([...(await rules.notesOf("r", "p", 10))], ["2", "1"]);
    assert.deepEqual([...(await rules.notesOf("r", "p", 1))], ["2"]);
    assert.deepEqual([...(await rules.notedPrompts("r", ["3", "2", "none"]))].toSorted(), ["p", "q"]);
    assert.deepEqual([...(await rules.notedPrompts("r", []))], []);
    const moved = {
      from: 7,
      to: 9,
      notes: [{ promptHash: "q", feedbackId: "2" }],
      prompts: new Map([["q", true]]),
    };
    assert.equal(await rules.advance(hold, moved), true);
    assert.deepEqual([...(await rules.notesOf("r", "p", 10))], ["1"]);
    assert.deepEqual([...(await rules.notesOf("r", "q", 10))], ["3", "2"]);
    assert.deepEqual([...(await rules.readyPrompts("r", 10))], ["p", "q"]);
    assert.deepEqual([...(await rules.readyPrompts("r", 1))], ["p"]);
    const shown = await progress();
    assert.deepEqual([shown?.cursor, shown?.readyCount, shown?.jobs], [9, 2, []]);
    await rules.setFault(hold, "why");
    assert.equal((await progress())?.fault, "why");
    assert.equal(await rules.progress("none", moment(0)), null);
    // A rule whose content was replaced reads all feedback again, from the start.
    const { name, rule, standing } = sampleRule("r", { standing: sampleOrder });
    await rules.replace("r", { name, rule, standing, updatedAt: moment(2) });
    const after = await progress();
    assert.deepEqual([after?.cursor, after?.readyCount, after?.fault], [null, 0, null]);
    assert.deepEqual([...(await rules.notesOf("r", "q", 10))], []);
  });

  test("keeps the fault of a paused rule until it is resumed; a change ends all holds", async (t) => {
    const { stores, hold, progress } = await withAutomatic(t);
    const { rules } = stores;
    await rules.setFault(hold, "three failed", { pauses: true });
    assert.deepEqual([(await rules.find("r"))?.isPaused, (await progress())?.fault], [true, "three failed"]);
    assert.deepEqual(await rules.claim("server"), []);
    const resumed = await rules.setPaused("r", false, moment(8));
    assert.deepEqual([resumed?.isPaused, resumed?.updatedAt], [false, moment(8)]);
    assert.equal((await progress())?.fault, null);
    // Resuming a rule that is not paused changes nothing.
    assert.deepEqual((await rules.setPaused("r", false, moment(9)))?.updatedAt, moment(8));
    const step = { from: null, to: 1, notes: [], prompts: new Map() };
    assert.equal(await rules.advance(hold, step), false);
    assert.equal(await rules.setPaused("none", true, moment(9)), null);
  });

  test("stores a job together with its source feedback, or not at all, and no feedback in two jobs", async (t) => {
    const stores = await withModel(t);
    const { jobs, sources } = stores;
    const compared: TrainingSource = { ...source("b", { "3": false }), use: "compared" };
    const first = [source("a", { "1": true, "2": true }), compared];
    await submit(stores, "one", first);
    const listed = await sources.list("one", firstPage);
    assert.deepEqual(
      listed.items.map(({ id: _id, ...rest }) => rest),
      first,
    );
    const rest = await sources.list("one", { ...firstPage, after: listed.items[0].id, limit: 1 });
    assert.deepEqual(rest, { items: [listed.items[1]], hasMore: false });
    await assert.rejects(sources.list("one", { ...firstPage, after: "x" }), { code: "invalid" });
    assert.deepEqual(await marksOf(stores, "a", "b", "c"), {
      [answerId({ requestId: "a", choice: 0 })]: [markOf("1"), markOf("2")],
    });
    // Several jobs may use the same feedback if the caller marks it as old (`false`). Feedback that is marked as new
    // must be unused.
    await submit(stores, "two", [source("a", { "1": false, "2": false, "4": true })]);
    await assert.rejects(submit(stores, "three", [source("c", { "9": true }), source("a", { "4": true })]), {
      code: "conflict",
    });
    assert.equal(await jobs.find("three"), null);
    assert.deepEqual((await sources.list("three", firstPage)).items, []);
    await submit(stores, "four", [source("c", { "9": true })]);
  });

  test("creates one of two concurrent jobs that want the same feedback", async (t) => {
    const [stores, other] = await openTwice(makeStorage, t);
    await storeModel(stores.models, "m");
    const together = await Promise.allSettled([
      submit(stores, "one", [source("a", { "1": true })]),
      submit(other, "two", [source("a", { "1": true })]),
    ]);
    assert.deepEqual(together.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
    assert.equal((await stores.jobs.list(anyJob, firstPage)).items.length, 1);
  });

  test("frees the feedback of a failed or cancelled job, and returns it to the job's retry", async (t) => {
    const stores = await withModel(t);
    const { jobs, sources } = stores;
    await submit(stores, "failing", [source("a", { "1": true })]);
    await submit(stores, "cancelled", [source("b", { "2": true })]);
    await jobs.requestCancel("cancelled", moment(6));
    await jobs.end("failing", "failed", "why", moment(6));
    assert.deepEqual(await marksOf(stores, "a", "b"), {});
    const retry = (id: string, retryOf: string) => jobs.create(sampleJob(id, "m", { retryOf }), [], null);
    await retry("again", "failing");
    assert.deepEqual(Object.keys(await marksOf(stores, "a", "b")), [answerId({ requestId: "a", choice: 0 })]);
    assert.equal((await sources.list("again", firstPage)).items.length, 1);
    await submit(stores, "taker", [source("b", { "2": true })]);
    await assert.rejects(retry("late", "cancelled"), { code: "conflict" });
  });

  test("gives an automatic rule's job its prompts, counts it against the rule's limits, and frees them if it fails", async (t) => {
    const { stores, hold, progress } = await withAutomatic(t);
    const { rules, jobs } = stores;
    const prompts = new Map([
      ["p", true],
      ["q", true],
    ]);
    await rules.advance(hold, { from: null, to: 7, notes: [], prompts });
    const standing = { hold, tokenCount: 123, promptHashes: ["p"] };
    await submit(stores, "one", [source("a", { "1": true })], standing);
    assert.deepEqual([...(await rules.readyPrompts("r", 10))], ["q"]);
    const made = { id: "one", createdAt: moment(5), tokenCount: 123 };
    const after = await progress();
    assert.deepEqual([after?.jobs, after?.lastJob], [[made], made]);
    assert.deepEqual((await rules.progress("r", moment(5)))?.jobs, []);
    await rules.releaseFailed(hold);
    assert.deepEqual([...(await rules.readyPrompts("r", 10))], ["q"]);
    await jobs.end("one", "failed", "why", moment(6));
    await rules.releaseFailed(hold);
    assert.deepEqual([...(await rules.readyPrompts("r", 10))].sort(), ["p", "q"]);
    // A job cannot be created for another server, nor for a rule that was changed or paused in the meantime.
    const lost = [
      { ...standing, hold: { ...hold, owner: "other" } },
      { ...standing, hold: { ...hold, updatedAt: moment(1) } },
    ];
    for (const [index, of] of lost.entries())
      await assert.rejects(submit(stores, `lost-${index}`, [], of), { code: "conflict" });
    await rules.setFault(hold, "paused", { pauses: true });
    await assert.rejects(submit(stores, "paused", [], standing), { code: "conflict" });
    assert.equal((await jobs.list(anyJob, firstPage)).items.length, 1);
  });
}

const anyJob = { entity: null, modelId: null, kind: null, state: null } as const;
