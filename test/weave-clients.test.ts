// Replays requests of unmodified Weave clients. Every response must have the form that the client needs, and the data
// that it published and recorded can be read back. `tools/conformance/weave` runs the clients themselves.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test, type TestContext } from "node:test";
import { freshKey, hashSecret } from "../src/base/domain/access.ts";
import { systemClock } from "../src/base/domain/clock.ts";
import { createFeedbackService } from "../src/judge/feedback/feedback-service.ts";
import { basic, bearer, fakeServer } from "../src/api/http/testing/fake-server.ts";

const folder = "test/fixtures/weave/recordings";
const key = "hone_of_ent";
const projectId = "ent/proj";

interface Recorded {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  readonly content_type?: string;
  readonly body: unknown;
  readonly answer: unknown;
}

function recordedIn(name: string): readonly Recorded[] {
  const lines = readFileSync(`${folder}/${name}`, "utf8").trimEnd().split("\n");
  // Safe cast: the recorder wrote lines of this form.
  return lines.map((line) => JSON.parse(line) as Recorded);
}

async function serverOf(t: TestContext) {
  const server = await fakeServer({
    services: (stores) => ({
      feedback: createFeedbackService({
        store: stores.feedback,
        queues: stores.annotation,
        specs: stores.objects,
        clock: systemClock,
      }),
    }),
  });
  t.after(() => server.close());
  const owner = { id: "key-ent", entity: "ent", role: "member", owner: "user1" } as const;
  await server.keyStore.create({
    ...freshKey,
    ...owner,
    createdAt: new Date(0),
    secretHash: hashSecret(key),
  });
  const send = ({ method, path, content_type: type, body }: Omit<Recorded, "answer">) =>
    server.ask({
      method,
      url: path,
      headers: {
        authorization: method === "DELETE" ? bearer(key) : basic(key),
        ...(type === undefined ? {} : { "content-type": type }),
      },
      ...(body === null ? {} : { payload: typeof body === "string" ? body : JSON.stringify(body) }),
    });
  const post = async (path: string, body: object) => {
    const answer = await send({ method: "POST", path, content_type: "application/json", body });
    assert.equal(answer.statusCode, 200, `${path}: ${answer.body}`);
    return answer;
  };
  return { send, post };
}

/** Returns the values of all members with this name, at any depth within a value. */
function membersNamed(name: string, value: unknown): readonly unknown[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    ...(key === name ? [inner] : []),
    ...membersNamed(name, inner),
  ]);
}

/** For each route, a function that returns the parts of a response that the client reads. */
const read: Readonly<Record<string, (answer: unknown) => unknown>> = {
  "/graphql": (answer) => [
    ...membersNamed("project", answer),
    ...membersNamed("username", answer),
    ...membersNamed("defaultEntity", answer),
  ],
  "/obj/create": (answer) => membersNamed("digest", answer),
  "/feedback/batch/create": (answer) => membersNamed("id", answer),
  "/feedback/purge": (answer) => answer,
  "/v2/ent/proj/call/start": (answer) => [membersNamed("id", answer), membersNamed("trace_id", answer)],
};

const names = readdirSync(folder);

for (const name of names) {
  test(`the requests of ${name} get the responses that their client needs, also when resent`, async (t) => {
    const { send } = await serverOf(t);
    const requests = recordedIn(name);
    assert.ok(requests.length > 3);
    const ids = new Map<string, string>();
    for (const { answer: expected, ...request } of [...requests, ...requests.filter(isRepeatable)]) {
      const answer = await send(withIds(request, ids));
      assert.equal(answer.statusCode, 200, `${request.path}: ${answer.body}`);
      if (request.path === "/feedback/create") ids.set(idOf(expected), idOf(answer.json()));
      const of = read[request.path];
      if (of !== undefined) assert.deepEqual(of(answer.json()), of(expected), request.path);
    }
  });
}

function idOf(answer: unknown): string {
  return String(membersNamed("id", answer)[0]);
}

/** Returns the request with this server's ids in place of the recorded ones. */
function withIds<Sent extends Pick<Recorded, "body">>(request: Sent, ids: ReadonlyMap<string, string>): Sent {
  if (typeof request.body === "string" || request.body === null) return request;
  let text = JSON.stringify(request.body);
  for (const [recorded, given] of ids) text = text.replaceAll(recorded, given);
  return { ...request, body: JSON.parse(text) as unknown };
}

/** True if a client may send the request twice. Single feedback without an id becomes a new record each time. */
function isRepeatable({ path }: Recorded): boolean {
  return !path.startsWith("/feedback/") || path === "/feedback/batch/create";
}

test("files have the digests that objects refer to, and their bytes can be read back", async (t) => {
  const { send, post } = await serverOf(t);
  const digests: string[] = [];
  const referred = new Set<unknown>();
  for (const name of ["npm-eval.jsonl", "weave-eval.jsonl"]) {
    for (const request of recordedIn(name)) {
      const answer = await send(request);
      if (request.path === "/file/create") {
        const { digest } = answer.json<{ readonly digest: string }>();
        digests.push(digest);
        const expected = /name="expected_digest"\r\n\r\n(.*)\r\n/.exec(String(request.body))?.[1];
        assert.equal(digest, expected ?? digest);
        const { body } = await post("/file/content", { project_id: projectId, digest });
        assert.ok(String(request.body).includes(`\r\n\r\n${body}\r\n--`), body);
      }
      for (const digest of membersNamed("obj.py", request.body)) referred.add(digest);
    }
  }
  assert.ok(referred.size > 8);
  assert.deepEqual(
    [...referred].filter((digest) => !digests.includes(String(digest))),
    [],
  );
});

test("the calls of an evaluation can be read back completely, with the scores that were stored as feedback", async (t) => {
  const { send, post } = await serverOf(t);
  const requests = recordedIn("weave-eval.jsonl");
  for (const request of requests) await send(request);
  const query = { project_id: projectId, include_feedback: true };
  const { body, headers } = await post("/calls/stream_query", query);
  assert.match(String(headers["content-type"]), /^application\/jsonl/);
  const calls = body
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  const sent = requests.flatMap(({ path, body: recorded }) =>
    path.endsWith("/calls/complete")
      ? membersNamed("batch", recorded).flat()
      : membersNamed("start", recorded),
  ) as readonly Readonly<Record<string, unknown>>[];
  assert.deepEqual(new Set(calls.map(({ id }) => id)), new Set(sent.map(({ id }) => id)));
  for (const { id, op_name: opName, inputs, attributes, output } of sent) {
    const call = calls.find((one) => one["id"] === id);
    assert.deepEqual(
      [call?.["op_name"], call?.["inputs"], call?.["attributes"]],
      [opName, inputs, attributes],
    );
    if (output !== undefined) assert.deepEqual(call?.["output"], output);
  }
  const scored = calls.flatMap(({ summary }) => membersNamed("feedback", summary).flat());
  assert.deepEqual(membersNamed("feedback_type", scored), ["wandb.runnable.correct", "wandb.runnable.len"]);
  const [root] = calls.filter((call) => call["parent_id"] === null);
  assert.deepEqual(membersNamed("status", root["summary"]), ["success"]);
  assert.equal(root["display_name"], "eval-2026-11-21-tender-oak");
});

test("a table's rows can be read through the reference of the object that contains it", async (t) => {
  const { send, post } = await serverOf(t);
  const [created] = (
    await Promise.all(
      recordedIn("weave-eval.jsonl")
        .filter(({ path }) => path === "/table/create")
        .map((request) => send(request)),
    )
  ).map((answer) => answer.json<{ readonly digest: string; readonly row_digests: readonly string[] }>());
  const rows = `weave:///${projectId}/table/${created.digest}`;
  const dataset = { project_id: projectId, object_id: "d1", val: { rows, list: [1, { a: 2.0 }] } };
  const { digest } = (await post("/obj/create", { obj: dataset })).json<{ readonly digest: string }>();
  const object = `weave:///${projectId}/object/d1:${digest}`;
  const refs = ["", `/attr/rows/id/${created.row_digests[0]}`, "/attr/list/index/1/key/a", "/attr/none"];
  const answer = await post("/refs/read_batch", { refs: refs.map((edges) => object + edges) });
  assert.deepEqual(answer.json(), { vals: [dataset.val, { dataset_id: "d1" }, 2, null] });
  const listed = await post("/table/query", { project_id: projectId, digest: created.digest });
  assert.deepEqual(listed.json(), {
    rows: [{ digest: created.row_digests[0], original_index: 0, val: { dataset_id: "d1" } }],
  });
});

test("a large table is sent in parts, and then by the digests of its rows", async (t) => {
  const { send, post } = await serverOf(t);
  const rowDigests: string[] = [];
  for (const rows of [
    [{ x: 1 }, { x: 2 }],
    [{ x: 2 }, { x: 3.0 }],
  ]) {
    const part = await post("/table/create", { table: { project_id: projectId, rows } });
    rowDigests.push(...part.json<{ readonly row_digests: readonly string[] }>().row_digests);
  }
  const whole = { project_id: projectId, row_digests: rowDigests };
  const { digest } = (await post("/table/create_from_digests", whole)).json<{ readonly digest: string }>();
  const { rows } = (await post("/table/query", { project_id: projectId, digest })).json<{
    readonly rows: readonly { readonly val: unknown }[];
  }>();
  assert.deepEqual(
    rows.map(({ val }) => val),
    [{ x: 1 }, { x: 2 }, { x: 2 }, { x: 3 }],
  );
  const refusal = async (body: object) => {
    const path = "/table/create_from_digests";
    const answer = await send({
      method: "POST",
      path,
      content_type: "application/json",
      body: { ...whole, ...body },
    });
    return [answer.statusCode, membersNamed("loc", answer.json())];
  };
  assert.deepEqual(await refusal({ row_digests: ["a".repeat(43)] }), [404, [["body", "row_digests"]]]);
  assert.deepEqual(await refusal({ row_digests: ["a"] }), [422, [["body", "row_digests", "0"]]]);
  assert.deepEqual(await refusal({ expected_digest: "a" }), [409, [["body", "expected_digest"]]]);
});

test("all objects and calls of a project can be deleted with one request", async (t) => {
  const { send, post } = await serverOf(t);
  const digests = { "/table/create": "", "/file/create": "" };
  for (const request of recordedIn("weave-eval.jsonl")) {
    const answer = await send(request);
    const { path } = request;
    if (path === "/table/create" || path === "/file/create")
      digests[path] = answer.json<{ readonly digest: string }>().digest;
  }
  const read = (path: string, digest: string) =>
    send({
      method: "POST",
      path,
      content_type: "application/json",
      body: { project_id: projectId, digest },
    });
  const found = async () => [
    (await read("/table/query", digests["/table/create"])).statusCode,
    (await read("/file/content", digests["/file/create"])).statusCode,
  ];
  assert.deepEqual(await found(), [200, 200]);
  const counts = async () => [
    (await post("/calls/query_stats", { project_id: projectId })).json<{ readonly count: number }>().count,
    membersNamed("version_index", (await post("/objs/query", { project_id: projectId })).json()).length,
  ];
  assert.ok((await counts()).every((count) => count > 5));
  const deletion = {
    method: "DELETE",
    path: `/v1/preview/projects/${projectId}/traces`,
    body: null,
  } as const;
  const answer = await send(deletion);
  assert.equal(answer.statusCode, 200, answer.body);
  assert.deepEqual(await counts(), [0, 0]);
  assert.deepEqual(await found(), [404, 404]);
  const foreign = await send({ ...deletion, path: "/v1/preview/projects/acme/p/traces" });
  assert.equal(foreign.statusCode, 403);
});
