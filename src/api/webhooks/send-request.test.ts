import assert from "node:assert/strict";
import { test } from "node:test";
import { readEgressAllowlist } from "./egress-allowlist.ts";
import { sendRequest, UnreachableReceiver, type SentRequest } from "./send-request.ts";
import { nameResolver } from "./resolve-name.ts";
import { serveNames } from "./testing/name-server.ts";
import { receive } from "./testing/receiver.ts";

const never = new AbortController().signal;
const here = ["127.0.0.1"];

function check(url: string, allowed: readonly string[] = here, signal = never): Promise<SentRequest> {
  const request = { url, headers: { "webhook-id": "msg_1" }, body: '{"text":"👍"}' };
  return sendRequest(request, readEgressAllowlist(allowed), { signal });
}

test("posts JSON and returns only the first bytes of the answer", async (t) => {
  const receiver = await receive(t, (response) => {
    response.writeHead(503, { "retry-after": "120" }).end("x".repeat(10_000));
  });
  assert.deepEqual(await check(receiver.url), {
    status: 503,
    answer: "x".repeat(512),
    retryAfterSeconds: 120,
  });
  const [{ method, path, headers, body }] = receiver.received;
  assert.deepEqual([method, path, body], ["POST", "/hook", '{"text":"👍"}']);
  assert.deepEqual([headers["content-type"], headers["content-length"]], ["application/json", "15"]);
  assert.equal(headers["webhook-id"], "msg_1");
});

test("stops reading an endless answer at its limit", async (t) => {
  const receiver = await receive(t, (response) => {
    const more = (): void => void (response.destroyed || response.write("y".repeat(8192), more));
    more();
  });
  assert.equal((await check(receiver.url)).answer, "y".repeat(512));
});

test("treats a redirect as an ordinary answer, and does not follow it", async (t) => {
  const other = await receive(t);
  const receiver = await receive(t, (response) => {
    response.writeHead(307, { location: other.url }).end();
  });
  assert.equal((await check(receiver.url)).status, 307);
  assert.deepEqual(other.received, []);
});

test("sends nothing to an address that is not allowed, given literally or by name", async (t) => {
  const receiver = await receive(t);
  const byName = receiver.url.replace("127.0.0.1", "localhost");
  await assert.rejects(check(receiver.url, ["10.0.0.0/8"]), /127\.0\.0\.1 is not among the destinations/);
  await assert.rejects(check(byName, ["10.0.0.0/8"]), /localhost is not among the destinations/);
  await assert.rejects(check(byName, ["hooks.example.com"]), /localhost is not among the destinations/);
  assert.deepEqual(receiver.received, []);
  // The name localhost resolves to 127.0.0.1, which is allowed.
  assert.equal((await check(byName, ["127.0.0.1"])).status, 204);
});

test("reports an unreachable receiver, and aborts when its signal does", async (t) => {
  await assert.rejects(check("http://127.0.0.1:1/"), UnreachableReceiver);
  const silent = await receive(t, () => undefined);
  const late = new AbortController();
  const sending = check(silent.url, here, late.signal);
  await silent.came(1);
  late.abort(new UnreachableReceiver("too late"));
  await assert.rejects(sending, /too late/);
  const stuck = await receive(t, (response) => void response.writeHead(200).write("a"));
  const stopped = new AbortController();
  const reading = check(stuck.url, here, stopped.signal);
  await stuck.came(1);
  stopped.abort(new UnreachableReceiver("too late"));
  await assert.rejects(reading, /too late/);
});

test("resolves a listed name, and hides its addresses from the webhook's owner", async (t) => {
  const receiver = await receive(t);
  const server = await serveNames(t, { "here.test": ["127.0.0.1"], "stuck.test": "silent" });
  const resolve = nameResolver({ servers: [server.address], hostsFile: "/none", resolverFile: "/none" });
  const { port } = new URL(receiver.url);
  const send = (url: string, allowed: readonly string[], signal = never) =>
    sendRequest({ url, headers: {}, body: "{}" }, readEgressAllowlist(allowed), { signal, resolve });
  const here = `http://here.test:${port}/`;
  assert.equal((await send(here, ["here.test", "127.0.0.1"])).status, 204);
  const closed = "here.test resolves to no address that this server may send to (webhooks.allowed)";
  await assert.rejects(send(here, ["here.test"]), { message: closed });
  await assert.rejects(send("http://here.test:1/", ["here.test", "127.0.0.1"]), {
    message: "connect ECONNREFUSED",
  });
  await assert.rejects(send("http://none.test/", ["none.test"]), {
    constructor: UnreachableReceiver,
    message: "none.test cannot be resolved",
  });
  const late = new AbortController();
  const sending = send("http://stuck.test/", ["stuck.test"], late.signal);
  await server.came("stuck.test");
  late.abort(new UnreachableReceiver("too late"));
  await assert.rejects(sending, /too late/);
});
