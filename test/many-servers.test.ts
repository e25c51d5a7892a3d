// Tests several servers on one PostgreSQL database as users run them. Each has its own data folder, and all share a
// folder for adapters and files. All servers must see each other's changes.
import assert from "node:assert/strict";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Client } from "pg";
import { hashSecret } from "../src/base/domain/access.ts";
import { newUuid } from "../src/base/domain/random.ts";
import { sampleKey } from "../src/store/database/contract/storage-under-test.ts";
import { withoutPostgres } from "../src/store/database/testing/postgres-databases.ts";
import { call, eventually, newDataFolder, removeDataFolder, type RunningServer } from "./running-server.ts";
import { finish, firstStep, registerModel, stepsOf, submitJob } from "./served-jobs.ts";
import { adminKey, answerOf, ask, question, shared } from "./several-servers.ts";

test(
  "servers share a database and a folder: some only serve, and others only train",
  { skip: withoutPostgres },
  async (t) => {
    const { url, folder, stores, start } = await shared(t);
    const servers = await Promise.all([start("--roles", "serve"), start("--roles", "serve")]);
    const [one, other] = servers;
    const modelId = await registerModel(one, "learner");
    // No server trains yet, so the streams of job events do not end.
    const jobId = await submitJob(one, modelId, 2);
    let repeated = "";

    await t.test("servers run a repeated request once, and read each other's files", async () => {
      const { choices } = await ask(one, "POST", "/v1/chat/completions", {
        model: modelId,
        messages: [question],
        n: 2,
        max_tokens: 8,
        seed: 1,
      });
      const trajectories = choices.map((choice: unknown, reward: number) => ({
        messages_and_choices: [question, choice],
        reward,
      }));
      const job = { model_id: modelId, trajectory_groups: [{ trajectories }] };
      const submit = async (server: RunningServer): Promise<string> => {
        const headers = { "idempotency-key": "once" };
        const { status, body } = await call(server, "POST", "/v1/preview/training-jobs", {
          body: job,
          headers,
        });
        assert.equal(status, 200, JSON.stringify(body));
        return body.id;
      };
      const ids = await Promise.all([one, other, one, other].map(submit));
      assert.equal(new Set(ids).size, 1);
      repeated = ids[0];

      const form = new FormData();
      const text = JSON.stringify({ messages: [question, { role: "assistant", content: "The first." }] });
      form.set("purpose", "fine-tune");
      form.set("file", new Blob([text]), "conversations.jsonl");
      const headers = { authorization: `Bearer ${adminKey}` };
      const uploaded = await fetch(`${one.url}/v1/files`, { method: "POST", headers, body: form });
      const { id } = (await uploaded.json()) as { readonly id: string };
      const read = await fetch(`${other.url}/v1/files/${id}/content`, { headers });
      assert.equal(await read.text(), text);
    });

    await t.test("a server with another adapter folder is refused", async () => {
      const elsewhere = newDataFolder();
      t.after(() => removeDataFolder(elsewhere));
      await assert.rejects(start("--blobs", elsewhere), /one folder \(HONE_BLOBS\)/);
    });

    await t.test(
      "every server refuses a revoked key, and ends the running requests that use it",
      async () => {
        const secret = "hone_that_is_revoked";
        await stores.keys.create(sampleKey("k", { entity: "local", secretHash: hashSecret(secret) }));
        const withKey = servers.map((server) => ({ ...server, apiKey: secret }));
        const streams = await Promise.all(
          withKey.map(({ url }) =>
            fetch(`${url}/v1/preview/training-jobs/${jobId}/events`, {
              headers: { authorization: `Bearer ${secret}`, accept: "text/event-stream" },
            }),
          ),
        );
        for (const { status } of streams) assert.equal(status, 200);
        await stores.keys.revoke("k", new Date());
        for (const server of withKey) assert.equal((await call(server, "GET", "/v1/models")).status, 401);
        for (const stream of streams) assert.match(await stream.text(), /This key was revoked/);
      },
    );

    await t.test(
      "changes of a key on one server apply to the others: its scopes, a new secret, and its deletion",
      async () => {
        const { id, key: first } = await ask(one, "POST", "/v1/preview/keys", { entity: "local" });
        const statuses = (apiKey: string, method: string, path: string, body?: unknown): Promise<number[]> =>
          Promise.all(
            servers.map(async (server) => (await call({ ...server, apiKey }, method, path, { body })).status),
          );
        assert.deepEqual(await statuses(first, "GET", "/v1/models"), [200, 200]);
        await ask(other, "POST", `/v1/preview/keys/${id}`, { scopes: ["train"] });
        const chat = { messages: [question], max_tokens: 1 };
        assert.deepEqual(await statuses(first, "POST", "/v1/chat/completions", chat), [403, 403]);

        const rotated = await ask(one, "POST", `/v1/preview/keys/${id}/rotate`, { grace_seconds: 0 });
        assert.deepEqual(await statuses(first, "GET", "/v1/preview/training-jobs"), [401, 401]);
        assert.deepEqual(await statuses(rotated.key, "GET", "/v1/preview/training-jobs"), [200, 200]);

        const streams = await Promise.all(
          servers.map(({ url }) =>
            fetch(`${url}/v1/preview/training-jobs/${jobId}/events`, {
              headers: { authorization: `Bearer ${rotated.key}`, accept: "text/event-stream" },
            }),
          ),
        );
        for (const { status } of streams) assert.equal(status, 200);
        await stores.keys.change(id, { expiresAt: new Date(0) });
        assert.deepEqual(await statuses(rotated.key, "GET", "/v1/preview/training-jobs"), [401, 401]);
        for (const stream of streams) assert.match(await stream.text(), /was revoked or has expired/);
      },
    );

    const training = await start("--roles", "train");
    await t.test("a server that only trains takes no requests, and others serve its versions", async () => {
      assert.equal((await ask(training, "GET", "/health")).state, "ready");
      const refused = await call(training, "GET", "/v1/models");
      assert.equal(refused.status, 503);
      assert.match(refused.body.error.message, /only trains/);
      for (const job of [jobId, repeated]) await finish(one, job);
      const answers = await Promise.all(servers.map((server) => answerOf(server, modelId)));
      assert.deepEqual(answers[0], answers[1]);
      assert.match(JSON.stringify(answers[0]), new RegExp(`${modelId}:step2`));
      for (const server of servers) await ask(server, "GET", "/v1/system-check");
    });

    const jobs = [await submitJob(one, modelId, 24), await submitJob(one, modelId, 2)];
    await firstStep(one, jobs[0]);
    // Simulates the files of a server that dies while it writes.
    const left = join(folder, "work", newUuid());
    mkdirSync(join(left, "half-written"), { recursive: true });
    await training.kill();
    const second = await start("--roles", "train");
    await t.test(
      "when a server is killed during training, another one finishes the job, and versions stay consecutive",
      async () => {
        for (const job of jobs) await finish(one, job);
        await eventually("what a dead one left is removed", async () => (existsSync(left) ? null : true));
        assert.deepEqual(await stepsOf(one, modelId), [0, 1, 2, 3, 4]);
        await eventually("it is well", async () =>
          (await call(one, "GET", "/v1/system-check")).status === 200 ? true : null,
        );
      },
    );

    await t.test(
      "servers stop after a newer program migrates their database, and training continues on another server",
      async () => {
        const answer = await answerOf(one, modelId);
        const job = await submitJob(one, modelId, 24);
        await firstStep(one, job);
        const database = new Client(url);
        await database.connect();
        try {
          await database.query(
            "update database_version set version = version + 1, serves_from = version + 1",
          );
          for (const older of [...servers, second]) {
            await eventually("it ends", async () => older.process.exitCode);
            assert.equal(older.process.exitCode, 1);
            assert.match(older.output(), /A newer program migrated the database to version \d+/);
          }
          await assert.rejects(start(), /The database has version \d+, but this program knows only up to/);
          await database.query(
            "update database_version set version = version - 1, serves_from = version - 1",
          );
        } finally {
          await database.end();
        }
        const newer = await start();
        await finish(newer, job);
        assert.deepEqual(await stepsOf(newer, modelId), [0, 1, 2, 3, 4, 5]);
        assert.deepEqual(await answerOf(newer, `${modelId}:step4`), answer);
      },
    );
  },
);
