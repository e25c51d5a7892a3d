// Tests clients that disconnect before they are answered, at every moment at which the server waits for something.
// Afterwards, no counter, reservation or work may remain for them.
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { test, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import { basic, bearer, fakeServer, playJob, registeredModel } from "../src/api/http/testing/fake-server.ts";
import { searchedOf } from "../src/base/domain/testing/search.ts";
import { HeldCalls } from "../src/api/http/testing/held-calls.ts";
import type { ValidRequest } from "./fuzz/valid-request.ts";
import { validRequests } from "./fuzz/valid-requests.ts";

type Server = Awaited<ReturnType<typeof fakeServer>>;

/** Upper bound on the number of times that the server waits during one request. */
const waitsMax = 100;

async function listening(t: TestContext): Promise<{ readonly server: Server; readonly calls: HeldCalls }> {
  const calls = new HeldCalls();
  const server = await fakeServer({ wrap: (dependencies) => calls.wrap(dependencies) });
  t.after(() => server.close());
  await server.app.listen({ host: "127.0.0.1", port: 0 });
  return { server, calls };
}

/** Opens a connection. Returns both of its sockets: the client's and the server's. */
async function connected({ app }: Server): Promise<{ readonly client: Socket; readonly served: Socket }> {
  const accepted = once(app.server, "connection");
  const client = connect(Number(new URL(app.listeningOrigin).port), "127.0.0.1");
  client.on("error", () => undefined);
  const [served] = (await accepted) as [Socket];
  return { client, served };
}

/** Resolves when the socket is closed. `once` would reject for a connection that was reset. */
function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => (socket.closed ? resolve() : socket.once("close", () => resolve())));
}

/** Returns the metrics of requests in progress that are not zero. */
async function counted({ app }: Server): Promise<readonly string[]> {
  const { body } = await app.inject({ method: "GET", url: "/metrics" });
  return body.split("\n").filter((line) => /^hone_http_(requests_in_flight|body_bytes) (?!0$)/.test(line));
}

const credentials = {
  Bearer: `authorization: ${bearer()}`,
  Basic: `authorization: ${basic()}`,
  none: "x: y",
};

interface RawRequest {
  readonly what: string;
  readonly head: string;
  readonly body: Buffer;
}

function rawRequest({ method, path, body, headers = {}, scheme = "Bearer" }: ValidRequest): RawRequest {
  const bytes =
    body === undefined ? Buffer.alloc(0) : Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
  const type: Readonly<Record<string, string>> =
    body === undefined ? {} : { "content-type": "application/json" };
  const all = Object.entries({ ...type, ...headers });
  const lines = [`${method} ${path} HTTP/1.1`, "host: a", credentials[scheme]];
  for (const [name, value] of all) lines.push(`${name}: ${value}`);
  return {
    what: `${method} ${path}`,
    head: `${[...lines, `content-length: ${bytes.length}`].join("\r\n")}\r\n\r\n`,
    body: bytes,
  };
}

/** Returns one request for each operation, including operations whose input is not JSON. */
async function oneOfEach(server: Server): Promise<readonly RawRequest[]> {
  const modelId = await registeredModel(server);
  const user = { role: "user", content: "Hi" };
  const trajectories = [{ reward: 1, messages_and_choices: [user, { role: "assistant", content: "Ho" }] }];
  const made = await server.ask({
    method: "POST",
    url: "/v1/preview/training-jobs",
    headers: { authorization: bearer() },
    payload: { model_id: modelId, trajectory_groups: [{ trajectories }] },
  });
  const jobId = made.json<{ id: string }>().id;
  await playJob(server, { step: 1 });
  const valid = validRequests({
    apiKey: "",
    modelId,
    spareModelId: "none",
    jobId,
    fileId: "none",
    queueId: "none",
    itemId: "none",
    rolloutId: "none",
    sessionId: "none",
    tuningJobId: "none",
    uploadId: "none",
  });
  const operations = new Map(
    valid.map((request) => {
      const stream = JSON.stringify(request.body ?? {}).includes('"stream":true');
      return [`${request.method} ${request.path} ${stream} ${request.headers?.["accept"] ?? ""}`, request];
    }),
  );
  const models = `/v1/preview/models/${modelId}`;
  const bearerPath = (path: string): ValidRequest => ({ method: "GET", path, names: [] });
  const form = [
    "--b\r\ncontent-disposition: form-data; name=purpose\r\n\r\nfine-tune\r\n",
    '--b\r\ncontent-disposition: form-data; name=file; filename="a.jsonl"\r\n\r\n',
    `${JSON.stringify({ messages: [user, { role: "assistant", content: "Ho" }] })}\n\r\n--b--\r\n`,
  ].join("");
  const upload = { method: "POST", path: "/v1/files", names: [], body: Buffer.from(form) } as const;
  const tar = { method: "POST", path: `${models}/checkpoints`, names: [], body: Buffer.alloc(2048) } as const;
  return [
    ...operations.values(),
    { method: "POST", path: "/v1/responses", names: [], body: { model: "tiny", input: "Hi" } } as const,
    bearerPath("/v1/files"),
    bearerPath(`${models}/trajectories/rows?limit=1`),
    bearerPath(`${models}/trajectories/export?format=jsonl`),
    bearerPath(`${models}/checkpoints/1/export?format=peft`),
    { ...upload, headers: { "content-type": "multipart/form-data; boundary=b" } },
    { ...tar, headers: { "content-type": "application/x-tar" } },
  ].map(rawRequest);
}

/**
 * Sends the request, and disconnects at one of the server's waits: the one with the number `waits`, counted from 0.
 *
 * @returns false if the server waits fewer times
 */
async function leavesAt(
  server: Server,
  calls: HeldCalls,
  { head, body }: RawRequest,
  { waits, sent }: { readonly waits: number; readonly sent: number },
): Promise<boolean> {
  const { client, served } = await connected(server);
  const { held, release } = calls.hold(waits);
  const answered = once(client, "data").then(() => false);
  // Ignored: rejects if the client disconnects.
  answered.catch(() => undefined);
  client.write(Buffer.concat([Buffer.from(head), body.subarray(0, sent)]));
  const leaving = new AbortController();
  // On a route without credentials, the server waits only for the body.
  const isReading = async (): Promise<boolean> => {
    while (
      !leaving.signal.aborted &&
      !(await counted(server)).some((line) => line.startsWith("hone_http_body_bytes"))
    )
      await setImmediate();
    return false;
  };
  const waited = [held.then(() => true), answered];
  const isHeld = await Promise.race(sent < body.length ? [...waited, isReading()] : waited);
  leaving.abort();
  client.resetAndDestroy();
  await closed(served);
  release();
  await calls.quiet();
  return isHeld;
}

test("a client may disconnect during any wait of any route, and is then no longer counted", async (t) => {
  const { server, calls } = await listening(t);
  let leftCount = 0;
  for (const request of searchedOf(await oneOfEach(server), 60)) {
    for (let waits = 0; waits < waitsMax; waits++) {
      const wasHeld = await leavesAt(server, calls, request, { waits, sent: request.body.length });
      assert.deepEqual(await counted(server), [], `${request.what}, left at wait ${waits}`);
      if (!wasHeld) break;
      leftCount += 1;
    }
    if (request.body.length === 0) continue;
    await leavesAt(server, calls, request, { waits: 0, sent: request.body.length >> 1 });
    assert.deepEqual(await counted(server), [], `${request.what}, left with half of its body sent`);
  }
  t.diagnostic(`left ${leftCount} times`);
  assert.ok(leftCount > 30);
});

const hello: ValidRequest = {
  method: "POST",
  path: "/v1/chat/completions",
  body: { messages: [{ role: "user", content: "Hi" }] },
  names: [],
};

test("a pipelined request begins when the previous one is answered, and never if the client disconnects before", async (t) => {
  const { server, calls } = await listening(t);
  server.chat.script.hangs = true;
  const { head, body } = rawRequest(hello);
  const two = Buffer.concat([Buffer.from(head), body, Buffer.from(head), body]);
  const { client, served } = await connected(server);
  const seen = server.chat.nextSeen();
  client.write(two);
  await seen;
  await calls.quiet();
  assert.equal(server.chat.seen.length, 1);
  client.resetAndDestroy();
  await closed(served);
  await calls.quiet();
  assert.equal(server.chat.seen.length, 1);
  assert.deepEqual(await counted(server), []);

  server.chat.script.hangs = false;
  const other = await connected(server);
  other.client.write(two);
  let text = "";
  other.client.on("data", (piece) => (text += String(piece)));
  while ((text.match(/HTTP\/1\.1 200/g) ?? []).length < 2) await once(other.client, "data");
  other.client.destroy();
});

test("a chat whose client disconnected while its key was looked up never begins", async (t) => {
  const { server, calls } = await listening(t);
  const request = rawRequest(hello);
  assert.ok(await leavesAt(server, calls, request, { waits: 0, sent: request.body.length }));
  assert.equal(server.chat.seen.length, 0);
});

test("the memory reserved for a body is held until the request is answered", async (t) => {
  const { server, calls } = await listening(t);
  server.chat.script.hangs = true;
  const { head, body } = rawRequest(hello);
  const { client, served } = await connected(server);
  const seen = server.chat.nextSeen();
  client.write(Buffer.concat([Buffer.from(head), body]));
  await seen;
  assert.deepEqual(await counted(server), [
    "hone_http_requests_in_flight 1",
    `hone_http_body_bytes ${body.length}`,
  ]);
  client.destroy();
  await closed(served);
  await calls.quiet();
  assert.deepEqual(await counted(server), []);
});
