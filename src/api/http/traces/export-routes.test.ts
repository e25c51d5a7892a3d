// Sends recorded trace exports over HTTP. Tests the resulting calls and feedback, their projects, and refused exports.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test, type TestContext } from "node:test";
import { gzipSync } from "node:zlib";
import { basic, bearer, keys } from "../testing/fake-server.ts";
import { feedbackServer } from "../testing/feedback-server.ts";

const fixture = (name: string): Buffer => readFileSync(`test/fixtures/otlp/${name}`);

interface Call {
  readonly id: string;
  readonly parent_id: string | null;
  readonly op_name: string;
  readonly started_at: string;
  readonly exception: string | null;
  readonly summary: { readonly weave: { readonly feedback: readonly { readonly feedback_type: string }[] } };
}

async function server(t: TestContext) {
  const server = await feedbackServer();
  t.after(() => server.close());
  const post = (url: string, payload: Buffer | object, headers: Readonly<Record<string, string>> = {}) =>
    server.app.inject({
      method: "POST",
      url,
      headers: { authorization: bearer(keys.member), "content-type": "application/json", ...headers },
      payload,
    });
  const callsOf = async (project: string): Promise<readonly Call[]> => {
    const payload = { project_id: `acme/${project}`, include_feedback: true };
    const { body } = await post("/calls/stream_query", payload, { authorization: basic(keys.member) });
    return body
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Call);
  };
  return { ...server, post, callsOf };
}

const protobuf = { "content-type": "application/x-protobuf" };
const langfuse = (project: string, key: string = keys.member) => ({
  authorization: `Basic ${Buffer.from(`${project}:${key}`).toString("base64")}`,
});

const span = {
  traceId: "1".repeat(32),
  spanId: "2".repeat(16),
  name: "s",
  startTimeUnixNano: "1795998899815000000",
  endTimeUnixNano: "1795998899815000000",
};
const exportOf = (spans: readonly object[], service?: string) => ({
  resourceSpans: [
    {
      resource: {
        attributes: service === undefined ? [] : [{ key: "service.name", value: { stringValue: service } }],
      },
      scopeSpans: [{ spans }],
    },
  ],
});

test("stores an export of JSON, of protobuf and of compressed protobuf, and a repeated one only once", async (t) => {
  const { post, callsOf } = await server(t);
  const json = await post("/v1/traces", fixture("ai-sdk-7.json"));
  assert.deepEqual([json.statusCode, json.json()], [200, {}]);
  const binary = await post("/v1/traces", fixture("ai-sdk-7-legacy.pb"), protobuf);
  assert.deepEqual(
    [binary.statusCode, binary.headers["content-type"], binary.body],
    [200, protobuf["content-type"], ""],
  );
  const compressed = { ...protobuf, "content-encoding": "gzip" };
  const again = await post("/v1/traces", gzipSync(fixture("ai-sdk-7-legacy.pb")), compressed);
  assert.equal(again.statusCode, 200, again.body);
  const calls = await callsOf("weather-agent");
  assert.equal(calls.length, 10);
  const [root] = calls;
  assert.deepEqual([root.op_name, root.parent_id], ["invoke_agent gpt-test", null]);
  const children = calls.filter(({ parent_id: parent }) => parent === root.id);
  assert.deepEqual(
    children.map(({ op_name: name }) => name),
    ["step 1", "step 2"],
  );
});

test("takes the project from the public key, from a header, or from the service's name", async (t) => {
  const { post, callsOf } = await server(t);
  const sent = exportOf([{ ...span, status: { code: 2, message: "it broke" } }], "a b/c");
  assert.equal((await post("/v1/traces", sent)).statusCode, 200);
  assert.equal((await post("/v1/traces", sent, { "x-hone-project": "named" })).statusCode, 200);
  assert.equal(
    (await post("/v1/traces", exportOf([span]), { authorization: basic(keys.member) })).statusCode,
    200,
  );
  const path = "/api/public/otel/v1/traces";
  assert.equal((await post(path, sent, langfuse("games"))).statusCode, 200);
  assert.equal((await post(path, sent, langfuse("acme/whole"))).statusCode, 200);
  for (const project of ["a-b-c", "named", "traces", "games", "whole"])
    assert.equal((await callsOf(project)).length, 1, project);
  const [call] = await callsOf("games");
  assert.deepEqual([call.exception, call.started_at], ["it broke", "2026-11-30T00:34:59.815000Z"]);
});

test("refuses projects of other entities, wrong keys, and bodies that it cannot read, by name", async (t) => {
  const { post } = await server(t);
  const check = async (
    status: number,
    message: RegExp,
    payload: Buffer | object,
    headers: Readonly<Record<string, string>>,
    url = "/v1/traces",
  ) => {
    const answer = await post(url, payload, headers);
    assert.equal(answer.statusCode, status, answer.body);
    assert.match(answer.body, message);
  };
  const sent = exportOf([span]);
  const path = "/api/public/otel/v1/traces";
  await check(403, /"x-hone-project".*another entity/, sent, { "x-hone-project": "rival/p" });
  await check(403, /another entity/, sent, langfuse("rival/p"), path);
  await check(401, /The key is unknown/, sent, langfuse("games", "hone_wrong"), path);
  await check(422, /not an OTLP message/, Buffer.from("text"), protobuf);
  await check(422, /not compressed with gzip/, Buffer.from("text"), {
    ...protobuf,
    "content-encoding": "gzip",
  });
  await check(415, /only gzip is supported/, Buffer.from("text"), { ...protobuf, "content-encoding": "br" });
  await check(415, /application\/x-protobuf/, Buffer.from("text"), { "content-type": "text/plain" });
  await check(422, /resourceSpans must be a list/, { resourceSpans: 1 }, {});
  await check(413, /10001 spans; at most 10000/, exportOf(Array.from({ length: 10_001 }, () => span)), {});
  const bomb = gzipSync(Buffer.alloc(40 * 1024 * 1024));
  assert.ok(bomb.length < 65_536);
  await check(413, /decompressed body is larger than/, bomb, { ...protobuf, "content-encoding": "gzip" });
});

test("names the spans that it leaves out, in the encoding of the request, and stores the others", async (t) => {
  const { post, callsOf } = await server(t);
  const answer = await post("/v1/traces", exportOf([span, { ...span, spanId: "x" }], "p"));
  const message = "spanId must have 16 hexadecimal digits, not all zero";
  assert.deepEqual(answer.json(), { partialSuccess: { rejectedSpans: "1", errorMessage: message } });
  assert.equal((await callsOf("p")).length, 1);
  // A request with one span whose ids are missing. It is encoded by hand.
  const binary = await post("/v1/traces", Buffer.from([0x0a, 4, 0x12, 2, 0x12, 0]), protobuf);
  const reason = "traceId must have 32 hexadecimal digits, not all zero";
  const expected = [0x0a, reason.length + 4, 0x08, 1, 0x12, reason.length];
  assert.deepEqual(binary.rawPayload, Buffer.concat([Buffer.from(expected), Buffer.from(reason)]));
});

test("stores evaluations as feedback on their span, once", async (t) => {
  const { post, callsOf } = await server(t);
  const attribute = (key: string, value: object) => ({ key: `gen_ai.evaluation.${key}`, value });
  const attributes = [
    attribute("name", { stringValue: "relevance" }),
    attribute("score.value", { doubleValue: 0.5 }),
  ];
  const sent = exportOf([{ ...span, events: [{ name: "gen_ai.evaluation.result", attributes }] }], "p");
  await post("/v1/traces", sent);
  assert.equal((await post("/v1/traces", sent)).statusCode, 200);
  const [call] = await callsOf("p");
  assert.deepEqual(
    call.summary.weave.feedback.map(({ feedback_type: type }) => type),
    ["gen_ai.evaluation.relevance"],
  );
});
