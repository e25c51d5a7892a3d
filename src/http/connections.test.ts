import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { test, type TestContext } from "node:test";
import { bearer, fakeServer, helloBody } from "./testing/fake-server.ts";

type Server = Awaited<ReturnType<typeof fakeServer>>;

async function listening(t: TestContext, connections: number): Promise<Server> {
  const server = await fakeServer({ settings: { connections } });
  t.after(() => server.close());
  await server.app.listen({ host: "127.0.0.1", port: 0 });
  return server;
}

/** A connection that the server has seen, since it answered there; rejects when it is closed instead. */
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

test("one connection too many closes the oldest that showed no key", async (t) => {
  const server = await listening(t, 3);
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

test("where all showed a key, the one that has been idle longest goes, and none that is at work", async (t) => {
  const server = await listening(t, 2);
  server.chat.script.hangs = true;
  const idle = await connected(server, known);
  const running = await connected(server, stream);
  const other = await connected(server, stream);
  await closed(idle);
  await assert.rejects(connected(server, known), /closed unanswered/);
  assert.ok(areOpen(running, other));
});
