// Tests the rules of the feedback service, with tables of valid and invalid records, and its operations on the SQLite
// store.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Caller } from "../../base/domain/access.ts";
import { storesInMemory } from "../../store/database/testing/stores-in-memory.ts";
import { fullError } from "../../base/domain/retention/storage-room.ts";
import { FakeClock } from "../../base/domain/testing/fake-clock.ts";
import { always } from "../../base/domain/feedback-query/condition.ts";
import type { FeedbackStore } from "../../base/domain/feedback-query/feedback-store.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { type FeedbackBatch, FeedbackPacker } from "../../base/domain/feedback-query/feedback-batch.ts";
import type { FeedbackRecord } from "../../base/domain/feedback.ts";
import { checkContent, checkedFeedback, type FeedbackInput, payloadBytesMax } from "./check-content.ts";
import { createFeedbackService, type FeedbackService } from "./feedback-service.ts";

const member: Caller = {
  keyId: "k",
  entity: "team",
  role: "member",
  owner: "Ada",
  scopes: null,
  project: null,
};
const admin: Caller = {
  keyId: "a",
  entity: "ops",
  role: "admin",
  owner: "Root",
  scopes: null,
  project: null,
};
const objectRef = (name: string, project = "team/games") => `hone:///${project}/object/${name}:d1`;
const opRef = (name: string) => `hone:///team/games/op/${name}:d1`;
const callRef = "weave:///team/games/call/0190";

function input(changes: Partial<FeedbackInput> = {}): FeedbackInput {
  return {
    id: null,
    projectId: "team/games",
    vendorRef: callRef,
    feedbackType: "score",
    payload: { value: 1 },
    creator: null,
    annotationRef: null,
    runnableRef: null,
    callRef: null,
    triggerRef: null,
    queueId: null,
    ...changes,
  };
}

function packed(records: readonly FeedbackInput[]): FeedbackBatch {
  const packer = new FeedbackPacker("rows");
  for (const record of records) {
    const found = checkContent(record);
    assert.deepEqual(found.faults, []);
    packer.add({ id: record.id ?? "", ...checkedFeedback(found) }, found.payloadText);
  }
  return packer.packed();
}

/** Creates a batch of records, and returns them as stored, in order. */
async function createBatch(
  { service, store }: Awaited<ReturnType<typeof openService>>,
  records: readonly FeedbackInput[],
): Promise<readonly FeedbackRecord[]> {
  const created = await service.createBatch(packed(records), member);
  if (created.kind === "stored") return created.records;
  const found = await Promise.all(records.map(({ projectId, id }) => store.find(projectId, id ?? "")));
  return found.filter((record) => record !== null);
}

const firstPage = { after: null, limit: 100, order: "asc" } as const;

/** A store that accepts everything, for tests of checks that run before anything is stored. */
const takesEverything: FeedbackStore = {
  packForm: "columns",
  create: async (records) => records,
  createBatch: async () => true,
  find: async () => null,
  findMany: async () => [],
  replace: async () => null,
  history: async () => ({ items: [], hasMore: false }),
  query: async () => ({ items: [], totalCount: 0 }),
  scan: async () => ({ items: [], last: null, hasMore: false }),
  placeOf: async () => null,
  countTypes: async () => ({ totalCount: 0, types: [] }),
  delete: async () => undefined,
};
const storeless = createFeedbackService({
  store: takesEverything,
  queues: { findQueue: async () => null, hasQueues: async () => false },
  specs: { find: async () => null },
  clock: new FakeClock(),
});

async function openService(): Promise<{ service: FeedbackService; store: FeedbackStore; clock: FakeClock }> {
  const database = await storesInMemory();
  const clock = new FakeClock();
  return {
    service: createFeedbackService({
      store: database.feedback,
      queues: database.annotation,
      specs: database.objects,
      clock,
    }),
    store: database.feedback,
    clock,
  };
}

async function errorOf(promise: Promise<unknown>): Promise<ServiceError> {
  const error = await promise.then(
    () => assert.fail("it passed"),
    (caught: unknown) => caught,
  );
  assert.ok(error instanceof ServiceError, String(error));
  return error;
}

const text = (length: number) => "é".repeat(length);
const wide = (length: number) => "👍".repeat(length);
/** Returns a payload whose JSON text has exactly `bytes` bytes. */
const payloadOf = (bytes: number) => ({ text: "x".repeat(bytes - '{"text":""}'.length) });

const annotation = (changes: Partial<FeedbackInput> = {}) =>
  input({
    feedbackType: "wandb.annotation.quality",
    annotationRef: objectRef("quality"),
    payload: { value: null },
    ...changes,
  });

const runnable = (changes: Partial<FeedbackInput> = {}) =>
  input({
    feedbackType: "vendor.runnable.judge",
    runnableRef: opRef("judge"),
    callRef,
    payload: { output: null },
    ...changes,
  });

const accepted: Readonly<Record<string, FeedbackInput>> = {
  "an unknown type with any references": input({
    annotationRef: objectRef("any"),
    runnableRef: opRef("any"),
    callRef,
    triggerRef: objectRef("any"),
  }),
  "an unknown type with references of any kind": input({
    annotationRef: opRef("any"),
    runnableRef: objectRef("any"),
    callRef: opRef("any"),
    triggerRef: callRef,
  }),
  "an object as the target": input({ vendorRef: "<scheme>:///team/games/object/x:d" }),
  "an op as the target": input({ vendorRef: opRef("x") }),
  "a target in another project": input({ vendorRef: "hone:///others/p/call/1" }),
  "empty references as absent": input({
    feedbackType: "wandb.note.1",
    payload: { note: "n" },
    annotationRef: "",
    runnableRef: "",
    callRef: "",
    triggerRef: "",
  }),
  "an unknown queue": input({ queueId: "no such queue" }),
  "a type of one character": input({ feedbackType: "x" }),
  "a type of 256 characters": input({ feedbackType: wide(256) }),
  "an id of 256 characters": input({ id: text(256) }),
  "a payload of one mebibyte": input({ payload: payloadOf(payloadBytesMax) }),
  "an empty payload": input({ payload: {} }),
  "a reaction with additional keys": input({
    feedbackType: "vendor.reaction.1",
    payload: { emoji: "👍", more: 1 },
  }),
  "a note of 1 character": input({ feedbackType: "vendor.note.1", payload: { note: "n" } }),
  "a note of 1,024 wide characters": input({ feedbackType: "wandb.note.1", payload: { note: wide(1024) } }),
  "a reaction of another version": input({ feedbackType: "wandb.reaction.2", payload: {}, callRef }),
  "a note type of another vendor": input({ feedbackType: "acme.note.1", payload: {} }),
  "an annotation": annotation(),
  "an annotation whose name has dots": annotation({
    feedbackType: "vendor.annotation.a.b",
    annotationRef: objectRef("a.b"),
  }),
  "an annotation whose name is encoded": annotation({
    feedbackType: "vendor.annotation.my name",
    annotationRef: objectRef("my%20name"),
  }),
  "an annotation made by a run": annotation({ runnableRef: opRef("x"), callRef, triggerRef: objectRef("t") }),
  "an output of an op": runnable(),
  "an output of an object, without a call": runnable({ runnableRef: objectRef("judge"), callRef: null }),
  "an output with a trigger": runnable({ triggerRef: objectRef("t") }),
};

for (const [name, record] of Object.entries(accepted)) {
  test(`accepts ${name}`, async () => {
    assert.equal((await storeless.create(record, member)).feedbackType, record.feedbackType);
  });
}

/** Invalid records by description. Each is followed by the fields that the service must report, in order. */
const refused: Readonly<Record<string, readonly [FeedbackInput, ...string[]]>> = {
  "a project without an entity": [input({ projectId: "games" }), "project_id"],
  "a project of three parts": [input({ projectId: "a/b/c" }), "project_id"],
  "an empty target": [input({ vendorRef: "" }), "vendor_ref"],
  "a malformed target": [input({ vendorRef: "hone:///team/games/obj/1:2" }), "vendor_ref"],
  "a target with a NUL": [input({ vendorRef: "hone:///team/games/call/a\0b" }), "vendor_ref"],
  "an empty type": [input({ feedbackType: "" }), "feedback_type"],
  "a type of 257 characters": [input({ feedbackType: text(257) }), "feedback_type"],
  "an empty id": [input({ id: "" }), "id"],
  "an id of 257 characters": [input({ id: text(257) }), "id"],
  "an id with an unpaired surrogate": [input({ id: "a\ud83d" }), "id"],
  "a payload above one mebibyte": [input({ payload: payloadOf(payloadBytesMax + 1) }), "payload"],
  "an annotation reference to an op": [annotation({ annotationRef: opRef("quality") }), "annotation_ref"],
  "a call reference to an op": [runnable({ callRef: opRef("x") }), "call_ref"],
  "a trigger reference to a call": [runnable({ triggerRef: callRef }), "trigger_ref"],
  "a malformed reference": [input({ triggerRef: "x" }), "trigger_ref"],
  "a reaction without the key emoji": [
    input({ feedbackType: "wandb.reaction.1", payload: {} }),
    "payload.emoji",
  ],
  "a reaction that is a number": [
    input({ feedbackType: "wandb.reaction.1", payload: { emoji: 1 } }),
    "payload.emoji",
  ],
  "a reaction with two emoji": [
    input({ feedbackType: "vendor.reaction.1", payload: { emoji: "👍👍" } }),
    "payload.emoji",
  ],
  "a reaction whose text has no emoji": [
    input({ feedbackType: "vendor.reaction.1", payload: { emoji: "ok" } }),
    "payload.emoji",
  ],
  "a reaction with references": [
    input({
      feedbackType: "vendor.reaction.1",
      payload: { emoji: "👍" },
      annotationRef: objectRef("x"),
      runnableRef: opRef("x"),
      callRef,
      triggerRef: objectRef("x"),
    }),
    "annotation_ref",
    "runnable_ref",
    "call_ref",
    "trigger_ref",
  ],
  "a note without the key note": [input({ feedbackType: "wandb.note.1", payload: {} }), "payload.note"],
  "an empty note": [input({ feedbackType: "wandb.note.1", payload: { note: "" } }), "payload.note"],
  "a note of 1,025 characters": [
    input({ feedbackType: "wandb.note.1", payload: { note: text(1025) } }),
    "payload.note",
  ],
  "a note that is null": [input({ feedbackType: "vendor.note.1", payload: { note: null } }), "payload.note"],
  "a note with a call": [
    input({ feedbackType: "vendor.note.1", payload: { note: "n" }, callRef }),
    "call_ref",
  ],
  "an annotation without a dot": [annotation({ feedbackType: "wandb.annotationX" }), "feedback_type"],
  "an annotation without a name": [annotation({ feedbackType: "vendor.annotation." }), "feedback_type"],
  "an annotation without its reference": [annotation({ annotationRef: null }), "annotation_ref"],
  "an annotation whose reference has another name": [
    annotation({ annotationRef: objectRef("other") }),
    "annotation_ref",
  ],
  "an annotation whose reference is in another project": [
    annotation({ annotationRef: objectRef("quality", "team/other") }),
    "annotation_ref",
  ],
  "an annotation without a value": [annotation({ payload: { output: 1 } }), "payload.value"],
  "a runnable without a dot": [runnable({ feedbackType: "wandb.runnable_judge" }), "feedback_type"],
  "a runnable without a name": [runnable({ feedbackType: "wandb.runnable" }), "feedback_type"],
  "a runnable without its reference": [runnable({ runnableRef: null }), "runnable_ref"],
  "a runnable whose reference has another name": [runnable({ runnableRef: opRef("other") }), "runnable_ref"],
  "a runnable whose reference is a call": [runnable({ runnableRef: callRef }), "runnable_ref"],
  "an op without its call": [runnable({ callRef: null }), "call_ref"],
  "a runnable without an output": [runnable({ payload: { value: 1 } }), "payload.output"],
  "a runnable with an annotation": [runnable({ annotationRef: objectRef("x") }), "annotation_ref"],
  "five faults at once": [
    runnable({ id: "", projectId: "", vendorRef: "", callRef: "x", payload: {} }),
    "project_id",
    "id",
    "vendor_ref",
    "call_ref",
    "payload.output",
  ],
};

for (const [name, [record, ...fields]] of Object.entries(refused)) {
  test(`refuses ${name}`, async () => {
    const error = await errorOf(storeless.create(record, member));
    assert.equal(error.code, "invalid");
    assert.deepEqual(
      error.faults.map((fault) => fault.location.join(".")),
      fields,
    );
    assert.ok(error.message.startsWith(`${fields[0]}: `), error.message);
  });
}

test("gives a record an id, the current time and its author, and returns the record as stored", async () => {
  const { service, store, clock } = await openService();
  const record = await service.create(input({ creator: "Bob" }), member);
  assert.match(record.id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.deepEqual([record.createdAt, record.vendorUserId, record.creator], [clock.now(), "Ada", "Bob"]);
  assert.deepEqual(await store.find("team/games", record.id), record);
});

test("stores a reaction with its normalized forms, and returns them", async () => {
  const { service, store } = await openService();
  const record = await service.create(
    input({ id: "r", feedbackType: "wandb.reaction.1", payload: { emoji: "👍🏽", alias: "sent" } }),
    member,
  );
  const payload = {
    emoji: "👍🏽",
    alias: ":thumbs_up_medium_skin_tone:",
    detoned: "👍",
    detoned_alias: ":thumbs_up:",
  };
  assert.deepEqual(record.payload, payload);
  assert.deepEqual((await store.find("team/games", "r"))?.payload, payload);
});

test("limits a reaction's size as stored, which includes three other forms of its text", async () => {
  const forms = '{"emoji":"👍","alias":":thumbs_up:","detoned":"👍","detoned_alias":":thumbs_up:"}';
  const lengthMax = Math.floor((payloadBytesMax - Buffer.byteLength(forms)) / 4);
  const reaction = (length: number) =>
    input({ feedbackType: "wandb.reaction.1", payload: { emoji: `👍${"x".repeat(length)}` } });
  await storeless.create(reaction(lengthMax), member);
  const error = await errorOf(storeless.create(reaction(lengthMax + 1), member));
  assert.match(error.message, /^payload: payload is 1048577 bytes of JSON; the limit is 1048576/);
});

test("returns the records of a batch in order, and accepts an empty batch", async () => {
  const opened = await openService();
  const batch = ["c", "a", "b"].map((id) => input({ id }));
  const records = await createBatch(opened, batch);
  assert.deepEqual(
    records.map((record) => record.id),
    ["c", "a", "b"],
  );
  assert.deepEqual(await createBatch(opened, batch), records);
  assert.deepEqual(await createBatch(opened, []), []);
});

test("accepts a batch of ten thousand records", async () => {
  const { service } = await openService();
  const records = Array.from({ length: 10_000 }, (_, index) => input({ id: `r${index}` }));
  assert.equal((await service.createBatch(packed(records), member)).kind, "new");
  const again = await service.createBatch(packed(records), member);
  assert.equal(again.kind === "stored" && again.records.length, 10_000);
});

test("gives a retry the response of the first request, in any order of keys", async () => {
  const opened = await openService();
  const { service, clock } = opened;
  const sent = input({
    id: "a",
    feedbackType: "wandb.reaction.1",
    payload: { emoji: "👍", x: { b: 1, c: 2 } },
  });
  const first = await createBatch(opened, [sent]);
  await clock.advance(60_000);
  const resent = { ...sent, callRef: "", payload: { x: { c: 2, b: 1 }, emoji: "👍" } };
  assert.deepEqual(await createBatch(opened, [resent, resent]), [...first, ...first]);
  assert.deepEqual(await service.create(resent, member), first[0]);
});

test("refuses an existing id with other content, and names the location", async () => {
  const { service } = await openService();
  await service.create(input({ id: "a" }), member);
  const changed = input({ id: "a", payload: { value: 2 } });
  const batch = await errorOf(service.createBatch(packed([input({ id: "b" }), changed]), member));
  assert.deepEqual(
    [batch.code, batch.faults.map((fault) => fault.location)],
    ["conflict", [["batch", "1", "id"]]],
  );
  const single = await errorOf(service.create(changed, member));
  assert.deepEqual([single.code, single.faults.map((fault) => fault.location)], ["conflict", [["id"]]]);
});

test("refuses a project of another entity, except to an admin", async () => {
  const { service, store } = await openService();
  const foreign = input({ id: "f", projectId: "others/games" });
  const refusal = async (refused: Promise<unknown>): Promise<unknown> => {
    const { code, faults } = await errorOf(refused);
    return [code, faults.map(({ location }) => location.join("."))];
  };
  assert.deepEqual(await refusal(service.createBatch(packed([input({ id: "m" }), foreign]), member)), [
    "forbidden",
    ["batch.1.project_id"],
  ]);
  assert.equal(await store.find("team/games", "m"), null);
  const single = ["forbidden", ["project_id"]];
  assert.deepEqual(await refusal(service.create(foreign, member)), single);
  assert.deepEqual(await refusal(service.replace("f", { ...foreign, id: null }, member)), single);
  assert.deepEqual(await refusal(service.history("others/games", "f", firstPage, member)), single);
  assert.equal((await service.create(foreign, admin)).vendorUserId, "Root");
});

test("restricts a project key to reads and writes in its project", async () => {
  const { service } = await openService();
  const ofGames: Caller = { ...member, project: "games" };
  await service.create(input({ id: "g" }), ofGames);
  const other = input({ id: "o", projectId: "team/others" });
  for (const refused of [
    service.create(other, ofGames),
    service.createBatch(packed([other]), ofGames),
    service.history("team/others", "o", firstPage, ofGames),
    service.delete("team/others", ["o"], ofGames),
  ]) {
    const { code, message } = await errorOf(refused);
    assert.equal(code, "forbidden");
    assert.match(
      message,
      /"team\/others" is outside the project "games", the only one that your key reaches/,
    );
  }
});

test("keeps id and time of a replaced record, and adds the previous content to the history", async () => {
  const { service, clock } = await openService();
  const first = await service.create(input({ id: "a", creator: "Bob" }), member);
  await clock.advance(1000);
  const next = input({
    id: "a",
    feedbackType: "wandb.note.1",
    payload: { note: "better" },
    vendorRef: objectRef("x"),
  });
  const replaced = await service.replace("a", next, { ...member, owner: "Eve" });
  assert.deepEqual([replaced.id, replaced.createdAt], [first.id, first.createdAt]);
  assert.deepEqual(
    [replaced.feedbackType, replaced.payload, replaced.creator, replaced.vendorRef, replaced.vendorUserId],
    ["wandb.note.1", { note: "better" }, null, objectRef("x"), "Eve"],
  );
  const { items } = await service.history("team/games", "a", firstPage, member);
  assert.deepEqual(items, [{ id: items[0]?.id, replacedAt: clock.now(), record: first }]);
});

test("refuses to replace a record that is not in the project, and writes nothing", async () => {
  const { service, store } = await openService();
  await service.create(input({ id: "a" }), member);
  assert.equal((await errorOf(service.replace("x", input(), member))).code, "not_found");
  const elsewhere = input({ projectId: "team/other" });
  assert.equal((await errorOf(service.replace("a", elsewhere, member))).code, "not_found");
  assert.equal(await store.find("team/other", "a"), null);
  assert.deepEqual((await service.history("team/games", "a", firstPage, member)).items, []);
});

test("leaves the record unchanged if the replacement is invalid or has another id", async () => {
  const { service, store } = await openService();
  const first = await service.create(input({ id: "a" }), member);
  const bad = input({ id: "b", vendorRef: "x" });
  const error = await errorOf(service.replace("a", bad, member));
  assert.equal(error.code, "invalid");
  assert.deepEqual(
    error.faults.map((fault) => fault.location),
    [["vendor_ref"], ["id"]],
  );
  assert.deepEqual(await store.find("team/games", "a"), first);
});

test("refuses the history of an unknown record as not found, and of an invalid project as invalid", async () => {
  const { service } = await openService();
  assert.equal((await errorOf(service.history("team/games", "x", firstPage, member))).code, "not_found");
  assert.equal((await errorOf(service.history("team", "x", firstPage, member))).code, "invalid");
});

test("finds and removes records only for callers of the project's entity", async () => {
  const { service } = await openService();
  const query = { projectId: "team/games", condition: always, sortBy: [], limit: 10, offset: 0 };
  const listed = async () => (await service.query(query, member)).items;
  await service.create(input({ id: "a", projectId: "team/games" }), member);
  assert.deepEqual(
    (await listed()).map(({ id }) => id),
    ["a"],
  );
  for (const [projectId, code] of [
    ["others/games", "forbidden"],
    ["team", "invalid"],
  ])
    assert.equal((await errorOf(service.query({ ...query, projectId }, member))).code, code);
  assert.equal((await errorOf(service.delete("others/games", ["a"], member))).code, "forbidden");
  assert.equal((await errorOf(service.delete("team", ["a"], member))).code, "invalid");
  await service.delete("team/games", ["a", "none"], member);
  assert.deepEqual(await listed(), []);
});

test("refuses every operation that stores something for an entity over its quota, and checks only that entity", async () => {
  const { feedback, annotation: queues, objects: specs } = await storesInMemory();
  const asked: string[] = [];
  let isFull = false;
  const room = {
    require: async (entity: string) => {
      asked.push(entity);
      if (isFull) throw fullError(entity, 10, 10);
    },
  };
  const service = createFeedbackService({ store: feedback, queues, specs, clock: new FakeClock(), room });
  const two = packed([input({ id: "b" }), input({ id: "c", projectId: "others/games" })]);
  await service.create(input({ id: "a" }), member);
  await service.createBatch(two, admin);
  assert.deepEqual(asked, ["team", "team", "others"]);
  isFull = true;
  assert.equal((await errorOf(service.create(input({ id: "d" }), member))).code, "full");
  assert.equal((await errorOf(service.createBatch(packed([input({ id: "d" })]), member))).code, "full");
  assert.equal((await errorOf(service.replace("a", input({ payload: {} }), member))).code, "full");
  assert.equal(await feedback.find("team/games", "d"), null);
  asked.length = 0;
  const foreign = input({ projectId: "others/games" });
  assert.equal((await errorOf(service.create(foreign, member))).code, "forbidden");
  assert.deepEqual(asked, [], "what may not be reached says nothing of itself");
  await service.delete("team/games", ["a"], member);
  assert.equal(await feedback.find("team/games", "a"), null);
});
