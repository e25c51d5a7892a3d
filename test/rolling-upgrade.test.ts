// Tests two builds on one PostgreSQL database. The newer build has migrated the database with a migration that only
// adds to it. Both builds serve and train while a deployment upgrades one server at a time, and then goes back.
import assert from "node:assert/strict";
import { test } from "node:test";
import { inProof } from "../src/base/domain/testing/search.ts";
import { newestDatabaseVersion, servesFrom } from "../src/store/database/migrations/migrations.ts";
import { withoutPostgres } from "../src/store/database/testing/postgres-databases.ts";
import { call, eventually, type RunningServer } from "./running-server.ts";
import { finish, firstStep, registerModel, stepsOf, submitJob } from "./served-jobs.ts";
import { answerOf, ask, shared } from "./several-servers.ts";

const note = /migrated the database to version \d+; .* It continues, because the migration only adds/;

/** Creates a feedback record on one server; returns all records that another server lists. */
async function judge(writer: RunningServer, reader: RunningServer, id: string): Promise<readonly string[]> {
  const record = {
    id,
    project_id: "local/p",
    vendor_ref: "wandb-trace-internal:///local/p/call/019a0000-0000-7000-8000-000000000000",
    feedback_type: "score",
    payload: { value: 1 },
  };
  const created = await call(writer, "POST", "/feedback/create", { body: record, scheme: "Basic" });
  assert.equal(created.status, 200, JSON.stringify(created.body));
  const query = { project_id: "local/p" };
  const { body } = await call(reader, "POST", "/feedback/query", { body: query, scheme: "Basic" });
  return body.result.map((found: { readonly id: string }) => found.id);
}

test(
  "an older build continues to serve and train next to a newer one that only added, and can restart after the migration",
  { skip: inProof.skip || withoutPostgres },
  async (t) => {
    const { stores, start, startNewer } = await shared(t);
    const older = await start();
    const modelId = await registerModel(older, "learner");
    assert.deepEqual(await judge(older, older, "first"), ["first"]);
    const job = await submitJob(older, modelId, 24);
    await firstStep(older, job);

    const newer = await startNewer();
    const version = { version: newestDatabaseVersion + 1, servesFrom: servesFrom(newestDatabaseVersion) };
    assert.deepEqual(await stores.version(), version);
    const told = await eventually("the older one says so", async () => {
      const check = await ask(older, "GET", "/v1/system-check");
      return check.note === "" ? null : check;
    });
    assert.match(told.note, note);
    assert.equal(told.status, "ok");
    assert.equal((await ask(newer, "GET", "/v1/system-check")).note, "");
    assert.deepEqual(await judge(older, newer, "second"), ["first", "second"]);
    assert.deepEqual(await judge(newer, older, "third"), ["first", "second", "third"]);
    await finish(newer, job);
    assert.deepEqual(await answerOf(older, modelId), await answerOf(newer, modelId));
    assert.equal(older.output().match(new RegExp(note, "g"))?.length, 1, "once");

    assert.equal(await older.terminate(), 0);
    await finish(newer, await submitJob(newer, modelId, 2));

    const again = await start();
    assert.deepEqual(await stores.version(), version, "it brings nothing back");
    assert.match((await ask(again, "GET", "/v1/system-check")).note, note);
    assert.deepEqual(await answerOf(again, modelId), await answerOf(newer, modelId));
    assert.equal(await newer.terminate(), 0);
    await finish(again, await submitJob(again, modelId, 2));
    assert.deepEqual(await judge(again, again, "fourth"), ["first", "second", "third", "fourth"]);
    assert.deepEqual(await stepsOf(again, modelId), [0, 1, 2, 3]);
  },
);
