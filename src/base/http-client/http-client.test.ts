// Tests of the HTTP client with Node's own server on the loopback address: pooling, timeouts, limits, aborts, checked
// addresses and error messages.
import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import { createServer as createTcpServer, type AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { HttpClient, type HttpAnswer, type HttpRequest } from "./http-client.ts";
import { AnswerTooLarge, HttpFailure, HttpTimeout } from "./http-failure.ts";
import { readText } from "./read-answer.ts";

const longMs = 60_000;
const timeouts = { connectMs: longMs, answerMs: longMs, nextMs: longMs };

/** Starts a server that counts its connections. Also returns a client for it. */
async function served(t: TestContext, listener: RequestListener) {
  const server = createServer({ keepAliveTimeout: longMs }, listener);
  let connectionCount = 0;
  server.on("connection", () => (connectionCount += 1));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const client = new HttpClient();
  t.after(() => {
    client.close();
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const send = (request: Partial<HttpRequest> = {}): Promise<HttpAnswer> =>
    client.send({
      method: "GET",
      url: new URL(`http://127.0.0.1:${port}/a?b`),
      headers: {},
      timeouts,
      ...request,
    });
  return { send, port, server, connections: () => connectionCount };
}

test("reuses a connection for the next request, and returns a redirect as an answer", async (t) => {
  const { send, connections } = await served(t, (request, response) => {
    response.writeHead(307, { location: "/elsewhere" }).end(request.url);
  });
  for (let count = 0; count < 3; count++) {
    const { status, header, body } = await send();
    assert.deepEqual([status, header("location"), await readText(body, 10)], [307, "/elsewhere", "/a?b"]);
  }
  // When the next request is sent, the pool may not have taken the first connection back yet. A second connection is
  // therefore possible.
  assert.ok(connections() <= 2, `${connections()} connections`);
});

test("resends a request on a connection that the server has just closed", async (t) => {
  const used = new Set<object>();
  let brokenCount = 0;
  const { send } = await served(t, (request, response) => {
    if (used.has(request.socket)) {
      brokenCount += 1;
      request.socket.destroy();
    } else response.end("ok");
    used.add(request.socket);
  });
  for (let count = 0; count < 4; count++)
    assert.equal(await readText((await send({ method: "POST", body: "1" })).body, 10), "ok");
  assert.ok(brokenCount > 0);
});

test("does not resend a request on a new connection that breaks", async (t) => {
  let requestCount = 0;
  const { send } = await served(t, (request) => {
    requestCount += 1;
    request.socket.destroy();
  });
  await assert.rejects(send({ method: "POST", body: "1" }), (error) => {
    assert.ok(error instanceof HttpFailure && error.wasSent);
    return true;
  });
  assert.equal(requestCount, 1);
});

test("reports an unreachable server as not sent, without its address", async (t) => {
  const { send, server, port } = await served(t, () => undefined);
  await new Promise((resolve) => server.close(resolve));
  await assert.rejects(send(), (error) => {
    assert.ok(error instanceof HttpFailure && !error.wasSent);
    assert.deepEqual([error.code, error.message], ["ECONNREFUSED", "connect ECONNREFUSED"]);
    return !error.message.includes(String(port));
  });
});

test("limits the time of each phase of a request", async (t) => {
  const { send } = await served(t, (request, response) => {
    if (request.headers["x-phase"] === "head") return;
    response.writeHead(200).flushHeaders();
    if (request.headers["x-phase"] === "next-part") response.write("begun");
  });
  const late = async (phase: string, short: object): Promise<string> => {
    const error: unknown = await send({ headers: { "x-phase": phase }, timeouts: { ...timeouts, ...short } })
      .then(({ body }) => readText(body, 100))
      .catch((thrown: unknown) => thrown);
    assert.ok(error instanceof HttpTimeout && error.wasSent, String(error));
    return error.phase;
  };
  assert.equal(await late("head", { answerMs: 20 }), "head");
  assert.equal(await late("first-part", { firstMs: 20 }), "first-part");
  assert.equal(await late("next-part", { nextMs: 20 }), "next-part");
});

test("gives up a connection that is never ready after its deadline", async (t) => {
  // This server does not speak TLS. It accepts the connection and sends nothing.
  const mute = createTcpServer((socket) => t.after(() => socket.destroy()));
  await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", resolve));
  const client = new HttpClient();
  t.after(() => [client, mute].forEach((each) => each.close()));
  const url = new URL(`https://127.0.0.1:${(mute.address() as AddressInfo).port}`);
  await assert.rejects(client.send({ url, headers: {}, timeouts: { ...timeouts, connectMs: 20 } }), {
    phase: "connection",
    wasSent: false,
  });
});

test("reads the rest of a released answer completely", async (t) => {
  let [resolve, isWhole]: [() => void, boolean] = [() => undefined, false];
  const { send } = await served(t, (_, response) => {
    response.once("close", () => {
      isWhole = response.writableFinished;
      resolve();
    });
    response.write("first");
    // This answer is larger than the buffers of a connection.
    setImmediate(() => response.end("x".repeat(16 * 2 ** 20)));
  });
  for (const isBegun of [false, true]) {
    const closed = new Promise<void>((done) => (resolve = done));
    const { body, release } = await send();
    if (isBegun) await body.next();
    release();
    await body.return();
    await closed;
    assert.ok(isWhole);
  }
});

test("reads an answer up to its limit, and then closes its connection", async (t) => {
  let resolve: () => void = () => undefined;
  const closed = new Promise<void>((done) => (resolve = done));
  const { send } = await served(t, (_, response) => {
    response.once("close", () => resolve());
    const more = (): void => void (response.destroyed || response.write("y".repeat(8192), more));
    more();
  });
  await assert.rejects(readText((await send()).body, 100_000), AnswerTooLarge);
  await closed;
});

test("ends a request on an abort with its reason, before and within its answer", async (t) => {
  const { send } = await served(t, (request, response) => {
    if (request.headers["x-answer"] !== undefined) response.writeHead(200).write("begun");
  });
  const reason = new Error("no longer needed");
  const early = new AbortController();
  const asked = send({ signal: early.signal });
  early.abort(reason);
  await assert.rejects(asked, reason);
  const late = new AbortController();
  const { body } = await send({ headers: { "x-answer": "1" }, signal: late.signal });
  await body.next();
  const next = body.next();
  late.abort(reason);
  await assert.rejects(next, reason);
});

test("connects only to the checked addresses, regardless of the host's name", async (t) => {
  const { send, port, connections } = await served(t, (request, response) => {
    response.end(request.headers.host);
  });
  const addresses = [{ address: "127.0.0.1", family: 4 }];
  const url = new URL(`http://checked.invalid:${port}/`);
  for (const count of [1, 2]) {
    assert.equal(await readText((await send({ url, addresses })).body, 100), `checked.invalid:${port}`);
    assert.equal(connections(), count, "on a separate connection");
  }
});
