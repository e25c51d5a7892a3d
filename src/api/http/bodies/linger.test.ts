// Refusals of requests with a large body, sent before the whole body has arrived.
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test, type TestContext } from "node:test";
import { newUuid } from "../../../base/domain/random.ts";
import { bearer, fakeServer, keys } from "../testing/fake-server.ts";

async function listening(t: TestContext) {
  const server = await fakeServer();
  t.after(() => server.close());
  const url = await server.app.listen({ port: 0, host: "127.0.0.1" });
  return { url, path: `/v1/preview/models/${newUuid()}/checkpoints` };
}

/**
 * Sends the whole request before it reads the answer, as simple clients do. Returns the status line, or the
 * connection's error.
 */
async function sendThenRead(url: string, path: string, byteCount: number): Promise<string> {
  const socket = connect({ port: Number(new URL(url).port), host: "127.0.0.1" });
  const failed = new Promise<string>((resolve) => socket.once("error", (error) => resolve(String(error))));
  const head = [
    `POST ${path} HTTP/1.1`,
    "host: 127.0.0.1",
    `authorization: ${bearer(keys.member)}`,
    "content-type: application/x-tar",
    `content-length: ${byteCount}`,
  ];
  socket.pause();
  socket.write(`${head.join("\r\n")}\r\n\r\n`);
  const sent = new Promise<void>((resolve) => socket.write(Buffer.alloc(byteCount), () => resolve()));
  const read = async (): Promise<string> => {
    await sent;
    let text = "";
    socket.on("data", (piece) => (text += String(piece)));
    socket.resume();
    await once(socket, "end");
    return text;
  };
  const answer = await Promise.race([failed, read()]);
  socket.destroy();
  return answer.split("\r\n", 1)[0] ?? "";
}

test("delivers the refusal to a client that sends its whole body before it reads", async (t) => {
  const { url, path } = await listening(t);
  const answers = await Promise.all(Array.from({ length: 4 }, () => sendThenRead(url, path, 16 << 20)));
  assert.deepEqual([...new Set(answers)], ["HTTP/1.1 404 Not Found"]);
});
