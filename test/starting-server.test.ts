// Tests how commands and clients behave while a server is starting, and when its port is in use.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { putHoneInto } from "./hone-command.ts";

const folder = mkdtempSync(join(tmpdir(), "hone-starting-"));
after(() => rmSync(folder, { recursive: true, maxRetries: 5 }));
const hone = join(putHoneInto(join(folder, "bin")), "hone");

/** Occupies a port of the loopback address. */
async function taken(): Promise<{ readonly port: number; readonly free: () => Promise<void> }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // Safe cast: a server that listens on a port has an address with a port.
  const { port } = server.address() as AddressInfo;
  return { port, free: () => new Promise((resolve) => server.close(() => resolve())) };
}

test("a port in use is reported in one line with the remedy, at any log level, before anything is loaded", async () => {
  const { port, free } = await taken();
  const words = ["serve", "--port", `${port}`, "--data", join(folder, "taken")];
  const { status, stdout, stderr } = spawnSync(hone, words, { encoding: "utf8" });
  await free();
  assert.deepEqual([status, stdout], [1, ""]);
  assert.equal(
    stderr,
    `hone: Port ${port} of 127.0.0.1 is in use; stop the program that has it, or choose another with --port.\n`,
  );
});

test("a starting server answers every client with its state and never closes the connection without an answer", async () => {
  const { port, free } = await taken();
  await free();
  const url = `http://127.0.0.1:${port}`;
  const words = ["serve", "--port", `${port}`, "--data", join(folder, "up"), "--auth", "off"];
  const server = spawn(hone, words, { stdio: "ignore" });
  const ended = new Promise((resolve) => server.once("exit", resolve));
  const body = JSON.stringify({ messages: [{ role: "user", content: "hello" }], max_tokens: 1 });
  const headers = { "content-type": "application/json" };
  const reasons = new Set<string>();
  const states = new Set<string>();
  let hasAnswered = false;
  try {
    for (;;) {
      await setTimeout(20);
      const answer = await fetch(`${url}/v1/chat/completions`, { method: "POST", headers, body }).catch(
        (error: unknown) => {
          assert.ok(!hasAnswered, `a connection was refused after one was answered: ${String(error)}`);
          return null;
        },
      );
      if (answer === null) continue;
      hasAnswered = true;
      if (answer.status === 200) break;
      assert.equal(answer.status, 503);
      assert.ok(Number(answer.headers.get("retry-after")) > 0);
      assert.ok(answer.headers.get("x-request-id"));
      const { error } = (await answer.json()) as { error: { message: string; code: string } };
      assert.equal(error.code, "unavailable");
      reasons.add(error.message);
      const health = await fetch(`${url}/health`);
      const { state, reason } = (await health.json()) as { state: string; reason: string };
      if (health.status === 503) states.add(`${state}: ${reason}`);
    }
  } finally {
    server.kill("SIGTERM");
    await ended;
  }
  assert.deepEqual(
    [...reasons].filter(
      (reason) => !/^The server is starting: .*|^The model hone-tiny is loading; /.test(reason),
    ),
    [],
  );
  assert.ok(reasons.size > 0 && states.size > 0, "it was asked while it started");
  assert.ok([...states].every((state) => state.startsWith("starting: ")));
});
