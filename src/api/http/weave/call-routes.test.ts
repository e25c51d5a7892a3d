// Calls recorded as Weave clients send them, and refused calls with their error messages.
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { basic, fakeServer, keys } from "../testing/fake-server.ts";

type Refusal = { readonly detail: readonly { readonly loc: readonly string[]; readonly msg: string }[] };

async function server(t: TestContext) {
  const server = await fakeServer();
  t.after(() => server.close());
  return (url: string, payload: object | string, type = "application/json") =>
    server.ask({
      method: "POST",
      url,
      headers: { authorization: basic(keys.member), "content-type": type },
      payload,
    });
}

const locations = (answer: { json: () => unknown }): readonly string[] =>
  (answer.json() as Refusal).detail.map(({ loc }) => loc.join("."));

const start = {
  project_id: "acme/p",
  id: "c",
  op_name: "f",
  started_at: "2026-11-21T12:00:00Z",
  attributes: {},
  inputs: { x: 1 },
};
const whole = { ...start, ended_at: "2026-11-21T12:00:01.500000Z", output: 2, summary: { usage: {} } };

test("stores a call's start and end, sent separately or together, and returns the call with its status", async (t) => {
  const ask = await server(t);
  const started = await ask("/call/start", { start: { ...start, id: null, trace_id: null } });
  const { id } = started.json<{ readonly id: string }>();
  assert.match(id, /^[0-9a-f-]{36}$/);
  const running = await ask("/call/read", { project_id: "acme/p", id });
  assert.match(running.body, /"status":"running","trace_name":"f"/);
  await ask("/v2/acme/p/calls/complete", { batch: [{ ...whole, exception: "it broke" }] });
  const broken = await ask("/call/read", { project_id: "acme/p", id: "c" });
  assert.match(
    broken.body,
    /"summary":\{"usage":\{\},"weave":\{"status":"error","trace_name":"f","latency_ms":1500\}\}/,
  );
  assert.deepEqual((await ask("/call/read", { project_id: "acme/p", id: "none" })).json(), { call: null });
  const shown = await ask("/calls/stream_query", { project_id: "acme/p", columns: ["output.a"] });
  const fields = Object.keys(JSON.parse(shown.body.split("\n")[0]) as object);
  assert.ok(
    fields.includes("output") && fields.includes("inputs") && !fields.includes("summary"),
    shown.body,
  );
});

test("finds calls by time, status and words, and refuses too many words", async (t) => {
  const ask = await server(t);
  const batch = [
    { ...whole, id: "early", started_at: "2026-11-20T12:00:00Z" },
    { ...whole, id: "broken", exception: "Out of stock" },
  ];
  await ask("/v2/acme/p/calls/complete", { batch });
  const found = async (filter: object) => {
    const { body } = await ask("/calls/stream_query", { project_id: "acme/p", filter });
    const { count } = (await ask("/calls/query_stats", { project_id: "acme/p", filter })).json();
    const ids = [...body.matchAll(/"id":"([^"]+)"/g)].map(([, id]) => id);
    assert.equal(count, ids.length, body);
    return ids;
  };
  assert.deepEqual(await found({ started_before: "2026-11-20T13:00:00+01:00" }), []);
  assert.deepEqual(await found({ started_before: "2026-11-20T13:00:01+01:00" }), ["early"]);
  assert.deepEqual(await found({ started_from: "2026-11-21T00:00:00Z" }), ["broken"]);
  assert.deepEqual(await found({ status: "success" }), ["early"]);
  assert.deepEqual(await found({ text: "STOCK of", status: "error" }), ["broken"]);
  assert.deepEqual(await found({ text: null, status: null }), ["early", "broken"]);
  const words = Array.from({ length: 11 }, (_, index) => `w${index}`).join(" ");
  const refused = await ask("/calls/stream_query", { project_id: "acme/p", filter: { text: words } });
  assert.equal(refused.statusCode, 422);
  assert.match(refused.body, /filter.text has 11 words; at most 10/);
});

test("returns hundreds of calls in order, each once, with the summary that the client sent", async (t) => {
  const ask = await server(t);
  const ids = Array.from({ length: 450 }, (_, index) => String(index).padStart(3, "0"));
  const summary = { weave: { status: "none" }, usage: { m: 1.0 } };
  const batch = ids.map((id) => ({ ...whole, id, started_at: "2026-11-21 12:00 PM GMT", summary }));
  const stored = await ask("/v2/acme/p/calls/complete", { batch: batch.toReversed() });
  assert.equal(stored.statusCode, 200, stored.body);
  const listed = async (query: object) => {
    const { body } = await ask("/calls/stream_query", { project_id: "acme/p", ...query });
    const lines = body.split("\n").slice(0, -1);
    return lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  };
  const all = await listed({});
  assert.deepEqual(
    all.map(({ id }) => id),
    ids,
  );
  assert.deepEqual(all[0]["summary"], {
    usage: { m: 1 },
    weave: { status: "success", trace_name: "f", latency_ms: 1500 },
  });
  const sortBy = [{ field: "started_at", direction: "desc" }];
  const some = await listed({ sort_by: sortBy, offset: 10, limit: 300, include_feedback: true });
  assert.deepEqual(
    some.map(({ id }) => id),
    ids.toReversed().slice(10, 310),
  );
});

test("names the path of each fault in a batch, and stores nothing of the batch", async (t) => {
  const ask = await server(t);
  const odd = { op_name: "a\0", parent_id: "\ud83d" };
  const batch = [
    { ...whole, ...odd },
    { ...whole, started_at: "yesterday" },
    { ...whole, id: "", inputs: [] },
  ];
  const answer = await ask("/v2/acme/p/calls/complete", { batch });
  assert.equal(answer.statusCode, 422);
  assert.deepEqual(locations(answer), [
    "body.batch.1.started_at",
    "body.batch.2.id",
    "body.batch.2.inputs",
    "body.batch.0.op_name",
    "body.batch.0.parent_id",
  ]);
  const mixed = await ask("/call/upsert_batch", { batch: [{ mode: "end", req: { start } }] });
  assert.deepEqual(locations(mixed), ["body.batch.0.req.end"]);
  const count = await ask("/calls/query_stats", { project_id: "acme/p" });
  assert.deepEqual(count.json(), { count: 0 });
  const foreign = await ask("/v2/acme/p/calls/complete", { batch: [{ ...whole, project_id: "other/p" }] });
  assert.equal(foreign.statusCode, 403);
  const tooMany = await ask("/call/upsert_batch", { batch: Array(10_001).fill(0) });
  assert.equal(tooMany.statusCode, 413);
});

test("refuses unsupported call filters, naming each", async (t) => {
  const ask = await server(t);
  const query = { $expr: { $eq: [{ $getField: "id" }, { $literal: "c" }] } };
  const answer = await ask("/calls/stream_query", {
    project_id: "acme/p",
    query,
    include_storage_size: true,
    filter: { input_refs: ["w:///acme/p/object/o:v1"], call_ids: ["c"] },
  });
  assert.equal(answer.statusCode, 400);
  assert.deepEqual([...locations(answer)].sort(), [
    "body.filter.input_refs",
    "body.include_storage_size",
    "body.query",
  ]);
});

test("names the supported GraphQL queries when it refuses another one", async (t) => {
  const ask = await server(t);
  const answer = await ask("/graphql", { query: "query { runs { id } }" });
  assert.equal(answer.statusCode, 422);
  assert.match(
    answer.body,
    /`project` and `upsertModel`, with the variables `entityName` and `name`, and `viewer`/,
  );
  const deep = { query: `query { viewer ${"{ a ".repeat(10_000)}${"}".repeat(10_000)} }` };
  assert.equal((await ask("/graphql", deep)).json<{ data: object }>().data !== undefined, true);
  assert.deepEqual(locations(await ask("/graphql", { query: `query { viewer ${"{ a ".repeat(20_000)}` })), [
    "body.query",
  ]);
  const created = await ask("/graphql", {
    query:
      "mutation UpsertModel($name: String!, $entity: String!) { upsertModel(input: {}) { model { name } } }",
    variables: { entity: "acme", name: "new" },
  });
  assert.deepEqual(created.json(), { data: { upsertModel: { model: { name: "new" } } } });
});

test("refuses a file without a project, with a wrong digest, or for another entity's project", async (t) => {
  const ask = await server(t);
  const form = (fields: Readonly<Record<string, string>>) =>
    [
      ...Object.entries(fields).map(
        ([name, value]) => `--xYz\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
      ),
      '--xYz\r\ncontent-disposition: form-data; name="file"; filename="a.py"\r\n\r\ndef f(): pass\r\n--xYz--\r\n',
    ].join("");
  const send = (fields: Readonly<Record<string, string>>) =>
    ask("/file/create", form(fields), "multipart/form-data; boundary=xYz");
  assert.deepEqual(locations(await send({})), ["body.project_id"]);
  const other = await send({ project_id: "acme/p", expected_digest: "other" });
  assert.equal(other.statusCode, 409);
  assert.deepEqual(locations(other), ["body.expected_digest"]);
  assert.equal((await send({ project_id: "other/p" })).statusCode, 403);
  assert.equal((await ask("/file/create", "{}")).statusCode, 415);
  const { digest } = (await send({ project_id: "acme/p" })).json<{ readonly digest: string }>();
  const read = await ask("/file/content", { project_id: "acme/p", digest });
  assert.equal(read.body, "def f(): pass");
  const none = await ask("/file/content", { project_id: "acme/p", digest: "none" });
  assert.deepEqual([none.statusCode, locations(none)], [404, ["body.digest"]]);
});

test("names a dangling reference by its index", async (t) => {
  const ask = await server(t);
  const answer = await ask("/refs/read_batch", { refs: ["weave:///acme/p/object/o:v1"] });
  assert.deepEqual([answer.statusCode, locations(answer)], [404, ["body.refs.0"]]);
  const call = await ask("/refs/read_batch", { refs: ["weave:///acme/p/call/c"] });
  assert.equal(call.statusCode, 422);
  assert.match(call.body, /calls are listed by POST \/calls\/stream_query/);
});
