// Tests a server whose output is not read for a while, as with a paused pager or a blocked log driver. The server still
// answers, trains and stops. Afterwards it reports the number of lost log lines.
import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import {
  call,
  eventually,
  newDataFolder,
  removeDataFolder,
  startServer,
  type RunningServer,
} from "./running-server.ts";
import { finish, model, registerModel, submitJob } from "./served-jobs.ts";

const missing = "log lines are missing here";

/** Sends many requests over one connection until log lines are dropped. */
async function fillLog(server: RunningServer): Promise<void> {
  const before = await droppedCount(server);
  for (let round = 0; (await droppedCount(server)) === before; round++) {
    assert.ok(round < 100, "the log is still being read");
    await askForHealth(server, 500);
  }
}

async function askForHealth(server: RunningServer, count: number): Promise<void> {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  const request = `GET /health HTTP/1.1\r\nHost: ${hostname}\r\nX-Request-Id: ${"i".repeat(128)}\r\n`;
  socket.write(`${request}\r\n`.repeat(count - 1));
  // Makes the server close the connection after its last answer.
  socket.write(`${request}Connection: close\r\n\r\n`);
  let answers = "";
  for await (const part of socket.setEncoding("utf8")) answers += part;
  assert.equal(answers.split("HTTP/1.1 200").length - 1, count);
}

async function droppedCount(server: RunningServer): Promise<number> {
  const { body } = await call(server, "GET", "/metrics");
  return Number(/^hone_log_lines_dropped_total (\d+)$/m.exec(body)?.[1]);
}

function setReading(server: RunningServer, isReading: boolean): void {
  for (const stream of [server.process.stdout, server.process.stderr])
    if (isReading) stream?.resume();
    else stream?.pause();
}

test("a server whose log is not read answers, chats, trains and stops, and reports the lost lines", async (t) => {
  const dataFolder = newDataFolder();
  const flags = [...model, "--log-level", "info", "--log-format", "json"];
  const server = await startServer({ dataFolder, flags });
  t.after(async () => {
    setReading(server, true);
    await server.kill();
    removeDataFolder(dataFolder);
  });
  const modelId = await registerModel(server, "unread");

  setReading(server, false);
  await fillLog(server);
  assert.equal((await call(server, "GET", "/health")).status, 200);
  await finish(server, await submitJob(server, modelId, 1));

  setReading(server, true);
  const count = await eventually("the gap is announced", async () => {
    const counts = [...server.output().matchAll(new RegExp(`"count":(\\d+),"msg":"${missing}`, "g"))];
    const sum = counts.reduce((total, [, found]) => total + Number(found), 0);
    return sum === (await droppedCount(server)) ? sum : null;
  });
  assert.ok(count > 0);

  setReading(server, false);
  await fillLog(server);
  server.process.kill("SIGTERM");
  await eventually("the server ends", async () => (server.process.exitCode === null ? null : true));
  assert.equal(server.process.exitCode, 0);
});
