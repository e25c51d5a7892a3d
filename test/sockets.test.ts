// Tests a server that may open only a few files, while clients without a key keep connections open by sending almost
// nothing.
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { exchange } from "./fuzz/raw-exchange.ts";
import { call, eventually, newDataFolder, removeDataFolder, startServer } from "./running-server.ts";
import { model } from "./served-jobs.ts";

const openFilesMax = 600;
const dripperCount = 900;
const requestSeconds = 5;
const healthQuestion = Buffer.from("GET /health HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");

/**
 * Opens a connection and sends an incomplete request, one byte per second: either without the end of its headers, or
 * with a wrong key and an incomplete body.
 */
async function drip(port: number, index: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => undefined);
  const head = "POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-length: 100000\r\n";
  socket.write(index % 5 > 0 ? head : `${head}authorization: Bearer wrong\r\n\r\n{`);
  const timer = setInterval(() => socket.write("x"), 1000);
  socket.once("close", () => clearInterval(timer)).resume();
  await once(socket, "connect");
  return socket;
}

test("with 900 dripping connections without a key and 600 allowed files, health and chats are answered, and all these connections are closed", async (t) => {
  if (process.platform === "win32") return t.skip("there is no shell to set the limit");
  const dataFolder = newDataFolder();
  const limits = { http: { requestSeconds, failedLoginsPerMinute: 1000 } };
  const server = await startServer({ dataFolder, flags: model, limits, openFilesMax });
  try {
    const port = Number(new URL(server.url).port);
    const drippers = await Promise.all(Array.from({ length: dripperCount }, (_, index) => drip(port, index)));
    const begin = performance.now();
    let answerCount = 0;
    while (performance.now() - begin < requestSeconds * 1000) {
      const health = await exchange(healthQuestion, {
        port,
        method: "GET",
        endsEarly: false,
        deadlineMs: 5000,
      });
      assert.ok(typeof health !== "string" && health.status === 200, `after ${answerCount} answers`);
      answerCount += 1;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const chat = { model: "tiny", messages: [{ role: "user", content: "hi" }], max_tokens: 2 };
    assert.equal((await call(server, "POST", "/v1/chat/completions", { body: chat })).status, 200);
    await eventually("all are closed", async () =>
      drippers.every((socket) => socket.readyState === "closed") ? true : null,
    );
    assert.ok(answerCount > 10);
    assert.doesNotMatch(server.output(), /EMFILE|"level":50/);
  } finally {
    await server.kill();
    removeDataFolder(dataFolder);
  }
});
