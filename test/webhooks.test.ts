// Tests webhooks as a user runs them: with the receiver of docs/guides/webhooks.md, and with a server that is killed.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test, type TestContext } from "node:test";
import { receive } from "../src/api/webhooks/testing/receiver.ts";
import { call, newDataFolder, removeDataFolder, startServer, type RunningServer } from "./running-server.ts";
import { inProof } from "../src/base/domain/testing/search.ts";

const flags = ["--webhooks-allowed", "127.0.0.1"];

/** A running program; its output is read line by line. */
interface Program {
  /** Returns the first line that matches; waits for it if it is not printed yet. */
  line(pattern: RegExp): Promise<string>;
}

function runReceiver(t: TestContext, secret: string): Program {
  const [, code = ""] = /^```js\n(.*?)^```/ms.exec(readFileSync("docs/guides/webhooks.md", "utf8")) ?? [];
  const folder = mkdtempSync(join(tmpdir(), "hone-receiver-"));
  writeFileSync(join(folder, "receiver.mjs"), code);
  const environment = { ...process.env, WEBHOOK_SECRET: secret, PORT: "0" };
  const child = spawn(process.execPath, [join(folder, "receiver.mjs")], {
    env: environment,
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => {
    child.kill();
    rmSync(folder, { recursive: true });
  });
  const lines: string[] = [];
  const reader = createInterface({ input: child.stdout });
  reader.on("line", (line) => lines.push(line));
  return {
    line: async (pattern) => {
      for (;;) {
        const found = lines.find((line) => pattern.test(line));
        if (found !== undefined) return found;
        await new Promise((resolve) => reader.once("line", resolve));
      }
    },
  };
}

async function write(server: RunningServer, ...ids: readonly string[]): Promise<void> {
  const batch = ids.map((id) => ({
    id,
    project_id: "local/p",
    vendor_ref: "w:///local/p/call/1",
    feedback_type: "score",
    payload: { value: 1 },
  }));
  const { status } = await call(server, "POST", "/feedback/batch/create", {
    body: { batch },
    scheme: "Basic",
  });
  assert.equal(status, 200);
}

async function hook(server: RunningServer, url: string, more: object = {}): Promise<any> {
  const body = { url, events: ["feedback.created", "feedback.purged"], ...more };
  const { status, body: webhook } = await call(server, "POST", "/v1/preview/webhooks", { body });
  assert.equal(status, 200, JSON.stringify(webhook));
  return webhook;
}

test("the receiver of docs/guides/webhooks.md accepts only authentic events", async (t) => {
  const dataFolder = newDataFolder();
  t.after(() => removeDataFolder(dataFolder));
  const server = await startServer({ dataFolder, flags });
  const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
  const program = runReceiver(t, secret);
  const port = (await program.line(/^listening on/)).split(" ").at(-1);
  const url = `http://127.0.0.1:${port}/`;
  const other = await hook(server, url);
  await hook(server, url, { secret });
  await write(server, "a", "b");
  assert.equal(await program.line(/^feedback\.created/), 'feedback.created ["a","b"]');
  // Waits for the delivery to the other webhook, whose secret differs from the receiver's.
  for (;;) {
    const { body } = await call(server, "GET", `/v1/preview/webhooks/${other.id}/deliveries`);
    const [{ attempts, state }] = body.data;
    assert.equal(state, "pending");
    if (attempts.length === 0) continue;
    assert.equal(attempts[0].status, 401);
    break;
  }
  await server.terminate();
});

test("the event of every acknowledged record arrives, even if the server is killed", inProof, async (t) => {
  const dataFolder = newDataFolder();
  t.after(() => removeDataFolder(dataFolder));
  const told = new Set<string>();
  // Among the first requests, the receiver refuses every second one. It records every fourth one, but breaks the
  // connection instead of responding.
  let count = 0;
  const receiver = await receive(t, (response, { body }) => {
    count += 1;
    const isRough = count < 40;
    if (isRough && count % 2 === 0) {
      response.writeHead(500).end();
      return;
    }
    for (const id of JSON.parse(body).data.ids) told.add(id);
    if (isRough && count % 4 === 1) response.destroy();
    else response.writeHead(204).end();
  });
  const acknowledged: string[] = [];
  let server = await startServer({ dataFolder, flags });
  await hook(server, receiver.url, { records_max: 3 });
  for (let round = 0; round < 3; round++) {
    const dying = server;
    const writing = Array.from({ length: 6 }, async (_, writer) => {
      for (let index = 0; index < 1000; index++) {
        const ids = [0, 1, 2, 3].map((part) => `${round}-${writer}-${index}-${part}`);
        await write(dying, ...ids);
        acknowledged.push(...ids);
      }
    });
    const killed = receiver.came(receiver.received.length + 3 + round).then(() => dying.kill());
    await Promise.allSettled(writing);
    await killed;
    server = await startServer({ dataFolder, flags });
  }
  assert.ok(acknowledged.length > 0);
  while (acknowledged.some((id) => !told.has(id))) await receiver.came(receiver.received.length + 1);
  const { body } = await call(server, "GET", "/v1/preview/webhooks");
  assert.equal(body.data[0].enabled, true);
  await server.terminate();
});
