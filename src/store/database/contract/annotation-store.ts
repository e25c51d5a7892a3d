// The contract that every AnnotationStore must pass.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnnotationStore, ItemFilter } from "../../../base/domain/annotation/annotation-store.ts";
import {
  type AnnotationQueue,
  type AnnotationState,
  stateOf,
} from "../../../base/domain/annotation/queue.ts";
import { type MakeStorage, moment, openTwice } from "./storage-under-test.ts";

const project = "team/games";
const strange = 'NUL \0, a lone half \ud83d and "';

export function sampleQueue(id: string, changes: Partial<AnnotationQueue> = {}): AnnotationQueue {
  return {
    id,
    projectId: project,
    name: `name of ${id}`,
    description: strange,
    scorerRefs: ["weave:///team/games/object/quality:v0"],
    questions: [{ name: "good", text: strange, schema: { enum: [strange, 1, null] }, isOptional: true }],
    annotatorsPerItem: 1,
    createdAt: moment(0),
    createdBy: "Ada",
    updatedAt: moment(0),
    deletedAt: null,
    ...changes,
  };
}

const adding = { displayFields: [], addedBy: "Ada", at: moment(1), itemsMax: 1000 };
const everything: ItemFilter = { id: null, callId: null, addedBy: null, states: null, annotator: null };
const wholeList = { limit: 1000, offset: 0, order: null } as const;

/** Adds items for the calls with these names. The items get the ids `i1`, `i2` and so on. */
async function addItems(store: AnnotationStore, queueId: string, ...calls: readonly string[]): Promise<void> {
  let count = (await store.listItems(queueId, everything, { ...wholeList, at: moment(0) })).length;
  const drafts = calls.map((callId) => ({ callId, vendorRef: `weave:///${project}/call/${callId}` }));
  await store.addItems(queueId, drafts, { ...adding, newId: () => `${queueId}-${(count += 1)}` });
}

/**
 * Claims an item for a minute.
 *
 * @returns the item's id
 */
async function claimed(store: AnnotationStore, annotator: string, seconds: number): Promise<string | null> {
  const claim = { annotator, at: moment(seconds), until: moment(seconds + 60) };
  return (await store.claim("q", claim))?.id ?? null;
}

async function moved(
  store: AnnotationStore,
  itemId: string,
  move: {
    readonly to: AnnotationState;
    readonly by: string;
    readonly from?: readonly AnnotationState[];
    readonly at?: number;
  },
): Promise<boolean | null> {
  const { to, by, from = ["unstarted", "in_progress"], at = 2 } = move;
  const result = await store.move(
    { queueId: "q", itemId, annotator: by },
    { to, from, at: moment(at), until: moment(at + 60) },
  );
  return result?.isMoved ?? null;
}

/** Registers the tests that an annotation store must pass. */
export function checkAnnotationStore(makeStorage: MakeStorage): void {
  test("returns a queue unchanged, also after reopening and after its deletion", async (t) => {
    const open = await makeStorage(t);
    const first = await open();
    await first.annotation.createQueue(sampleQueue("q"));
    await first.close();
    const { annotation } = await open();
    assert.deepEqual(await annotation.findQueue(project, "q"), sampleQueue("q"));
    assert.equal(await annotation.findQueue("team/other", "q"), null);
    assert.equal(await annotation.findQueue(project, "none"), null);
    assert.deepEqual(
      [await annotation.hasQueues(project), await annotation.hasQueues("team/other")],
      [true, false],
    );
    const change = { name: "other", questions: [], annotatorsPerItem: 3, updatedAt: moment(5) };
    const changed = { ...sampleQueue("q"), ...change };
    assert.deepEqual(await annotation.updateQueue(project, "q", change), changed);
    assert.equal(await annotation.updateQueue("team/other", "q", change), null);
    assert.deepEqual(await annotation.findQueue(project, "q"), changed);
    const deleted = { ...changed, updatedAt: moment(6), deletedAt: moment(6) };
    const deletion = { updatedAt: moment(6), deletedAt: moment(6) };
    assert.deepEqual(await annotation.updateQueue(project, "q", deletion), deleted);
    assert.equal(await annotation.updateQueue(project, "q", change), null);
    assert.deepEqual(await annotation.findQueue(project, "q"), deleted);
    assert.equal(await annotation.hasQueues(project), false);
    assert.equal(await annotation.addItems("q", [], { ...adding, newId: () => "i" }), null);
    assert.equal(await claimed(annotation, "ann", 0), null);
  });

  test("finds queues by part of their name, and lists them in the requested order", async (t) => {
    const { annotation } = await (await makeStorage(t))();
    for (const [id, name, seconds] of [
      ["a", "tone", 3],
      ["b", "Tone of 100%", 1],
      ["c", "ÄRGER_tone", 2],
    ] as const)
      await annotation.createQueue(
        sampleQueue(id, { name, createdAt: moment(seconds), updatedAt: moment(-seconds) }),
      );
    await annotation.createQueue(sampleQueue("d", { projectId: "team/other" }));
    await annotation.createQueue(sampleQueue("e", { deletedAt: moment(1) }));
    const found = async (
      name: string | null,
      slice: Partial<Parameters<typeof annotation.listQueues>[2]> = {},
    ) =>
      (await annotation.listQueues(project, { name }, { ...wholeList, ...slice }))
        .map(({ id }) => id)
        .join("");
    assert.equal(await found(null), "abc");
    assert.equal(await found("TONE"), "abc");
    assert.equal(await found("ärger"), "c");
    assert.equal(await found("0%"), "b");
    assert.equal(await found("r_t"), "c");
    assert.equal(await found("t_n"), "");
    assert.equal(await found("\\"), "");
    assert.equal(await found(null, { order: { by: "createdAt", isDescending: false } }), "bca");
    assert.equal(await found(null, { order: { by: "updatedAt", isDescending: true } }), "bca");
    assert.equal(
      await found(null, { order: { by: "name", isDescending: true }, limit: 1, offset: 2 }).then(
        (ids) => ids.length,
      ),
      1,
    );
    assert.equal(await found(null, { limit: 1, offset: 1 }), "b");
    assert.equal(await found(null, { bytesMax: 1 }), "a");
    assert.equal(await found(null, { offset: 3 }), "");
  });

  test("adds each item once, up to a limit, and finds items by their properties", async (t) => {
    const { annotation } = await (await makeStorage(t))();
    await annotation.createQueue(sampleQueue("q"));
    await annotation.createQueue(sampleQueue("p"));
    await addItems(annotation, "q", "a", "b", "a");
    await addItems(annotation, "p", "a");
    let count = 2;
    const newId = (): string => `q-${(count += 1)}`;
    const drafts = ["b", "c", "d"].map((callId) => ({
      callId,
      vendorRef: `weave:///${project}/call/${callId}`,
    }));
    await assert.rejects(annotation.addItems("q", drafts, { ...adding, newId, itemsMax: 3 }), {
      code: "too_large",
    });
    count = 2;
    const displayFields = [{ jsonPath: "inputs.x", label: strange }];
    const added = { ...adding, newId, itemsMax: 4, addedBy: "Bob", displayFields };
    assert.equal(await annotation.addItems("q", drafts, added), 2);
    assert.equal(await annotation.addItems("q", drafts, added), 0);
    const at = moment(2);
    assert.deepEqual(await annotation.findItem({ queueId: "q", itemId: "q-3" }, at), {
      id: "q-3",
      queueId: "q",
      position: 3,
      callId: "c",
      vendorRef: `weave:///${project}/call/c`,
      displayFields,
      addedBy: "Bob",
      createdAt: moment(1),
      annotations: [],
    });
    assert.equal(await annotation.findItem({ queueId: "p", itemId: "q-3" }, at), null);
    const listed = async (filter: Partial<ItemFilter>, slice: object = {}) =>
      (await annotation.listItems("q", { ...everything, ...filter }, { ...wholeList, at, ...slice })).map(
        ({ id }) => id,
      );
    assert.deepEqual(await listed({}), ["q-1", "q-2", "q-3", "q-4"]);
    assert.deepEqual(await listed({ id: "q-2" }), ["q-2"]);
    assert.deepEqual(await listed({ callId: "d" }), ["q-4"]);
    assert.deepEqual(await listed({ addedBy: "Bob" }), ["q-3", "q-4"]);
    assert.deepEqual(await listed({}, { order: { by: "callId", isDescending: true }, limit: 2, offset: 1 }), [
      "q-3",
      "q-2",
    ]);
    assert.deepEqual(await listed({}, { bytesMax: 1 }), ["q-1"]);
    assert.deepEqual(await listed({ states: [] }), []);
    const repeated = Array<"completed">(40_000).fill("completed");
    assert.deepEqual(await listed({ states: repeated }), await listed({ states: ["completed"] }));
  });

  test("moves an annotator between states only as requested", async (t) => {
    const { annotation } = await (await makeStorage(t))();
    await annotation.createQueue(sampleQueue("q"));
    await addItems(annotation, "q", "a");
    assert.equal(await moved(annotation, "none", { to: "completed", by: "ann" }), null);
    assert.equal(await moved(annotation, "q-1", { to: "in_progress", by: "ann", from: ["unstarted"] }), true);
    assert.equal(
      await moved(annotation, "q-1", { to: "in_progress", by: "ann", from: ["unstarted"] }),
      false,
    );
    assert.equal(await moved(annotation, "q-1", { to: "completed", by: "ann", at: 3 }), true);
    assert.equal(await moved(annotation, "q-1", { to: "skipped", by: "ann" }), false);
    assert.equal(await moved(annotation, "q-1", { to: "skipped", by: "bob", at: 4 }), true);
    const key = { queueId: "q", itemId: "q-1" };
    assert.deepEqual((await annotation.findItem(key, moment(5)))?.annotations, [
      { annotator: "ann", state: "completed", heldUntil: null, updatedAt: moment(3) },
      { annotator: "bob", state: "skipped", heldUntil: null, updatedAt: moment(4) },
    ]);
    assert.equal(
      await moved(annotation, "q-1", { to: "in_progress", by: "ann", from: ["completed"], at: 5 }),
      true,
    );
    assert.equal(await moved(annotation, "q-1", { to: "unstarted", by: "ann", at: 6 }), true);
    assert.deepEqual(
      (await annotation.findItem(key, moment(7)))?.annotations.map(({ annotator }) => annotator),
      ["bob"],
    );
    assert.equal(await claimed(annotation, "cas", 8), "q-1");
  });

  test("expires a hold: the annotator returns to the previous state, and others get the item", async (t) => {
    const { annotation } = await (await makeStorage(t))();
    await annotation.createQueue(sampleQueue("q"));
    await addItems(annotation, "q", "a");
    assert.equal(await claimed(annotation, "ann", 0), "q-1");
    assert.equal(await claimed(annotation, "ann", 30), "q-1");
    assert.equal(await claimed(annotation, "bob", 80), null);
    assert.deepEqual(await annotation.remaining("q", "bob", moment(80)), { open: 1, held: 1 });
    assert.deepEqual(await annotation.remaining("q", "bob", moment(90)), { open: 1, held: 0 });
    assert.equal(await claimed(annotation, "bob", 90), "q-1");
    const item = await annotation.findItem({ queueId: "q", itemId: "q-1" }, moment(91));
    assert.deepEqual(item?.annotations, [
      { annotator: "bob", state: "in_progress", heldUntil: moment(150), updatedAt: moment(90) },
    ]);
    assert.equal(
      await moved(annotation, "q-1", { to: "in_progress", from: ["in_progress"], by: "ann", at: 92 }),
      false,
    );
    assert.equal(
      await moved(annotation, "q-1", { to: "in_progress", from: ["in_progress"], by: "bob", at: 140 }),
      true,
    );
    assert.equal(await claimed(annotation, "ann", 160), null);
  });

  test("gives each item to as many annotators as required, most completed items first", async (t) => {
    const { annotation } = await (await makeStorage(t))();
    await annotation.createQueue(sampleQueue("q", { annotatorsPerItem: 2 }));
    await addItems(annotation, "q", "a", "b", "c");
    assert.equal(await claimed(annotation, "ann", 0), "q-1");
    assert.equal(await claimed(annotation, "bob", 0), "q-1");
    assert.equal(await claimed(annotation, "cas", 0), "q-2");
    await moved(annotation, "q-2", { to: "completed", by: "cas" });
    await moved(annotation, "q-1", { to: "skipped", by: "ann" });
    assert.equal(await claimed(annotation, "ann", 3), "q-2");
    assert.equal(await claimed(annotation, "dan", 3), "q-1");
    assert.equal(await claimed(annotation, "cas", 3), "q-3");
    await moved(annotation, "q-2", { to: "completed", by: "ann" });
    assert.equal(await claimed(annotation, "ann", 4), "q-3");
    assert.equal(await claimed(annotation, "eve", 4), null);
    assert.deepEqual(await annotation.remaining("q", "eve", moment(4)), { open: 2, held: 2 });
    assert.deepEqual(await annotation.remaining("q", "ann", moment(4)), { open: 1, held: 0 });
    await annotation.updateQueue(project, "q", { annotatorsPerItem: 3, updatedAt: moment(5) });
    assert.equal(await claimed(annotation, "eve", 5), "q-2");
  });

  test("never gives an item that another annotator holds, with concurrent claims on several connections", async (t) => {
    const [one, other] = await openTwice(makeStorage, t);
    await one.annotation.createQueue(sampleQueue("q"));
    await addItems(one.annotation, "q", "a", "b", "c", "d", "e");
    const claims = Array.from({ length: 8 }, (_, index) =>
      claimed((index % 2 === 0 ? one : other).annotation, `annotator ${index}`, 0),
    );
    const given = (await Promise.all(claims)).filter((id) => id !== null);
    assert.deepEqual(given.sort(), ["q-1", "q-2", "q-3", "q-4", "q-5"]);
    const moves = [one, other, one, other].map(({ annotation }) =>
      moved(annotation, "q-1", { to: "completed", by: "fay", from: ["unstarted"] }),
    );
    assert.equal((await Promise.all(moves)).filter((isMoved) => isMoved === true).length, 1);
    assert.deepEqual(
      await other.annotation.stats(project, ["q"], moment(3)).then(([stats]) => stats?.completedItems),
      1,
    );
  });

  test("counts the completed items by annotator, in the project's queues only", async (t) => {
    const { annotation } = await (await makeStorage(t))();
    await annotation.createQueue(sampleQueue("q", { annotatorsPerItem: 2 }));
    await annotation.createQueue(sampleQueue("p"));
    await annotation.createQueue(sampleQueue("o", { projectId: "team/other" }));
    await addItems(annotation, "q", "a", "b", "c");
    await moved(annotation, "q-1", { to: "completed", by: "bob" });
    await moved(annotation, "q-1", { to: "completed", by: "ann" });
    await moved(annotation, "q-2", { to: "completed", by: "ann" });
    await moved(annotation, "q-2", { to: "skipped", by: "bob" });
    await claimed(annotation, "cas", 2);
    assert.deepEqual(await annotation.stats(project, ["p", "none", "q", "o", "p"], moment(10)), [
      { queueId: "p", totalItems: 0, completedItems: 0, annotators: [] },
      {
        queueId: "q",
        totalItems: 3,
        completedItems: 1,
        annotators: [
          { annotator: "ann", completed: 2, skipped: 0, inProgress: 0 },
          { annotator: "bob", completed: 1, skipped: 1, inProgress: 0 },
          { annotator: "cas", completed: 0, skipped: 0, inProgress: 1 },
        ],
      },
    ]);
    const [, later] = await annotation.stats(project, ["p", "q"], moment(100));
    assert.deepEqual(
      later?.annotators.map(({ annotator }) => annotator),
      ["ann", "bob"],
    );
    const states = async (of: readonly AnnotationState[], annotator: string | null = null) =>
      (
        await annotation.listItems(
          "q",
          { ...everything, states: of, annotator },
          { ...wholeList, at: moment(10) },
        )
      ).map(({ position }) => position);
    assert.deepEqual(await states(["completed"]), [1, 2]);
    assert.deepEqual(await states(["in_progress", "unstarted"]), [3]);
    assert.deepEqual(await states(["skipped"], "bob"), [2]);
    assert.deepEqual(await states(["unstarted"], "bob"), [3]);
    assert.deepEqual(await states(["in_progress"], "cas"), [2]);
    const [, second] = await annotation.listItems("q", everything, { ...wholeList, at: moment(10) });
    assert.equal(second === undefined ? null : stateOf(second, "bob"), "skipped");
  });
}
