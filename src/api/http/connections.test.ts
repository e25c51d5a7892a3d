import assert from "node:assert/strict";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { test, type TestContext } from "node:test";
import { bearer, fakeServer, helloBody, keys } from "./testing/fake-server.ts";

type Server = Awaited<ReturnType<typeof fakeServer>>;

async function listening(t: TestContext, connections: number): Promise<Server> {
  const server = await fakeServer({ settings: { connections } });
  t.after(() => server.close());
  await server.app.listen({ host: "127.0.0.1", port: 0 });
  return server;
}

/** Opens a connection, sends `request` and waits for the answer. Rejects if the server closes the connection first. */
async function connected(server: Server, request: string): Promise<Socket> {
  const socket = connect(Number(new URL(server.app.listeningOrigin).port), "127.0.0.1");
  socket.on("error", () => undefined).write(request);
  await new Promise<void>((resolve, reject) => {
    socket.once("data", () => resolve()).once("close", () => reject(new Error("closed unanswered")));
  });
  return socket;
}

async function closed(socket: Socket): Promise<void> {
  if (!socket.destroyed) await once(socket, "close");
}

function areOpen(...sockets: readonly Socket[]): boolean {
  return sockets.every((socket) => socket.readyState === "open");
}

const unknown = "GET /health HTTP/1.1\r\nhost: a\r\n\r\n";
const known = `GET /v1/models HTTP/1.1\r\nhost: a\r\nauthorization: ${bearer()}\r\n\r\n`;
const body = JSON.stringify({ ...helloBody, stream: true });
const stream = [
  "POST /v1/chat/completions HTTP/1.1\r\nhost: a",
  `authorization: ${bearer()}`,
  "content-type: application/json",
  `content-length: ${body.length}\r\n\r\n${body}`,
].join("\r\n");

const knownOf = (key: string): string =>
  `GET /v1/models HTTP/1.1\r\nhost: a\r\nauthorization: ${bearer(key)}\r\n\r\n`;

test("closes the oldest connection without a key if there are too many", async (t) => {
  const server = await listening(t, 5);
  const oldest = await connected(server, unknown);
  const keyed = await connected(server, known);
  const younger = await connected(server, unknown);
  assert.ok(areOpen(oldest, keyed, younger));
  const newcomer = await connected(server, unknown);
  await closed(oldest);
  assert.ok(areOpen(keyed, younger, newcomer));
  const next = await connected(server, unknown);
  await closed(younger);
  assert.ok(areOpen(keyed, newcomer, next));
});

test("limits an entity to half of the connections that others leave, and closes its own idle ones first", async (t) => {
  const server = await listening(t, 8);
  server.chat.script.hangs = true;
  const idle = await connected(server, known);
  const running = [
    await connected(server, stream),
    await connected(server, stream),
    await connected(server, stream),
  ];
  assert.ok(areOpen(idle, ...running));
  const last = await connected(server, stream);
  await closed(idle);
  const refused = connect(Number(new URL(server.app.listeningOrigin).port), "127.0.0.1");
  refused.write(known);
  let answer = "";
  for await (const piece of refused) answer += String(piece);
  assert.match(answer, /^HTTP\/1\.1 429 /, "and its connection ends");
  assert.match(answer, /The entity .+ has 4 connections, its share/);
  assert.ok(areOpen(...running, last));
  const others = await connected(server, knownOf(keys.other));
  const stranger = await connected(server, unknown);
  assert.ok(areOpen(...running, last, others, stranger));
});

test("closes no connection with a key for one without", async (t) => {
  const server = await listening(t, 6);
  const keyed = [await connected(server, known), await connected(server, knownOf(keys.other))];
  for (let count = 0; count < 20; count++) await connected(server, unknown);
  assert.ok(areOpen(...keyed));
  assert.ok(areOpen(await connected(server, knownOf(keys.other))));
});

/**
 * Opens 60 connections, then sends the request on all of them at the same time. Returns the order in which they were
 * answered, and the maximum number of answers in one iteration of the event loop.
 */
async function answersInOrder(
  server: Server,
  request: string,
): Promise<{ readonly order: readonly number[]; readonly mostInRound: number }> {
  const sockets: Socket[] = [];
  for (let count = 0; count < 60; count++) sockets.push(await connected(server, request));
  const received: ServerResponse[] = [];
  const answered: ServerResponse[] = [];
  server.app.server.on("request", (_request, response: ServerResponse) => {
    received.push(response);
    response.once("finish", () => answered.push(response));
  });
  for (const socket of sockets) socket.write(request);
  let mostInRound = 0;
  for (let before = 0; answered.length < sockets.length; before = answered.length) {
    await new Promise((resolve) => setImmediate(resolve));
    mostInRound = Math.max(mostInRound, answered.length - before);
  }
  return { order: answered.map((response) => received.indexOf(response)), mostInRound };
}

test("begins simultaneous requests of an entity in order of arrival, only a few in each round of the event loop", async (t) => {
  const server = await listening(t, 1000);
  const { order, mostInRound } = await answersInOrder(server, known);
  assert.ok(mostInRound <= 10, `${mostInRound} requests were answered in one round of the event loop`);
  assert.ok(order.indexOf(59) > order.indexOf(20), "those of an entity in the order in which they came");
});

test("begins requests without a key newest first", async (t) => {
  const server = await listening(t, 1000);
  const { order } = await answersInOrder(server, unknown);
  assert.ok(order.indexOf(59) < order.indexOf(20), order.join(" "));
});
