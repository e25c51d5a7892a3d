// Tests every status that the service can return. A request produces the status, and its answer has the common error
// body.
import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import type { InjectOptions, LightMyRequestResponse } from "fastify";
import { ServiceError, type ErrorCode } from "../../base/domain/service-error.ts";
import type { ErrorBody } from "./errors.ts";
import { basic, bearer, fakeServer, helloBody, keys, registeredModel } from "./testing/fake-server.ts";

type Server = Awaited<ReturnType<typeof fakeServer>>;

interface Expected {
  readonly status: number;
  readonly type: string;
  readonly code: string;
  readonly loc?: readonly string[];
  readonly headers?: Readonly<Record<string, string | RegExp>>;
}

function checkError(answer: LightMyRequestResponse, expected: Expected): ErrorBody {
  assert.equal(answer.statusCode, expected.status, answer.body);
  const body = answer.json<ErrorBody>();
  assert.deepEqual(Object.keys(body), ["detail", "error"]);
  assert.deepEqual(Object.keys(body.error), ["message", "type", "param", "code"]);
  assert.equal(body.error.type, expected.type);
  assert.equal(body.error.code, expected.code);
  for (const { loc, msg, type } of body.detail) {
    assert.ok(["body", "path", "query", "header"].includes(loc[0] ?? ""), loc.join());
    assert.ok(loc.every((part) => typeof part === "string") && msg.length > 0 && type.length > 0);
  }
  if (expected.loc !== undefined) assert.deepEqual(body.detail[0]?.loc, expected.loc);
  assert.match(String(answer.headers["x-request-id"]), /^[\w.:-]+$/);
  for (const [name, value] of Object.entries(expected.headers ?? {})) {
    if (value instanceof RegExp) assert.match(String(answer.headers[name]), value);
    else assert.equal(answer.headers[name], value);
  }
  return body;
}

const chat = (payload: object, rest: Partial<InjectOptions> = {}): InjectOptions => ({
  method: "POST",
  url: "/v1/chat/completions",
  headers: { authorization: bearer() },
  payload,
  ...rest,
});
const json = { authorization: bearer(), "content-type": "application/json" };
/** Constraint with an option that no server supports. */
const otherBackend = { regex: "a", _backend: "other" };
const invalid = { type: "invalid_request_error", code: "invalid" };

const table: readonly {
  readonly name: string;
  readonly request: InjectOptions;
  readonly before?: (server: Server) => Promise<void> | void;
  readonly expected: Expected;
}[] = [
  {
    name: "400 for a known option that is not supported",
    request: chat({ ...helloBody, structured_outputs: otherBackend }),
    expected: {
      status: 400,
      type: "invalid_request_error",
      code: "unsupported",
      loc: ["body", "structured_outputs", "_backend"],
    },
  },
  {
    name: "401 without credentials",
    request: chat(helloBody, { headers: {} }),
    expected: {
      status: 401,
      type: "authentication_error",
      code: "unauthorized",
      loc: ["header", "authorization"],
      headers: { "www-authenticate": /^Bearer / },
    },
  },
  {
    name: "403 for another entity's model",
    request: {
      method: "GET",
      url: "/v1/preview/models/MODEL",
      headers: { authorization: bearer(keys.other) },
    },
    expected: { status: 403, type: "permission_error", code: "forbidden", loc: ["path", "model_id"] },
  },
  {
    name: "404 for an unknown route",
    request: { method: "POST", url: "/feedback/nothing", headers: { authorization: basic() }, payload: {} },
    expected: { status: 404, type: "not_found_error", code: "not_found", loc: ["path"] },
  },
  {
    name: "404 for an unknown job",
    request: { method: "GET", url: "/v1/preview/training-jobs/x", headers: { authorization: bearer() } },
    expected: { status: 404, type: "not_found_error", code: "not_found", loc: ["path", "job_id"] },
  },
  {
    name: "405 for a method that the path lacks",
    request: { method: "PUT", url: "/v1/preview/models/x?a=b" },
    expected: { status: 405, ...invalid, loc: ["path"], headers: { allow: "DELETE, GET, HEAD" } },
  },
  {
    name: "409 for the name of a model with another base",
    request: {
      method: "POST",
      url: "/v1/preview/models",
      headers: { authorization: bearer(keys.member) },
      payload: { project: "p", name: "m", base_model: "small", return_existing: true },
    },
    expected: { status: 409, type: "conflict_error", code: "conflict", loc: ["body", "base_model"] },
  },
  {
    name: "413, naming the limit, for a body that exceeds it",
    request: chat({ ...helloBody, user: "x".repeat(3000) }),
    expected: { status: 413, type: "invalid_request_error", code: "too_large", loc: ["body"] },
  },
  {
    name: "415 for a content type other than JSON",
    request: chat({}, { headers: { authorization: bearer(), "content-type": "text/plain" }, payload: "{}" }),
    expected: { status: 415, ...invalid, loc: ["header", "content-type"] },
  },
  {
    name: "422 for malformed JSON",
    request: chat({}, { headers: json, payload: "{" }),
    expected: { status: 422, ...invalid, loc: ["body", "1"] },
  },
  {
    name: "422 for JSON nested too deeply",
    request: chat({}, { headers: json, payload: "[".repeat(65) }),
    expected: { status: 422, ...invalid, loc: ["body"] },
  },
  {
    name: "422 for a missing field",
    request: chat({}),
    expected: { status: 422, ...invalid, loc: ["body", "messages"] },
  },
  {
    name: "422 for a path that cannot be decoded",
    request: { method: "GET", url: "/%zz" },
    expected: { status: 422, ...invalid, loc: ["path"] },
  },
  {
    name: "429 if the queue is full",
    request: chat(helloBody),
    before: (server) => refuseChat(server, "overloaded"),
    expected: { status: 429, type: "rate_limit_error", code: "overloaded", headers: { "retry-after": "1" } },
  },
  {
    name: "500 for a bug",
    request: chat(helloBody),
    before: (server) => void (server.chat.script.refusal = new Error("secret detail")),
    expected: { status: 500, type: "server_error", code: "internal" },
  },
  {
    name: "503 if the engine is down",
    request: chat(helloBody),
    before: (server) => refuseChat(server, "unavailable"),
    expected: {
      status: 503,
      type: "service_unavailable_error",
      code: "unavailable",
      headers: { "retry-after": /^\d+$/ },
    },
  },
  {
    name: "503 for new work while draining",
    request: chat(helloBody),
    before: (server) => void (server.state.isDraining = true),
    expected: {
      status: 503,
      type: "service_unavailable_error",
      code: "unavailable",
      headers: { "retry-after": /^\d+$/ },
    },
  },
];

function refuseChat({ chat: fake }: Server, code: ErrorCode): void {
  fake.script.refusal = new ServiceError({ code, message: "secret detail" });
}

for (const { name, request, before, expected } of table) {
  test(`answers ${name}`, async () => {
    const server = await fakeServer({ settings: { chatBodyBytes: 2048 } });
    const modelId = await registeredModel(server);
    await before?.(server);
    const { url } = request;
    assert.ok(typeof url === "string");
    const answer = await server.ask({ ...request, url: url.replace("MODEL", modelId) });
    const body = checkError(answer, expected);
    if (expected.status === 413) assert.match(body.error.message, /2048 bytes/);
    if (expected.status >= 500) {
      assert.doesNotMatch(answer.body, /secret/);
      assert.ok(body.error.message.includes(String(answer.headers["x-request-id"])));
      assert.deepEqual(body.detail, []);
    }
    await server.close();
  });
}

test("answers every error code with its status", async () => {
  const statuses: { readonly [Code in ErrorCode]: number } = {
    invalid: 422,
    unsupported: 400,
    unauthorized: 401,
    forbidden: 403,
    not_found: 404,
    conflict: 409,
    too_large: 413,
    too_slow: 408,
    overloaded: 429,
    full: 429,
    unavailable: 503,
    cancelled: 503,
    timeout: 503,
    internal: 500,
  };
  const server = await fakeServer();
  for (const [code, status] of Object.entries(statuses)) {
    refuseChat(server, code as ErrorCode);
    assert.equal((await server.ask(chat(helloBody))).statusCode, status, code);
  }
  await server.close();
});

test("answers 429 while a key has its maximum of requests in flight, and accepts requests again afterwards", async () => {
  const server = await fakeServer({ settings: { requestsPerKey: 1 } });
  await server.app.listen({ host: "127.0.0.1", port: 0 });
  server.chat.script.hangs = true;
  const url = `${server.app.listeningOrigin}/v1/chat/completions`;
  const post = (signal?: AbortSignal): Promise<Response> =>
    fetch(url, {
      method: "POST",
      headers: { authorization: bearer(), "content-type": "application/json" },
      body: JSON.stringify({ ...helloBody, stream: true }),
      ...(signal === undefined ? {} : { signal }),
    });
  const first = new AbortController();
  assert.equal((await post(first.signal)).status, 200);
  const second = await post();
  assert.equal(second.status, 429);
  assert.equal(second.headers.get("retry-after"), "1");
  const freed = new Promise<void>((resolve) => (server.chat.onAbort = resolve));
  first.abort();
  await freed;
  server.chat.script.hangs = false;
  const third = await post();
  assert.equal(third.status, 200);
  assert.match(await third.text(), /\[DONE\]/);
  await server.close();
});

for (const { name, sent, status, place = "header" } of [
  { name: "400 for bytes that are not HTTP", sent: "NONSENSE\r\n\r\n", status: 400 },
  {
    name: "405 for an unknown method",
    sent: "PRI /v1/models\r\nhost: a\r\nconnection: close\r\n\r\n",
    status: 405,
    place: "path",
  },
  { name: "405 for CONNECT", sent: "CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n", status: 405 },
  { name: "408 for headers that do not end in time", sent: "GET / HTTP/1.1\r\n", status: 408 },
  {
    name: "408 for a body that is not complete in time",
    sent: `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: ${bearer()}\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{`,
    status: 408,
  },
  {
    name: "417 for an unknown expectation",
    sent: "GET / HTTP/1.1\r\nhost: a\r\nexpect: more\r\n\r\n",
    status: 417,
  },
  {
    name: "431 for headers that are too long",
    sent: `GET / HTTP/1.1\r\na: ${"a".repeat(20_000)}\r\n\r\n`,
    status: 431,
  },
]) {
  test(`answers ${name} with the common body, and ends the connection`, async (t) => {
    const server = await fakeServer({ settings: { requestSeconds: status === 408 ? 1 : 60 } });
    t.after(() => server.close());
    await server.app.listen({ host: "127.0.0.1", port: 0 });
    const socket = connect(Number(new URL(server.app.listeningOrigin).port), "127.0.0.1");
    socket.write(sent);
    let text = "";
    for await (const part of socket) text += String(part);
    const [head = "", body = ""] = text.split("\r\n\r\n");
    const [line = "", ...headers] = head.split("\r\n");
    const statusCode = Number(line.split(" ")[1]);
    const named = Object.fromEntries(headers.map((header) => header.split(": ")));
    const answer = { statusCode, body, headers: named, json: () => JSON.parse(body) };
    checkError(answer as LightMyRequestResponse, { status, ...invalid, loc: [place] });
  });
}

test("returns the client's request id only if it is safe", async () => {
  const server = await fakeServer();
  const ask = async (id: string): Promise<unknown> =>
    (await server.ask({ method: "GET", url: "/health", headers: { "x-request-id": id } })).headers[
      "x-request-id"
    ];
  for (const id of ["trace-1", "req_a/b+c==", "a".repeat(128)]) assert.equal(await ask(id), id);
  for (const id of ["a b", "a".repeat(129), "a,b", "<a>", "{}"])
    assert.match(String(await ask(id)), /^[0-9a-f-]{36}$/);
  await server.close();
});

test("takes a completion's id from the request's header, otherwise from the body, otherwise creates one", async () => {
  const server = await fakeServer();
  const ids = async (header: string | undefined, body: object): Promise<unknown> => {
    const headers = { authorization: bearer(), ...(header === undefined ? {} : { "x-request-id": header }) };
    const answer = await server.ask(chat({ ...helloBody, ...body }, { headers }));
    const { id, request_id: requestId } = answer.json<{ id: string; request_id: string }>();
    assert.equal(id, `chatcmpl-${requestId}`);
    return { requestId, header: answer.headers["x-request-id"] };
  };
  assert.deepEqual(await ids("trace-1", {}), { requestId: "trace-1", header: "trace-1" });
  assert.deepEqual(await ids("trace-1", { request_id: "mine" }), { requestId: "trace-1", header: "trace-1" });
  // The second body is so large that a worker reads it.
  for (const user of ["me", "m".repeat(1 << 18)]) {
    const { requestId, header } = (await ids(undefined, { user })) as Record<string, string>;
    assert.equal(requestId, header);
  }
  const { requestId, header } = (await ids(undefined, { request_id: "mine" })) as Record<string, string>;
  assert.ok(requestId === "mine" && header !== "mine");
  await server.close();
});

test("refuses a request id header that cannot name a completion, or whose completion is running", async () => {
  const server = await fakeServer();
  const headers = (id: string) => ({ headers: { authorization: bearer(), "x-request-id": id } });
  const place = { loc: ["header", "x-request-id"] };
  const strange = await server.ask(chat(helloBody, headers("a b")));
  assert.match(checkError(strange, { status: 422, ...invalid, ...place }).error.message, /"a b".*128/);
  const fault = {
    location: ["identity", "requestId"],
    message: "`identity.requestId` runs",
    type: "value_error",
  };
  server.chat.script.refusal = new ServiceError({ code: "conflict", faults: [fault] });
  const running = await server.ask(chat({ ...helloBody, request_id: "mine" }, headers("trace-1")));
  const conflict = { status: 409, type: "conflict_error", code: "conflict", ...place };
  assert.match(checkError(running, conflict).error.message, /x-request-id runs/);
  await server.close();
});

test("answers HEAD like GET, without a body", async () => {
  const server = await fakeServer();
  const headers = { authorization: bearer() };
  for (const url of ["/health", "/v1/models", "/v1/models/tiny", "/v1/models/none", "/version"]) {
    const [got, asked] = await Promise.all(
      (["GET", "HEAD"] as const).map((method) => server.ask({ method, url, headers })),
    );
    assert.deepEqual([asked.statusCode, asked.body], [got.statusCode, ""], url);
    assert.equal(asked.headers["content-type"], got.headers["content-type"], url);
  }
  await server.close();
});

test("reports legacy function fields as ignored", async () => {
  const server = await fakeServer();
  const answer = await server.ask(chat({ ...helloBody, functions: [{ name: "f" }], function_call: "auto" }));
  assert.deepEqual([answer.statusCode, answer.headers["x-hone-ignored"]], [200, "functions, function_call"]);
  await server.close();
});

test("keeps errors short: lists a hundred faults and counts the rest, cuts values and names", async () => {
  const server = await fakeServer();
  const key = "k".repeat(5_000);
  const metrics = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`${key}${index}`, "x"]));
  const group = { trajectories: [{ metrics: { [key]: [] } }, { metrics }] };
  const payload = { model_id: key, trajectory_groups: [group] };
  const headers = { authorization: bearer() };
  const url = "/v1/preview/training-jobs";
  const answer = await server.ask({ method: "POST", url, headers, payload });
  const body = checkError(answer, { status: 422, ...invalid });
  assert.equal(body.detail.length, 101);
  // Each of the 500 values has two faults: it is neither a number nor a boolean.
  assert.match(body.detail[100]?.msg ?? "", /^903 more faults/);
  assert.ok(!answer.body.includes("k".repeat(201)), "names are cut");
  assert.ok(answer.body.length < 100_000, String(answer.body.length));
  const long = await server.ask(chat({ ...helloBody, request_id: "r".repeat(300), n: "9".repeat(300) }));
  assert.ok(!long.body.includes("9".repeat(201)), "values are cut");
  const cursor = await server.ask({ method: "GET", url: `/v1/preview/models?after=${key}`, headers });
  assert.ok(cursor.statusCode === 422 && !cursor.body.includes("k".repeat(201)), "cursors are cut");
  await server.close();
});

test("reports invalid values and unsupported options in one answer", async () => {
  const server = await fakeServer();
  const answer = await server.ask(chat({ ...helloBody, n: 0, structured_outputs: otherBackend }));
  const body = checkError(answer, { status: 422, ...invalid });
  assert.deepEqual(
    body.detail.map(({ loc }) => loc),
    [
      ["body", "n"],
      ["body", "structured_outputs", "_backend"],
    ],
  );
  await server.close();
});

test("repeats no credentials in a refusal, and accepts no text after them", async () => {
  const server = await fakeServer();
  const ask = (authorization: string): Promise<LightMyRequestResponse> =>
    server.ask({ method: "GET", url: "/v1/models", headers: { authorization } });
  for (const sent of [
    keys.admin,
    `Token ${keys.admin}`,
    `Bearer ${keys.admin} junk`,
    `Basic ${keys.admin}`,
  ]) {
    const answer = await ask(sent);
    assert.equal(answer.statusCode, 401, sent);
    assert.ok(!answer.body.includes(keys.admin), answer.body);
  }
  await server.close();
});

test("names the content type that the route accepts", async () => {
  const server = await fakeServer();
  const modelId = await registeredModel(server);
  const headers = { authorization: bearer(), "content-type": "text/plain" };
  const messageOf = async (url: string): Promise<string> => {
    const answer = await server.ask({ method: "POST", url, headers, payload: "x" });
    assert.equal(answer.statusCode, 415, url);
    return answer.json<ErrorBody>().error.message;
  };
  const checkpoints = `/v1/preview/models/${modelId}/checkpoints`;
  assert.match(
    await messageOf("/v1/chat/completions"),
    /"text\/plain"; only application\/json is accepted here/,
  );
  assert.match(await messageOf(checkpoints), /"text\/plain"; only application\/x-tar is accepted here/);
  await server.close();
});
