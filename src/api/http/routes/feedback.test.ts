import assert from "node:assert/strict";
import { test } from "node:test";
import { notFound, ServiceError } from "../../../base/domain/service-error.ts";
import { basic, fakeServer, keys } from "../testing/fake-server.ts";

type Server = Awaited<ReturnType<typeof fakeServer>>;
type Refusal = { readonly detail: readonly { readonly loc: readonly string[]; readonly type: string }[] };

function post(server: Server, path: string, payload: object) {
  return server.ask({
    method: "POST",
    url: `/feedback/${path}`,
    headers: { authorization: basic(keys.member) },
    payload,
  });
}

const item = {
  project_id: "acme/p",
  vendor_ref: "w:///acme/p/call/1",
  feedback_type: "note",
  payload: { note: "good" },
};
const { vendor_ref: reference, ...withoutReference } = item;
const answered = {
  created_at: "1970-01-01T00:00:00.000Z",
  vendor_user_id: "member-owner",
  payload: { note: "good" },
};

test("creates a batch and answers with its records in order, each in the spelling that the client used", async () => {
  const server = await fakeServer();
  const batch = [
    { ...item, id: "a" },
    { ...withoutReference, weave_ref: reference, id: "b", wb_user_id: null },
  ];
  const answer = await post(server, "batch/create", { batch });
  assert.equal(answer.statusCode, 200, answer.body);
  assert.deepEqual(answer.json(), {
    res: [
      { id: "a", ...answered },
      { id: "b", ...answered, wb_user_id: "member-owner" },
    ],
  });
  assert.deepEqual(server.feedback.seen[1]?.input, {
    id: "b",
    projectId: "acme/p",
    vendorRef: reference,
    feedbackType: "note",
    payload: { note: "good" },
    creator: null,
    annotationRef: null,
    runnableRef: null,
    callRef: null,
    triggerRef: null,
    queueId: null,
  });
  assert.deepEqual((await post(server, "batch/create", { batch: [] })).json(), { res: [] });
  await server.close();
});

test("treats an empty reference as absent, and reports ignored fields", async () => {
  const server = await fakeServer();
  const answer = await post(server, "create", {
    ...item,
    annotation_ref: "",
    call_ref: null,
    scorer_tags: [],
  });
  assert.equal(answer.statusCode, 200, answer.body);
  assert.equal(answer.headers["x-hone-ignored"], "scorer_tags");
  assert.equal(server.feedback.seen[0]?.input.annotationRef, null);
  await server.close();
});

test("uses the reference in the other spelling if one is empty, and refuses two empty ones", async () => {
  const server = await fakeServer();
  for (const spelled of [
    { vendor_ref: "", weave_ref: reference },
    { vendor_ref: reference, weave_ref: "" },
    { vendor_ref: null, weave_ref: reference },
  ]) {
    const answer = await post(server, "create", { ...withoutReference, ...spelled });
    assert.equal(answer.statusCode, 200, answer.body);
    assert.equal(server.feedback.seen.at(-1)?.input.vendorRef, reference);
  }
  const none = await post(server, "create", { ...withoutReference, vendor_ref: "", weave_ref: "" });
  assert.deepEqual(
    none.json<Refusal>().detail.map(({ loc, type }) => [...loc, type].join(".")),
    ["body.vendor_ref.missing"],
  );
  await server.close();
});

test("names the maximum length when it refuses a text that is too long, for every text of a record", async () => {
  const server = await fakeServer();
  for (const [field, lengthMax] of Object.entries({
    creator: 1024,
    queue_id: 256,
    vendor_ref: 4096,
    annotation_ref: 4096,
    runnable_ref: 4096,
    call_ref: 4096,
    trigger_ref: 4096,
  })) {
    const ask = (length: number) =>
      post(server, "create", { ...item, [field]: `${reference}${"x".repeat(length - reference.length)}` });
    const taken = await ask(lengthMax);
    assert.equal(taken.statusCode, 200, taken.body);
    const refused = await ask(lengthMax + 1);
    assert.equal(refused.statusCode, 422);
    assert.match(refused.body, new RegExp(`"loc":\\["body","${field}"\\],"msg":"[^"]*${lengthMax}`));
  }
  await server.close();
});

test("names the faults of each record in a batch by the record's index", async () => {
  const server = await fakeServer();
  const batch = [
    item,
    { ...item, payload: [], feedback_type: "" },
    { ...item, weave_ref: "w:///acme/p/call/2", vendor_user_id: "me" },
    withoutReference,
    { ...item, feedback_type: "x".repeat(257), id: "" },
  ];
  const answer = await post(server, "batch/create", { batch });
  assert.equal(answer.statusCode, 422);
  assert.deepEqual(
    answer.json<Refusal>().detail.map(({ loc, type }) => `${loc.join(".")} ${type}`),
    [
      "body.batch.1.feedback_type string_too_short",
      "body.batch.1.payload dict_type",
      "body.batch.2.vendor_user_id none_required",
      "body.batch.2.weave_ref value_error",
      "body.batch.3.vendor_ref missing",
      "body.batch.4.feedback_type string_too_long",
      "body.batch.4.id string_too_short",
    ],
  );
  assert.deepEqual(server.feedback.seen, []);
  await server.close();
});

test("answers 413 for a batch with too many records, which clients then halve", async () => {
  const server = await fakeServer();
  const batch = Array.from({ length: 10_001 }, () => 1);
  const answer = await post(server, "batch/create", { batch });
  assert.equal(answer.statusCode, 413);
  assert.match(answer.body, /10001 records; at most 10000/);
  await server.close();
});

test("replaces a record, in either spelling", async () => {
  const server = await fakeServer();
  const answer = await post(server, "replace", {
    ...withoutReference,
    weave_ref: reference,
    feedback_id: "f",
  });
  assert.deepEqual(answer.json(), { id: "f", ...answered, wb_user_id: "member-owner" });
  const missing = await post(server, "replace", item);
  assert.equal(missing.statusCode, 422);
  assert.deepEqual(missing.json<Refusal>().detail, [
    { loc: ["body", "feedback_id"], msg: "Field required", type: "missing" },
  ]);
  await server.close();
});

test("answers 404 for an unknown record to replace, located at feedback_id", async () => {
  const server = await fakeServer();
  server.feedback.refusal = notFound("feedback record", "f");
  const answer = await post(server, "replace", { ...item, feedback_id: "f" });
  assert.equal(answer.statusCode, 404);
  assert.deepEqual(answer.json<Refusal>().detail[0]?.loc, ["body", "feedback_id"]);
  await server.close();
});

test("passes on the refusals of the feedback service with their paths in the body", async () => {
  const server = await fakeServer();
  const fault = {
    location: ["batch", "0", "vendor_ref"],
    message: "no reference",
    type: "value_error",
  };
  server.feedback.refusal = new ServiceError({ code: "invalid", message: "no reference", faults: [fault] });
  const answer = await post(server, "batch/create", { batch: [item] });
  assert.equal(answer.statusCode, 422);
  assert.deepEqual(answer.json<Refusal>().detail[0]?.loc, ["body", ...fault.location]);
  await server.close();
});

test("lists earlier revisions of a record", async () => {
  const server = await fakeServer();
  const answer = await post(server, "history", { project_id: "acme/p", feedback_id: "f" });
  assert.deepEqual(answer.json(), { result: [], has_more: false });
  await server.close();
});

test("accepts as many records in a batch as the limit allows, but not one more", async () => {
  const server = await fakeServer({ settings: { feedbackBatchRecords: 2 } });
  const batchOf = (count: number) => ({ batch: Array.from({ length: count }, () => item) });
  assert.equal((await post(server, "batch/create", batchOf(2))).statusCode, 200);
  const refused = await post(server, "batch/create", batchOf(3));
  assert.equal(refused.statusCode, 413, refused.body);
  assert.equal(server.feedback.seen.length, 2);
  await server.close();
});

const asked = (field: string, value: unknown) => ({
  $expr: { $eq: [{ $getField: field }, { $literal: value }] },
});

test("lists the feedback on a reference with all its content", async () => {
  const server = await fakeServer();
  await post(server, "create", { ...item, id: "a", creator: "Bob" });
  await post(server, "create", { ...item, vendor_ref: "w:///acme/p/call/2" });
  for (const query of [
    asked("weave_ref", reference),
    { $expr: { $eq: [{ $literal: reference }, { $getField: "vendor_ref" }] } },
  ]) {
    const answer = await post(server, "query", { project_id: "acme/p", query, limit: 5 });
    assert.equal(answer.statusCode, 200, answer.body);
    assert.deepEqual(answer.json(), {
      result: [
        {
          id: "a",
          ...answered,
          wb_user_id: "member-owner",
          project_id: "acme/p",
          vendor_ref: reference,
          weave_ref: reference,
          feedback_type: "note",
          creator: "Bob",
          annotation_ref: null,
          runnable_ref: null,
          call_ref: null,
          trigger_ref: null,
          queue_id: null,
        },
      ],
      total_count: 1,
    });
  }
  await server.close();
});

test("removes records by their ids, one or several", async () => {
  const server = await fakeServer();
  const one = asked("id", "a");
  for (const query of [one, { $expr: { $or: [one.$expr, asked("id", "b").$expr] } }]) {
    const answer = await post(server, "purge", { project_id: "acme/p", query });
    assert.deepEqual([answer.statusCode, answer.json()], [200, {}]);
  }
  assert.deepEqual(server.feedback.deleted, [
    { projectId: "acme/p", ids: ["a"] },
    { projectId: "acme/p", ids: ["a", "b"] },
  ]);
  await server.close();
});

test("returns rows with the requested fields, under the requested names", async () => {
  const server = await fakeServer();
  await post(server, "create", { ...item, id: "a", payload: { note: "hi", deep: [{ n: 1.5 }] } });
  await post(server, "create", { ...item, id: "b" });
  const rows = async (fields: readonly string[], rest: object = {}) => {
    const answer = await post(server, "query", { project_id: "acme/p", fields, ...rest });
    assert.equal(answer.statusCode, 200, answer.body);
    return answer.json<{ readonly result: readonly object[]; readonly total_count: number }>();
  };
  assert.deepEqual(await rows(["id", "payload.note", "payload.deep.0.n", "wb_user_id"], { limit: 1 }), {
    result: [{ id: "a", "payload.note": "hi", "payload.deep.0.n": 1.5, wb_user_id: "member-owner" }],
    total_count: 2,
  });
  assert.deepEqual((await rows(["payload.none", "queue_id"], { offset: 1 })).result, [
    { "payload.none": null, queue_id: null },
  ]);
  assert.deepEqual(await rows(["count(*)"]), { result: [{ "count(*)": 2 }], total_count: 2 });
  const [all] = (await rows(["*", "payload.note"])).result;
  assert.deepEqual(Object.keys(all).length, 16);
  const sorted = await rows(["id"], { sort_by: [{ field: "id", direction: "desc" }], query: null });
  assert.deepEqual(sorted.result, [{ id: "b" }, { id: "a" }]);
  await server.close();
});

test("refuses malformed queries and unsupported operations, with their paths", async () => {
  const server = await fakeServer();
  const refused = async (path: string, body: object, status: number, place: string): Promise<void> => {
    const answer = await post(server, path, { project_id: "acme/p", ...body });
    assert.equal(answer.statusCode, status, answer.body);
    assert.equal(answer.json<Refusal>().detail[0].loc.join("."), place);
  };
  const both = { ...asked("weave_ref", "r"), more: 1 };
  await refused("query", { query: {} }, 422, "body.query.$expr");
  await refused("query", { query: both }, 422, "body.query.more");
  await refused("query", { query: "all" }, 422, "body.query");
  await refused("query", { limit: 10_001 }, 422, "body.limit");
  await refused("query", { offset: -1 }, 422, "body.offset");
  await refused("query", { sort_by: [{ field: "id", direction: "up" }] }, 422, "body.sort_by.0.direction");
  await refused("query", { sort_by: [null] }, 422, "body.sort_by.0");
  await refused("query", { query: asked("idx", 1) }, 400, "body.query.$expr.$eq.0.$getField");
  await refused("query", { sort_by: [{ field: "*", direction: "asc" }] }, 400, "body.sort_by.0.field");
  await refused("query", { fields: ["id", "name"] }, 400, "body.fields.1");
  await refused("query", { fields: ["id", "count(*)"] }, 400, "body.fields");
  const gt = { $expr: { $gt: [{ $getField: "id" }, { $literal: "" }] } };
  const many = { $expr: { $or: Array.from({ length: 10_001 }, () => asked("id", "a").$expr) } };
  const inside = { $expr: { $or: [{ $or: [asked("id", "a").$expr] }] } };
  for (const query of [{}, gt, many, inside, { $expr: { $or: [] } }, asked("weave_ref", "r"), asked("id", 1)])
    await refused("purge", { query }, 400, "body.query");
  await refused("purge", { query: [] }, 422, "body.query");
  await server.close();
});
