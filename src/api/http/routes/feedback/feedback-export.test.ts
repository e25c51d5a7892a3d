// Tests of feedback exports and feedback statistics, with a real database.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { systemClock } from "../../../../base/domain/clock.ts";
import { ServiceError } from "../../../../base/domain/service-error.ts";
import { createFeedbackService } from "../../../../judge/feedback/feedback-service.ts";
import { basic, fakeServer, keys } from "../../testing/fake-server.ts";

type Server = Awaited<ReturnType<typeof fakeServer>>;
type Row = Readonly<Record<string, unknown>>;

function post(server: Server, path: string, payload: object) {
  return server.ask({
    method: "POST",
    url: `/feedback/${path}`,
    headers: { authorization: basic(keys.member) },
    payload,
  });
}

const project_id = "acme/p";
const starred = {
  $expr: { $gte: [{ $getField: "payload.stars" }, { $literal: 0 }] },
};

let shared: Promise<Server> | undefined;
/** Server that all tests share, because they change nothing. It has ratings, and notes that together exceed a page. */
const stored = () => (shared ??= newWorld());
after(async () => (await shared)?.close());

async function newWorld(): Promise<Server> {
  const server = await fakeServer({
    services: ({ feedback, annotation, objects }) => ({
      feedback: createFeedbackService({
        store: feedback,
        queues: annotation,
        specs: objects,
        clock: systemClock,
      }),
    }),
  });
  const batch = Array.from({ length: 1500 }, (_, index) => ({
    project_id,
    id: `r${index}`,
    vendor_ref: `w:///acme/p/call/${index}`,
    feedback_type: index % 3 === 0 ? "rating" : "wandb.note.1",
    payload: index % 3 === 0 ? { stars: index % 5, why: "=1" } : { note: "x".repeat(900) },
  }));
  const answer = await post(server, "batch/create", { batch });
  assert.equal(answer.statusCode, 200, answer.body);
  return server;
}

const linesOf = (text: string): readonly Row[] =>
  text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Row);

test("exports the records that match a query in the order in which they were stored, and continues after a record", async () => {
  const server = await stored();
  const answer = await post(server, "export", { project_id });
  assert.equal(answer.statusCode, 200, answer.body);
  assert.equal(answer.headers["content-type"], "application/jsonl");
  assert.equal(answer.headers["content-disposition"], 'attachment; filename="acme-p-feedback.jsonl"');
  const rows = linesOf(answer.body);
  const queried = (await post(server, "query", { project_id, limit: 10_000 })).json<{ result: Row[] }>();
  assert.deepEqual(rows, queried.result);
  const rest = await post(server, "export", { project_id, after: "r1000" });
  assert.deepEqual(linesOf(rest.body), rows.slice(1001));
  const ratings = await post(server, "export", {
    project_id,
    query: starred,
    fields: ["id"],
    after: "r1490",
  });
  assert.deepEqual(
    linesOf(ratings.body).map(({ id }) => id),
    ["r1491", "r1494", "r1497"],
  );
  assert.equal((await post(server, "export", { project_id, after: "r1499" })).body, "");
  assert.equal((await post(server, "export", { project_id: "acme/none" })).body, "");
});

test("writes the column names first, unless it continues an export", async () => {
  const server = await stored();
  const body = { project_id, query: starred, format: "csv", fields: ["id", "payload.stars", "payload.why"] };
  const begun = await post(server, "export", body);
  assert.equal(begun.headers["content-type"], "text/csv; charset=utf-8; header=present");
  assert.match(begun.body, /^id,payload.stars,payload.why\r\nr0,0,'=1\r\nr3,3,'=1\r\n/);
  const rest = await post(server, "export", { ...body, after: "r1490" });
  assert.equal(rest.body, "r1491,1,'=1\r\nr1494,4,'=1\r\nr1497,2,'=1\r\n");
  const named = await post(server, "export", { ...body, after: "r1494", header: true });
  assert.equal(named.body, "id,payload.stars,payload.why\r\nr1497,2,'=1\r\n");
});

test("counts records by type, and describes their payloads", async () => {
  const server = await stored();
  const answer = await post(server, "stats", { project_id });
  assert.equal(answer.statusCode, 200, answer.body);
  const { types, ...rest } = answer.json<{ readonly types: readonly Row[] }>();
  assert.deepEqual(rest, {
    total_count: 1500,
    sample: { share: 1, count: 1500, rule: "Every record was read." },
    other_types: 0,
  });
  assert.deepEqual(
    types.map((type) => [type["feedback_type"], type["count"], type["sample_count"]]),
    [
      ["wandb.note.1", 1000, 1000],
      ["rating", 500, 500],
    ],
  );
  const [stars, why] = types.map(({ paths }) => paths as readonly Row[])[1] ?? [];
  const { values, numbers, ...found } = stars ?? assert.fail();
  assert.deepEqual(found, { path: "payload.stars", count: 500, kinds: { number: 500 } });
  assert.deepEqual(
    values,
    [0, 3, 1, 4, 2].map((value) => ({ value, count: 100 })),
  );
  const { histogram, standard_deviation: deviation, ...summary } = numbers as Row;
  assert.ok(Math.abs(Number(deviation) - Math.sqrt(1000 / 499)) < 1e-12);
  assert.deepEqual(summary, {
    count: 500,
    mean: 2,
    min: 0,
    max: 4,
    p50: 2,
    p95: 4,
  });
  const parts = [0, 5, 10, 15, 19];
  assert.deepEqual(
    histogram,
    Array.from({ length: 20 }, (_, part) => (parts.includes(part) ? 100 : 0)),
  );
  assert.deepEqual(why, {
    path: "payload.why",
    count: 500,
    kinds: { text: 500 },
    numbers: null,
    values: [{ value: "=1", count: 500 }],
  });
  const some = await post(server, "stats", { project_id, query: starred });
  assert.equal(some.json<Row>()["total_count"], 500);
});

test("refuses an invalid request before it sends anything", async () => {
  const server = await stored();
  const refused = async (path: string, body: object): Promise<readonly [number, string]> => {
    const { statusCode, body: text } = await post(server, path, body);
    return [statusCode, text];
  };
  for (const path of ["export", "stats"]) {
    assert.deepEqual((await refused(path, {}))[0], 422);
    assert.deepEqual((await refused(path, { project_id: "other/p" }))[0], 403);
    assert.deepEqual((await refused(path, { project_id: "p" }))[0], 422);
    assert.deepEqual((await refused(path, { project_id, query: { $expr: { $near: [] } } }))[0], 422);
  }
  const [status, text] = await refused("export", { project_id, after: "none" });
  assert.equal(status, 422);
  assert.match(text, /"loc":\["body","after"\].*which is not the id of a record of the project/);
  assert.match((await refused("export", { project_id, fields: ["count(*)"] }))[1], /not a field of a record/);
  assert.deepEqual((await refused("export", { project_id, fields: ["colour"] }))[0], 400);
  assert.deepEqual((await refused("export", { project_id, format: "xml" }))[0], 422);
});

test("answers with an error status if a search takes too long before the first line", async (t) => {
  const server = await fakeServer();
  t.after(() => server.close());
  server.feedback.refusal = new ServiceError({ code: "too_slow", message: "It took too long." });
  for (const path of ["export", "stats"])
    assert.equal((await post(server, path, { project_id })).statusCode, 408);
});
