// Tests the audit log of a running server. The log is complete after a kill. While the log cannot be written, the
// server refuses changes.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, renameSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  call,
  eventually,
  newDataFolder,
  removeDataFolder,
  startServer,
  type RunningServer,
} from "./running-server.ts";
import { model } from "./served-jobs.ts";

const createKey = (server: RunningServer) =>
  call(server, "POST", "/v1/preview/keys", { body: { entity: "alpha", role: "member" } });

test("the audit log of a server", async (t) => {
  const dataFolder = newDataFolder();
  const server = await startServer({ dataFolder, flags: model });
  t.after(async () => {
    await server.kill();
    removeDataFolder(dataFolder);
  });

  await t.test(
    "while it cannot be written, refuses changes, serves the rest, and recovers automatically",
    async () => {
      assert.equal((await createKey(server)).status, 200);
      const file = join(dataFolder, "audit.jsonl");
      renameSync(file, join(dataFolder, "audit-before"));
      mkdirSync(file);
      const refused = await createKey(server);
      assert.equal(refused.status, 503);
      assert.match(refused.body.error.message, /audit log of the server cannot be written/);
      assert.match(server.output(), /the audit log cannot be written/);
      const { body: listed } = await call(server, "GET", "/v1/preview/keys");
      assert.equal(listed.data.filter((key: { entity: string }) => key.entity === "alpha").length, 1);
      const metrics = await call(server, "GET", "/metrics");
      assert.match(String(metrics.body), /^hone_audit_log_failing 1$/m);
      const feedback = {
        project_id: "alpha/p",
        weave_ref: "weave:///alpha/p/call/1",
        feedback_type: "t",
        payload: {},
      };
      const recorded = await call(server, "POST", "/feedback/create", { scheme: "Basic", body: feedback });
      assert.equal(recorded.status, 200, JSON.stringify(recorded.body));
      rmdirSync(file);
      await eventually("a key is made again", async () =>
        (await createKey(server)).status === 200 ? true : null,
      );
      const lines = readFileSync(file, "utf8").trimEnd().split("\n");
      const said = lines.map((line) => JSON.parse(line) as { action: string; outcome: string });
      assert.ok(said.some(({ action, outcome }) => action === "POST /feedback/create" && outcome === "200"));
    },
  );

  await t.test("after a kill, it contains a line for every acknowledged key", async () => {
    const acknowledged: string[] = [];
    const kills: Promise<void>[] = [];
    const createKeys = async (): Promise<void> => {
      while (kills.length === 0) {
        const { status, headers } = await createKey(server);
        assert.equal(status, 200);
        acknowledged.push(headers.get("x-request-id") ?? "none");
        if (acknowledged.length >= 100 && kills.length === 0) kills.push(server.kill());
      }
    };
    const ends = await Promise.allSettled(Array.from({ length: 8 }, createKeys));
    await Promise.all(kills);
    // Only requests that the kill interrupted may have no answer.
    for (const end of ends)
      if (end.status === "rejected") assert.match(String(end.reason), /fetch failed|terminated/);
    assert.ok(acknowledged.length >= 100);
    const text = readFileSync(join(dataFolder, "audit.jsonl"), "utf8");
    // The kill may leave the last line incomplete, so it is ignored.
    const lines = text.split("\n").slice(0, -1);
    const audited = new Set(
      lines
        .map((line) => JSON.parse(line) as { action: string; outcome: string; request_id: string | null })
        .filter(({ action, outcome }) => action === "POST /v1/preview/keys" && outcome === "200")
        .map(({ request_id: requestId }) => requestId),
    );
    assert.deepEqual(
      acknowledged.filter((id) => !audited.has(id)),
      [],
    );
  });
});
