// Tests several servers on one PostgreSQL database that store adapters and files in a bucket of a third-party object
// store.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { inProof } from "../src/base/domain/testing/search.ts";
import { type BucketServer, startBucketServer } from "../src/store/artifacts/testing/bucket-server.ts";
import { withoutPostgres } from "../src/store/database/testing/postgres-databases.ts";
import { call, eventually, type RunningServer } from "./running-server.ts";
import { finish, firstStep, registerModel, stepsOf, submitJob } from "./served-jobs.ts";
import { adminKey, answerOf, ask, shared } from "./several-servers.ts";

async function withBucket(
  t: TestContext,
): Promise<{ readonly store: BucketServer } & Awaited<ReturnType<typeof shared>>> {
  const store = await startBucketServer();
  t.after(() => store.close());
  const { bucket, prefix, endpoint } = store.newPlace();
  process.env["AWS_ENDPOINT_URL"] = endpoint ?? "";
  return { store, ...(await shared(t, `s3://${bucket}/${prefix}`)) };
}

const isWell = (server: RunningServer): Promise<true> =>
  eventually("it is well", async () =>
    (await call(server, "GET", "/v1/system-check")).status === 200 ? true : null,
  );

test(
  "servers with a common bucket share files and serve each other's versions, even those of a server that died",
  { skip: inProof.skip || withoutPostgres },
  async (t) => {
    const { start } = await withBucket(t);
    const [one, other] = await Promise.all([start(), start()]);
    const modelId = await registerModel(one, "learner");
    await finish(other, await submitJob(other, modelId, 2));
    const answers = await Promise.all([answerOf(one, modelId), answerOf(other, modelId)]);
    assert.deepEqual(answers[0], answers[1]);
    assert.match(JSON.stringify(answers[0]), new RegExp(`${modelId}:step1`));
    assert.deepEqual(readdirSync(one.dataFolder).includes("adapters"), false);
    assert.ok(readdirSync(join(one.dataFolder, "cache", "blobs")).length > 0);

    const form = new FormData();
    const text = JSON.stringify({
      messages: [
        { role: "user", content: "Hi" },
        { role: "assistant", content: "Hello." },
      ],
    });
    form.set("purpose", "fine-tune");
    form.set("file", new Blob([text]), "conversations.jsonl");
    const headers = { authorization: `Bearer ${adminKey}` };
    const uploaded = await fetch(`${one.url}/v1/files`, { method: "POST", headers, body: form });
    const { id } = (await uploaded.json()) as { readonly id: string };
    const content = (server: RunningServer): Promise<Response> =>
      fetch(`${server.url}/v1/files/${id}/content`, { headers });
    assert.equal(await (await content(other)).text(), text);
    await ask(other, "DELETE", `/v1/files/${id}`);
    assert.equal((await content(one)).status, 404);

    const job = await submitJob(one, modelId, 24);
    await firstStep(one, job);
    await Promise.all([one, other].map((server) => server.kill()));
    const third = await start();
    await finish(third, job);
    assert.deepEqual(await stepsOf(third, modelId), [0, 1, 2]);
    assert.match(JSON.stringify(await answerOf(third, modelId)), new RegExp(`${modelId}:step2`));
    await isWell(third);
  },
);

test(
  "an unreachable object store delays a job with a reason, while servers continue from their caches",
  { skip: inProof.skip || withoutPostgres },
  async (t) => {
    const { store, start } = await withBucket(t);
    const server = await start();
    const modelId = await registerModel(server, "learner");
    await finish(server, await submitJob(server, modelId, 2));
    const before = await answerOf(server, modelId);
    const job = await submitJob(server, modelId, 2);
    store.pass(() => "lost");
    const waiting = await eventually("the job waits", async () => {
      const { body } = await call(server, "GET", `/v1/preview/training-jobs/${job}`);
      return body.waiting_for ?? null;
    });
    assert.match(String(waiting), /in s3:\/\/of-tests\/\S+ at http:\S+ cannot be /);
    assert.deepEqual(await answerOf(server, modelId), before);
    const check = await call(server, "GET", "/v1/system-check");
    assert.match(JSON.stringify(check.body), /"blobs":.*cannot be written/);
    store.pass(() => "through");
    await finish(server, job);
    assert.deepEqual(await stepsOf(server, modelId), [0, 1, 2]);
    await isWell(server);
  },
);
