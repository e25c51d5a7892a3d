// Objects of Weave clients, published and read, and annotations that are checked against published specs.
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { basic, keys } from "../testing/fake-server.ts";
import { feedbackServer } from "../testing/feedback-server.ts";

type Refusal = { readonly detail: readonly { readonly loc: readonly string[]; readonly msg: string }[] };

/** Creates a server with the real feedback service. Returns a function that sends requests as a member of `acme`. */
async function server(t: TestContext) {
  const server = await feedbackServer();
  t.after(() => server.close());
  return (url: string, payload: object | string) =>
    server.ask({
      method: "POST",
      url,
      headers: { authorization: basic(keys.member), "content-type": "application/json" },
      payload,
    });
}

const spec = (fieldSchema: unknown, name = "quality") => ({
  obj: {
    project_id: "acme/p",
    object_id: name,
    val: {
      _type: "AnnotationSpec",
      name,
      description: null,
      field_schema: fieldSchema,
      unique_among_creators: false,
      op_scope: null,
      _class_name: "AnnotationSpec",
      _bases: ["BaseObject", "BaseModel"],
    },
    builtin_object_class: null,
    expected_digest: null,
    wb_user_id: null,
  },
});

test("publishes an object once, even if it is sent repeatedly, and keeps all digits of its numbers", async (t) => {
  const ask = await server(t);
  const text = '{"obj":{"project_id":"acme/p","object_id":"m","val":{"b":1.0,"a":12345678901234567890}}}';
  const first = await ask("/obj/create", text);
  assert.equal(first.statusCode, 200, first.body);
  const { digest } = first.json<{ readonly digest: string }>();
  assert.deepEqual((await ask("/obj/create", text)).json(), { digest, object_id: "m" });
  for (const version of [digest, "latest", "v0"]) {
    const read = await ask("/obj/read", { project_id: "acme/p", object_id: "m", digest: version });
    assert.equal(read.statusCode, 200, read.body);
    assert.ok(read.body.includes('"val":{"a": 12345678901234567890, "b": 1.0}'), read.body);
    const { obj } = read.json<{ readonly obj: object }>();
    assert.deepEqual(
      { ...obj, val: null, created_at: null },
      {
        project_id: "acme/p",
        object_id: "m",
        digest,
        version_index: 0,
        is_latest: 1,
        kind: "object",
        base_object_class: null,
        leaf_object_class: null,
        created_at: null,
        wb_user_id: "member-owner",
        val: null,
      },
    );
  }
});

test("refuses an object whose digest differs from the client's, and stores nothing", async (t) => {
  const ask = await server(t);
  const { obj } = spec({});
  const answer = await ask("/obj/create", { obj: { ...obj, expected_digest: "other" } });
  assert.equal(answer.statusCode, 409);
  const [{ loc, msg }] = answer.json<Refusal>().detail;
  assert.deepEqual(loc, ["body", "obj", "expected_digest"]);
  assert.match(msg, /^expected_digest is "other", and what was sent has the digest "[\w]{43}"/);
  const listed = await ask("/objs/query", { project_id: "acme/p" });
  assert.deepEqual(listed.json(), { objs: [] });
});

test("lists objects by class, kind and name, and deletes versions", async (t) => {
  const ask = await server(t);
  await ask("/obj/create", spec({ type: "integer" }));
  await ask("/obj/create", spec({ type: "string" }));
  const op = { _type: "CustomWeaveType", weave_type: { type: "Op" }, files: { "obj.py": "x" } };
  await ask("/obj/create", { obj: { project_id: "acme/p", object_id: "quality", val: op } });
  const list = async (filter: object, more: object = {}) =>
    (await ask("/objs/query", { project_id: "acme/p", filter, ...more }))
      .json<{ readonly objs: readonly { readonly kind: string; readonly version_index: number }[] }>()
      .objs.map(({ kind, version_index: version }) => `${kind} ${version}`);
  assert.deepEqual(await list({}), ["object 0", "object 1", "op 0"]);
  assert.deepEqual(await list({ base_object_classes: ["AnnotationSpec"], latest_only: true }), ["object 1"]);
  assert.deepEqual(await list({ is_op: true, object_ids: ["quality"] }), ["op 0"]);
  assert.deepEqual(await list({ is_op: false }, { limit: 1, offset: 1, metadata_only: true }), ["object 1"]);
  const gone = await ask("/obj/delete", { project_id: "acme/p", object_id: "quality" });
  assert.deepEqual(gone.json(), { num_deleted: 3 });
  const none = await ask("/obj/delete", { project_id: "acme/p", object_id: "quality" });
  assert.equal(none.statusCode, 404);
  assert.deepEqual(none.json<Refusal>().detail[0].loc, ["body", "object_id"]);
});

test("refuses a spec with an invalid schema, naming each path, and a name that references cannot contain", async (t) => {
  const ask = await server(t);
  const locations = (answer: Awaited<ReturnType<typeof ask>>) =>
    answer.json<Refusal>().detail.map(({ loc }) => loc.join("."));
  const answer = await ask("/obj/create", spec({ type: "int", pattern: "(", $dynamicRef: "#a" }, "a/b"));
  assert.equal(answer.statusCode, 422);
  assert.deepEqual(locations(answer), [
    "body.obj.object_id",
    "body.obj.val.field_schema.type",
    "body.obj.val.field_schema.pattern",
    "body.obj.val.field_schema.$dynamicRef",
  ]);
  assert.deepEqual(locations(await ask("/obj/create", { obj: { project_id: "acme/p", object_id: "a" } })), [
    "body.obj.val",
  ]);
});

test("limits the size of a spec, and the size of all objects read for one answer", async (t) => {
  const ask = await server(t);
  const long = { ...spec({}).obj.val, description: "a".repeat(131_072) };
  const refused = await ask("/obj/create", { obj: { ...spec({}).obj, val: long } });
  assert.equal(refused.statusCode, 422);
  assert.match(
    refused.body,
    /an annotation spec has at most 131072 characters of JSON; this one has 131\d\d\d/,
  );
  const large = { project_id: "acme/p", object_id: "large", val: { a: [1], text: "a".repeat(262_144) } };
  assert.equal((await ask("/obj/create", { obj: large })).statusCode, 200);
  const whole = "weave:///acme/p/object/large:latest";
  assert.equal((await ask("/refs/read_batch", { refs: [whole] })).statusCode, 200);
  const parts = await ask("/refs/read_batch", {
    refs: [`${whole}/attr/a`, `${whole}/key/b`, `${whole}/attr/a/id/c`],
  });
  assert.deepEqual(parts.json(), { vals: [[1], null, null] });
  const often = await ask("/refs/read_batch", { refs: Array(100).fill(whole) });
  assert.equal(often.statusCode, 413);
  assert.match(often.body, /The first 64 references read more than 16777216 characters/);
});

const annotation = (annotationRef: string, value: unknown, id?: string) => ({
  project_id: "acme/p",
  weave_ref: "weave:///acme/p/call/1",
  feedback_type: "wandb.annotation.quality",
  annotation_ref: annotationRef,
  payload: { value },
  ...(id === undefined ? {} : { id }),
});

test("checks an annotation against the spec that it references, and names each faulty path in a batch", async (t) => {
  const ask = await server(t);
  const published = await ask("/obj/create", spec({ type: "integer", minimum: 1, maximum: 5 }));
  const { digest } = published.json<{ readonly digest: string }>();
  const reference = `weave:///acme/p/object/quality:${digest}`;
  assert.equal((await ask("/feedback/create", annotation(reference, 3, "a"))).statusCode, 200);
  const single = await ask("/feedback/create", annotation(reference, "3"));
  assert.equal(single.statusCode, 422);
  assert.deepEqual(single.json<Refusal>().detail, [
    {
      loc: ["body", "payload", "value"],
      msg: '"3" is not of type integer (by the annotation spec)',
      type: "value_error",
    },
  ]);
  const batch = [annotation(reference, 9), annotation(reference, 2), annotation(reference, 0.5)];
  const refused = await ask("/feedback/batch/create", { batch });
  assert.equal(refused.statusCode, 422);
  assert.deepEqual(
    refused.json<Refusal>().detail.map(({ loc }) => loc.join(".")),
    ["body.batch.0.payload.value", "body.batch.2.payload.value", "body.batch.2.payload.value"],
  );
  const replaced = await ask("/feedback/replace", { ...annotation(reference, 6), feedback_id: "a" });
  assert.equal(replaced.statusCode, 422);
  const newest = await ask("/feedback/create", annotation("weave:///acme/p/object/quality:latest", 6));
  assert.equal(newest.statusCode, 422);
});

test("accepts an annotation whose spec is not stored here, but refuses one that references another kind of object", async (t) => {
  const ask = await server(t);
  const unknown = await ask("/feedback/create", annotation("weave:///acme/p/object/quality:none", [1]));
  assert.equal(unknown.statusCode, 200, unknown.body);
  const model = { project_id: "acme/p", object_id: "quality", val: { name: "quality" } };
  const { digest } = (await ask("/obj/create", { obj: model })).json<{ readonly digest: string }>();
  const answer = await ask("/feedback/create", annotation(`weave:///acme/p/object/quality:${digest}`, 1));
  assert.equal(answer.statusCode, 422);
  assert.match(answer.body, /annotation_ref names an object of class none; it must be an AnnotationSpec/);
});

test("refuses a batch that references too many specs with 413, on which clients halve it", async (t) => {
  const ask = await server(t);
  const batch = Array.from({ length: 101 }, (_, index) =>
    annotation(`w:///acme/p/object/quality:${index}`, 1),
  );
  const answer = await ask("/feedback/batch/create", { batch });
  assert.equal(answer.statusCode, 413);
  assert.match(answer.body, /more than 100 annotation specs/);
  assert.equal((await ask("/feedback/batch/create", { batch: batch.slice(1) })).statusCode, 200);
});
