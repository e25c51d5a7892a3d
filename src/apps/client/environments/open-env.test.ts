// Tests sessions with OpenEnv environments. Some tests replay messages of OpenEnv's own server, recorded by
// tools/conformance/openenv/record.py; others use faulty servers.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test, type TestContext } from "node:test";
import { WebSocket } from "undici";
import { fakePlatform } from "../testing/fake-platform.ts";
import { startSocketServer, type Listener, type SocketServer } from "../testing/socket-server.ts";
import { openEnv, type OpenEnv, type OpenEnvOptions } from "./open-env.ts";

interface Exchange {
  readonly request: unknown;
  readonly answer: string;
}

const folder = "test/fixtures/openenv";
const exchanges = readFileSync(`${folder}/spelling.jsonl`, "utf8")
  .trim()
  .split("\n")
  // Safe cast: the recorder wrote these lines.
  .map((line) => JSON.parse(line) as Exchange);
const schema = readFileSync(`${folder}/schema.json`, "utf8");

async function served(
  t: TestContext,
  connect: () => Listener,
  pages?: Readonly<Record<string, string>>,
): Promise<SocketServer> {
  const server = await startSocketServer(connect, pages);
  t.after(() => server.close());
  return server;
}

function open(url: string, options: OpenEnvOptions = {}): Promise<OpenEnv> {
  return openEnv(url, { webSocket: WebSocket, ...options });
}

/** Answers each request with this text. If the text is null, gives no answer. */
const answering = (text: string | null) => (): Listener => ({
  received: (_, socket) => {
    if (text !== null) socket.send(text);
  },
});

test("sends the requests of OpenEnv's own client, and reads the answers of its server", async (t) => {
  const received: unknown[] = [];
  const server = await served(
    t,
    () => ({
      received: (text, socket) => {
        const { answer } = exchanges[received.length] ?? {};
        received.push(JSON.parse(text));
        if (answer !== undefined && received.length < exchanges.length) socket.send(answer);
      },
    }),
    { "/schema": schema },
  );
  const env = await open(`${server.url}/`);
  const first = await env.reset({ seed: 1 });
  assert.deepEqual(first, {
    observation: { metadata: {}, prompt: "spell hospital" },
    reward: null,
    done: false,
    metadata: {},
  });
  const second = await env.step({ answer: "h-o-s-p-i-t-a-l" });
  assert.deepEqual([second.reward, second.done], [0.5, false]);
  await assert.rejects(env.step({ wrong: 1 }), {
    code: "validation_error",
    message:
      "The environment reports validation_error: Invalid message (answer: Field required; wrong: Extra inputs are not permitted)",
  });
  assert.deepEqual(await env.state(), { episode_id: null, step_count: 1 });
  const last = await env.step({ answer: "no" });
  assert.deepEqual([last.reward, last.done], [0, true]);
  await assert.rejects(env.step({ answer: "no" }), { code: "execution_error", message: /not enough values/ });
  assert.deepEqual(await env.schema(), JSON.parse(schema));
  await env.close();
  await env.close();
  const sent = exchanges.flatMap(({ request }) => (request === null ? [] : [request]));
  assert.deepEqual(received, [...sent, { type: "close" }]);
  assert.deepEqual(server.paths, ["/ws"]);
});

test("reports that the environment has no free session, which the server says before the first request", async (t) => {
  const { answer = "" } = exchanges.at(-1) ?? {};
  const server = await served(t, () => ({
    opened: (socket) => {
      socket.send(answer);
      socket.close();
    },
    received: () => {},
  }));
  const env = await open(server.url);
  await assert.rejects(env.reset(), { code: "capacity_reached", message: /16\/16 sessions.*concurrency/ });
});

test("ends the session at an answer that is malformed, too long or of another type", async (t) => {
  const cases: readonly (readonly [answer: string, fault: RegExp])[] = [
    ["{", /is not JSON: \{/],
    ["[]", /is not a JSON object/],
    ["{}", /no type or no data/],
    ['{"type":"state","data":{}}', /"state" instead of observation/],
    ["x".repeat(70_000), /70000 characters.*messageLengthMax is 65536/],
  ];
  for (const [answer, message] of cases) {
    const server = await served(t, answering(answer));
    const env = await open(server.url, { messageLengthMax: 65_536 });
    await assert.rejects(env.reset(), { name: "HoneError", code: "malformed", message });
    await assert.rejects(env.reset(), { code: "malformed", message }, "the session has ended");
  }
});

test("refuses a step without an observation, or whose reward is no number", async (t) => {
  for (const data of [{}, { observation: {}, reward: "1" }, { observation: {}, done: 1 }]) {
    const server = await served(t, answering(JSON.stringify({ type: "observation", data })));
    const env = await open(server.url);
    await assert.rejects(env.step({}), { code: "malformed", message: /reward that is no number/ });
    await env.close();
  }
});

test("counts a reward of true as 1", async (t) => {
  const data = { observation: {}, reward: true, done: true, metadata: { moves: 3 } };
  const server = await served(t, answering(JSON.stringify({ type: "observation", data })));
  const env = await open(server.url);
  assert.deepEqual(await env.reset(), { observation: {}, reward: 1, done: true, metadata: { moves: 3 } });
  await env.close();
});

test("gives up at the timeout, and reports a lost connection and a missing server", async (t) => {
  const silent = await served(t, answering(null));
  const late = async (): Promise<unknown> => (await open(silent.url, { timeout: 1 })).reset();
  await assert.rejects(late, { code: "timeout", message: /no answer within 1 ms/ });
  const cutting = await served(t, () => ({ received: (_, socket) => socket.cut() }));
  const env = await open(cutting.url);
  await assert.rejects(env.reset(), { code: "connection", message: /Check that its server is running/ });
  await env.close();
  await cutting.close();
  await assert.rejects(open(cutting.url), { code: "connection" });
  await assert.rejects(env.schema(), { code: "connection", message: /127\.0\.0\.1/ });
});

test("ends the session when the signal aborts", async (t) => {
  const server = await served(t, answering(null));
  const stop = new AbortController();
  const env = await open(server.url, { signal: stop.signal });
  const running = env.reset();
  stop.abort(new Error("no longer needed"));
  await assert.rejects(running, { message: "no longer needed" });
  await assert.rejects(env.state(), { message: "no longer needed" });
  await assert.rejects(open(server.url, { signal: stop.signal }), { message: "no longer needed" });
});

test("refuses a call before the previous one has its answer, and after the end", async (t) => {
  const server = await served(t, answering(null));
  const env = await open(server.url);
  const running = env.reset();
  await assert.rejects(env.step({}), { code: "invalid", message: /await each call/ });
  const ended = assert.rejects(running, { code: "connection", message: /is closed/ });
  await env.close();
  await ended;
  await assert.rejects(env.state(), { code: "connection", message: /is closed/ });
});

test("reports the status of a server that publishes no schemas", async (t) => {
  const server = await served(t, answering(null));
  const env = await open(server.url);
  await assert.rejects(env.schema(), {
    status: 404,
    message: /404: no such page/,
  });
  await env.close();
});

test("accepts addresses with the scheme ws and with /ws at the end", async (t) => {
  const server = await served(t, answering(null));
  for (const url of [server.url.replace("http", "ws"), `${server.url}/env/ws/`])
    await (await open(url)).close();
  assert.deepEqual(server.paths, ["/ws", "/env/ws"]);
});

test("refuses invalid options and addresses, and a platform without WebSocket, by name", async () => {
  const url = "http://127.0.0.1:1";
  await assert.rejects(open("nowhere"), { param: "url", message: /"nowhere" is no address/ });
  await assert.rejects(open(`${url}/?a=1`), { param: "url" });
  await assert.rejects(open(url, { timeout: 0 }), { param: "timeout", message: /whole number from 1 to/ });
  await assert.rejects(open(url, { messageLengthMax: 0.5 }), { param: "messageLengthMax" });
  // Safe cast: checks an option that the type refuses.
  await assert.rejects(open(url, { timeOut: 1 } as OpenEnvOptions), { message: /did you mean timeout/ });
  await assert.rejects(openEnv(url, {}, fakePlatform()), { param: "webSocket", message: /Node 22/ });
});
