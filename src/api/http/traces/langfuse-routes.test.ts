// Tests scores that Langfuse's unmodified libraries sent, and scores that the server must refuse.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test, type TestContext } from "node:test";
import { keys } from "../testing/fake-server.ts";
import { feedbackServer } from "../testing/feedback-server.ts";

interface Score {
  readonly id: string;
  readonly feedback_type: string;
  readonly weave_ref: string;
  readonly payload: { readonly value: unknown; readonly data_type: string; readonly comment?: string };
}

async function server(t: TestContext, project = "games") {
  const server = await feedbackServer();
  t.after(() => server.close());
  const authorization = `Basic ${Buffer.from(`${project}:${keys.member}`).toString("base64")}`;
  const post = (url: string, payload: object) =>
    server.ask({ method: "POST", url, headers: { authorization }, payload });
  const scores = async (): Promise<readonly Score[]> =>
    (await post("/feedback/query", { project_id: "acme/games" })).json<{ result: readonly Score[] }>().result;
  return { ...server, authorization, post, scores };
}

// Safe cast: a JSON file holds an object or a list.
const fixture = (name: string) => JSON.parse(readFileSync(`test/fixtures/otlp/${name}`, "utf8")) as object;

const summaryOf = (scores: readonly Score[]) =>
  scores
    .map(({ feedback_type: type, payload: { value, data_type: kind }, weave_ref: ref }) => [
      type.split(".").at(-1),
      value,
      kind,
      ref.split("/").at(-1)?.length,
    ])
    .toSorted((a, b) => (String(a[0]) < String(b[0]) ? -1 : 1));

test("stores the scores of Langfuse's Python library, and one whose id repeats only once", async (t) => {
  const { post, scores } = await server(t);
  const sent = fixture("langfuse-python-5-scores.json");
  for (let time = 0; time < 2; time++) {
    const answer = await post("/api/public/scores", sent);
    assert.deepEqual([answer.statusCode, answer.json()], [202, { accepted: 5, rejected: 0 }]);
  }
  // Spans have ids of 16 digits, and traces of 32.
  assert.deepEqual(summaryOf(await scores()), [
    ["helpful", 1, "BOOLEAN", 32],
    ["quality", 0.9, "NUMERIC", 16],
    ["tone", "calm", "CATEGORICAL", 32],
    ["twice", 1, "NUMERIC", 16],
  ]);
});

test("stores the scores of Langfuse's npm library, and refuses other events of its batch", async (t) => {
  const { post, scores } = await server(t);
  const { batch } = fixture("langfuse-client-5-scores.json") as { readonly batch: readonly object[] };
  const answer = await post("/api/public/ingestion", {
    batch: [...batch, { id: "e", type: "trace-create", body: {} }],
  });
  const { successes, errors } = answer.json<{ successes: readonly object[]; errors: readonly object[] }>();
  assert.equal(successes.length, 3);
  assert.match(JSON.stringify(errors), /"id":"e","status":400,"message":"Events of the type/);
  assert.equal((await scores()).length, 3);
});

test("replaces a score that has the same id, and returns the id of a single one", async (t) => {
  const { post, scores } = await server(t);
  const score = { id: "s", traceId: "t", name: "quality", value: 0.5 };
  assert.deepEqual((await post("/api/public/scores", score)).json(), { id: "s" });
  await post("/api/public/scores", { ...score, value: 1, comment: "better" });
  const [stored, ...others] = await scores();
  assert.deepEqual([stored.payload.value, stored.payload.comment, others.length], [1, "better", 0]);
});

test("names each fault of a score, and stores the valid scores of a list", async (t) => {
  const { post, scores } = await server(t);
  const bad = { name: "n", value: "x", dataType: "NUMERIC", sessionId: "s", configId: "c" };
  const answer = await post("/api/public/scores", bad);
  assert.equal(answer.statusCode, 422);
  const faults = answer.json<{ detail: readonly { readonly loc: readonly string[] }[] }>().detail;
  assert.deepEqual(
    new Set(faults.map(({ loc }) => loc.at(-1))),
    new Set(["configId", "sessionId", "traceId", "value"]),
  );
  const good = { traceId: "t", name: "n", value: true, dataType: "BOOLEAN" };
  const list = await post("/api/public/scores", [
    good,
    bad,
    { ...good, value: 2 },
    { ...good, dataType: "TEXT" },
  ]);
  assert.equal(list.statusCode, 207);
  assert.match(list.body, /"accepted":1,"rejected":3,"errors":\[\{"index":1,"status":422/);
  assert.equal((await scores()).length, 1);
  assert.equal(
    (
      await post(
        "/api/public/scores",
        Array.from({ length: 1001 }, () => good),
      )
    ).statusCode,
    413,
  );
});

test("answers Langfuse's check of credentials with the project of the public key", async (t) => {
  const { ask, authorization } = await server(t);
  const url = "/api/public/projects";
  const { data } = (await ask({ method: "GET", url, headers: { authorization } })).json<{
    data: readonly object[];
  }>();
  assert.match(JSON.stringify(data), /"id":"acme\/games","name":"games","organization":\{"id":"acme"/);
  const other = `Basic ${Buffer.from(`acme/games:${keys.other}`).toString("base64")}`;
  assert.equal((await ask({ method: "GET", url, headers: { authorization: other } })).statusCode, 403);
  assert.equal((await ask({ method: "GET", url })).statusCode, 401);
});
