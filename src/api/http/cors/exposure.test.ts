// Tests of the limits on connections, host names, and requests from pages of other sites. Only some of the tests open
// real sockets.
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import type { ErrorBody } from "../errors.ts";
import { basic, bearer, fakeServer, type FakeServerOptions } from "../testing/fake-server.ts";

type Server = Awaited<ReturnType<typeof fakeServer>>;

async function listening(options: FakeServerOptions = {}): Promise<{ server: Server; port: number }> {
  const server = await fakeServer(options);
  await server.app.listen({ host: "127.0.0.1", port: 0 });
  return { server, port: Number(new URL(server.app.listeningOrigin).port) };
}

/** Sends bytes and returns all bytes that the server sends until it closes the connection. */
async function exchange(port: number, bytes: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.write(bytes);
  let text = "";
  for await (const part of socket) text += String(part);
  return text;
}

function errorOf(text: string): ErrorBody {
  assert.match(text, /\r\nx-request-id: [\w-]+\r\n/i);
  return JSON.parse(text.slice(text.indexOf("{"))) as ErrorBody;
}

test("closes the connection after a refusal, without waiting for the rest of the body", async () => {
  const { server, port } = await listening();
  const head = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";
  const keyless = await exchange(port, `${head}content-length: 1000\r\n\r\n{"half`);
  assert.match(keyless, /^HTTP\/1.1 401 [^]*\r\nconnection: close\r\n/i);
  const tooLong = `${head}authorization: ${bearer()}\r\ncontent-length: 99999999\r\n\r\n{"half`;
  assert.match(await exchange(port, tooLong), /^HTTP\/1.1 413 [^]*\r\nconnection: close\r\n/i);
  await server.close();
});

test("limits the time for a request and for its headers", async () => {
  const { server, port } = await listening({ settings: { requestSeconds: 1 } });
  const { requestTimeout, headersTimeout } = server.app.server;
  assert.deepEqual([requestTimeout, headersTimeout], [1000, 1000]);
  await server.close();
  assert.ok(port > 0);
});

test("answers with an error body where Node would send none", async () => {
  const { server, port } = await listening();
  const withoutHost = await exchange(port, "GET /health HTTP/1.1\r\nconnection: close\r\n\r\n");
  assert.match(withoutHost, /^HTTP\/1.1 400 /);
  assert.deepEqual(errorOf(withoutHost).detail[0]?.loc, ["header", "host"]);
  const expecting = "GET /health HTTP/1.1\r\nhost: x\r\nexpect: miracles\r\n\r\n";
  const unexpected = await exchange(port, expecting);
  assert.match(unexpected, /^HTTP\/1.1 417 /);
  assert.equal(errorOf(unexpected).error.code, "invalid");
  await server.close();
});

test("refuses several Host headers, and too many header lines, with a message", async () => {
  const { server, port } = await listening();
  const end = "connection: close\r\n\r\n";
  const twoHosts = await exchange(port, `GET /health HTTP/1.1\r\nhost: a\r\nHost: b\r\n${end}`);
  assert.match(twoHosts, /^HTTP\/1.1 400 /);
  assert.deepEqual(errorOf(twoHosts).detail[0]?.loc, ["header", "host"]);
  const lines = (count: number): string => Array.from({ length: count }, () => "a: \r\n").join("");
  const many = await exchange(port, `GET /health HTTP/1.1\r\nhost: a\r\n${lines(2400)}${end}`);
  assert.match(many, /^HTTP\/1.1 431 /);
  assert.match(errorOf(many).error.message, /2402 header lines; at most 500/);
  assert.match(await exchange(port, `GET /health HTTP/1.1\r\nhost: a\r\n${lines(400)}${end}`), / 200 OK/);
  await server.close();
});

test("sends 100 Continue only once all checks that need no body have passed", async () => {
  const { server, port } = await listening({ settings: { chatBodyBytes: 4096 } });
  const head = (length: number, key: string): string =>
    `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: ${key}\r\ncontent-type: application/json\r\n` +
    `content-length: ${length}\r\nexpect: 100-continue\r\nconnection: close\r\n\r\n`;
  assert.match(await exchange(port, head(1000, "Bearer wrong")), /^HTTP\/1.1 401 /);
  assert.match(await exchange(port, head(5000, bearer())), /^HTTP\/1.1 413 /);
  const body = JSON.stringify({ messages: [{ role: "user", content: "Hi" }] });
  const socket = connect(port, "127.0.0.1");
  socket.write(head(body.length, bearer()));
  const asked = String((await once(socket, "data"))[0]);
  assert.equal(asked, "HTTP/1.1 100 Continue\r\n\r\n");
  socket.write(body);
  let answer = "";
  for await (const part of socket) answer += String(part);
  assert.match(answer, /^HTTP\/1.1 200 OK/);
  await server.close();
});

test("refuses a compressed body, and names its encoding", async () => {
  const server = await fakeServer();
  const headers = {
    authorization: bearer(),
    "content-type": "application/json",
    "content-encoding": "gzip",
  };
  const answer = await server.ask({ method: "POST", url: "/v1/chat/completions", headers, payload: "{}" });
  assert.equal(answer.statusCode, 415);
  assert.match(answer.json<ErrorBody>().error.message, /"gzip"/);
  await server.close();
});

test("serves only this machine and its own pages while authentication is off", async () => {
  const server = await fakeServer({ auth: "off" });
  const ask = async (headers: Readonly<Record<string, string>>): Promise<number> =>
    (await server.ask({ method: "GET", url: "/v1/models", headers })).statusCode;
  for (const host of ["localhost:8000", "127.0.0.1", "127.9.9.9:1", "[::1]:8000", "a.localhost"]) {
    assert.equal(await ask({ host }), 200, host);
    assert.equal(await ask({ host, origin: `http://${host}` }), 200, host);
  }
  for (const host of ["127.evil.example", "evil.example:8000", "192.168.0.1", "127.0.0.1.evil.example"]) {
    assert.equal(await ask({ host }), 403, host);
  }
  for (const origin of ["https://evil.example", "null"]) {
    assert.equal(await ask({ host: "localhost", origin }), 403, origin);
  }
  assert.equal(await ask({ host: "localhost", "sec-fetch-site": "cross-site" }), 403);
  assert.equal(await ask({ host: "localhost", "sec-fetch-site": "same-origin" }), 200);
  await server.close();
});

test("prefers the host in the request line over the Host header while authentication is off", async () => {
  const { server, port } = await listening({ auth: "off" });
  const ask = (address: string): Promise<string> =>
    exchange(port, `GET ${address} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`);
  assert.match(await ask("http://evil.example/v1/models"), /^HTTP\/1.1 403 /);
  assert.match(await ask("http://127.0.0.1:1/v1/models"), /^HTTP\/1.1 200 /);
  await server.close();
});

test("accepts any host while authentication is on, because a proxy may pass on any", async () => {
  const server = await fakeServer();
  const headers = { host: "models.example", authorization: bearer() };
  assert.equal((await server.ask({ method: "GET", url: "/v1/models", headers })).statusCode, 200);
  await server.close();
});

const shown = [
  "/metrics",
  "/v1/system-check",
  "/openapi.json",
  "/docs/",
  "/docs/json",
  "/docs/static/swagger-ui.css",
];
const local: FakeServerOptions = {
  settings: { corsOrigins: ["https://tools.example", "*"] },
  wrap: (dependencies) => ({ ...dependencies, operatorRoutes: "local" }),
};

test("requires a key on operator routes if the request's host is not this machine", async () => {
  const server = await fakeServer(local);
  const ask = (url: string, headers: Readonly<Record<string, string>>) =>
    server.app.inject({ method: "GET", url, headers });
  const own = ["localhost:8000", "127.0.0.1", "[::1]:8000", "a.localhost"];
  const foreign = ["evil.example:8000", "127.0.0.1.evil.example", "192.168.0.1", "localhost@evil.example"];
  for (const [index, url] of shown.entries()) {
    // One hook checks the host for all these routes, so one host of each kind is enough for all but the first.
    const count = index === 0 ? undefined : 1;
    for (const host of own.slice(0, count))
      assert.equal((await ask(url, { host })).statusCode, 200, `${url} of ${host}`);
    for (const host of foreign.slice(0, count)) {
      const refused = await ask(url, { host });
      assert.equal(refused.statusCode, 401, `${url} of ${host}`);
      assert.equal(refused.headers["www-authenticate"], 'Basic realm="hone", charset="UTF-8"');
      const { error, detail } = refused.json<ErrorBody>();
      assert.ok(error.message.includes(`The host ${JSON.stringify(host)} is not this machine's own`));
      assert.match(error.message, /requires a key \(http\.operatorRoutes\)\. There are no credentials/);
      assert.deepEqual(detail[0]?.loc, ["header", "host"]);
      assert.equal((await ask(url, { host, authorization: bearer("hone_guess") })).statusCode, 401);
      for (const authorization of [bearer(), basic()])
        assert.equal((await ask(url, { host, authorization })).statusCode, 200, `${url} of ${host}`);
    }
    // A request from a foreign origin requires a key. Requests from named origins and from origins on this machine do
    // not.
    const host = "localhost:8000";
    assert.equal((await ask(url, { host, origin: "https://evil.example" })).statusCode, 401, url);
    assert.equal((await ask(url, { host, origin: "null" })).statusCode, 401, url);
    assert.equal((await ask(url, { host, origin: "https://tools.example" })).statusCode, 200, url);
    assert.equal((await ask(url, { host, origin: "http://localhost:3000" })).statusCode, 200, url);
  }
  // Health probes need no key, even if a proxy passes on another host name.
  for (const url of ["/health", "/v1/health", "/ping", "/version", "/load"])
    assert.equal((await ask(url, { host: "models.example" })).statusCode, 200, url);
  await server.close();
});

test("requires a key on operator routes if the request line has a foreign host, with any Host header", async () => {
  const { server, port } = await listening(local);
  const ask = (address: string): Promise<string> =>
    exchange(port, `GET ${address} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`);
  assert.match(await ask("http://evil.example/metrics"), /^HTTP\/1.1 401 /);
  assert.match(await ask("http://localhost:1/metrics"), /^HTTP\/1.1 200 /);
  await server.close();
});

test("sends security headers for browsers with every answer", async () => {
  const server = await fakeServer();
  for (const url of ["/health", "/no/such/route", "/v1/models", "/docs/"]) {
    const { headers } = await server.ask({ method: "GET", url });
    assert.equal(headers["x-content-type-options"], "nosniff", url);
    assert.equal(headers["x-frame-options"], "DENY", url);
    assert.equal(headers["referrer-policy"], "no-referrer", url);
    assert.match(String(headers["content-security-policy"]), /default-src/, url);
  }
  await server.close();
});

test("refuses a missing file of the documentation, however its name is spelled", async () => {
  const server = await fakeServer();
  for (const name of ["nothing.js", "/etc/passwd", "%00", "..%2f..%2fpackage.json", "%zz"]) {
    const answer = await server.ask({ method: "GET", url: `/docs/static/${name}` });
    assert.ok([404, 422].includes(answer.statusCode), `${name}: ${answer.statusCode} ${answer.body}`);
    assert.equal(answer.json<ErrorBody>().detail[0]?.loc[0], "path");
  }
  await server.close();
});
