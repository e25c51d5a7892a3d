// Data folders that every version of the database left behind, made by the programs of then (record-folder.ts): today's
// program opens each, answers as they did, finishes what they had begun, and knows what the versions belong to.
import assert from "node:assert/strict";
import { cpSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { sql } from "kysely";
import { newestDatabaseVersion } from "../../src/store/storage/migrations/migrations.ts";
import { searchedOf } from "../../src/base/domain/testing/search.ts";
import { openSqlite } from "../../src/store/storage/sqlite/sqlite-dialect.ts";
import { call, eventually, newDataFolder, removeDataFolder, startServer } from "../running-server.ts";
import { finish, goldenModel, goldenTiny } from "../served-jobs.ts";
import { answersOf, chat, type Answers, type Recorded } from "./answers.ts";

const fixtures = "test/fixtures/data-folders";
const versions = Array.from({ length: newestDatabaseVersion }, (_, index) => index + 1);
/** SHA-256 of the weights that `tiny` has here, and that the built-in model had in 0.1. */
const tinyWeights = "de7a44436f479209183d297ec73a6fd2202fc9e694fe29d195aa067a11f7a958";
const firstBuiltIn = "a3b71e79f222";

test("there is a folder of every version of the database that was", () => {
  const found = readdirSync(fixtures).map((name) => Number(name.slice("version-".length)));
  assert.deepEqual(
    found.sort((one, other) => one - other),
    versions,
  );
});

// What the first left behind goes through every migration there is.
for (const version of [versions[0], ...searchedOf(versions.slice(1), 1)]) {
  test(`a data folder of version ${version} of the database opens, and is answered from as it was`, async () => {
    const source = join(fixtures, `version-${version}`);
    assert.ok(existsSync(source), `${source} is missing; record-folder.ts makes it`);
    const { recorded, answers } = JSON.parse(readFileSync(join(source, "answers.json"), "utf8")) as {
      readonly recorded: Recorded;
      readonly answers: Answers;
    };
    const dataFolder = newDataFolder();
    await restore(source, dataFolder);
    const hasBuiltIn = version === 1;
    const flags = hasBuiltIn ? goldenTiny : goldenModel;
    const server = await startServer({ dataFolder, flags });
    try {
      const { modelId } = recorded;
      const { body: jobs } = await call(server, "GET", `/v1/preview/training-jobs?model_id=${modelId}`);
      const begun = jobs.data.find(({ id }: { readonly id: string }) => !recorded.jobIds.includes(id));
      await finish(server, begun.id);
      requireSame(await answersOf(server, recorded), answers, "");
      const kept = await eventually("the adapters' hashes", async () => {
        const { body } = await call(server, "GET", `/v1/preview/models/${modelId}/checkpoints`);
        const trained: readonly Record<string, unknown>[] = body.data.slice(1);
        return trained.every(({ adapter_hash: hash }) => typeof hash === "string") ? trained : null;
      });
      assert.deepEqual(
        kept.map(({ step, base_hash: base }) => [step, base]),
        [1, 2, 3].map((step) => [step, tinyWeights]),
      );
      if (hasBuiltIn) {
        const refused = await chat(server, "p/built-in");
        assert.equal(refused.status, 409);
        assert.ok(refused.body.error.message.includes(firstBuiltIn), refused.body.error.message);
      }
      const { body: check } = await call(server, "GET", "/v1/system-check");
      assert.equal(check.bases === "ok", !hasBuiltIn, check.bases);
      assert.equal(check.adapters, "ok");
    } finally {
      await server.terminate();
      removeDataFolder(dataFolder);
    }
  });
}

/** Puts the folder where it may change. */
async function restore(source: string, dataFolder: string): Promise<void> {
  for (const name of readdirSync(source))
    if (!/^(hone\.sql|answers\.json)$/.test(name))
      cpSync(join(source, name), join(dataFolder, name), { recursive: true });
  const { queries } = openSqlite({ file: join(dataFolder, "hone.db"), isShared: true });
  await queries.transaction().execute(async (transaction) => {
    await sql`pragma defer_foreign_keys = on`.execute(transaction);
    for (const line of readFileSync(join(source, "hone.sql"), "utf8").split("\n"))
      if (line !== "") await sql.raw(line).execute(transaction);
  });
  await queries.destroy();
}

/**
 * What is different on purpose: ids of events, limits of settings, ends of pages, the state that the newest version alone
 * keeps, and of how many ways to pack sequences a job's was.
 */
const changed =
  /\/events\.data\.\d+\.id$|\.(first_id|last_id|has_more|attempts_lost_max|restarts_max|has_optimizer_state|algorithm)$/;

/** Requires all that was answered; what is new beside it is not looked at. */
function requireSame(now: unknown, then: unknown, place: string): void {
  if (changed.test(place)) return;
  if (typeof then === "number" && typeof now === "number") {
    const tolerance = place.includes("logprobs") ? 1e-4 : 0;
    assert.ok(Math.abs(now - then) <= tolerance, `${place} is ${now}, and was ${then}`);
  } else if (Array.isArray(then)) {
    assert.ok(Array.isArray(now), place);
    then.forEach((item, index) => requireSame(matching(now, item, index), item, `${place}.${index}`));
  } else if (then !== null && typeof then === "object") {
    assert.ok(now !== null && typeof now === "object", place);
    for (const [name, value] of Object.entries(then))
      requireSame((now as Record<string, unknown>)[name], value, `${place}.${name}`);
  } else assert.deepEqual(now, then, place);
}

/** The item of the same id, where there are others by now; else the one in its place. */
function matching(items: readonly unknown[], { id }: { readonly id?: unknown }, index: number): unknown {
  const same = items.find((item) => id !== undefined && (item as { readonly id?: unknown }).id === id);
  return same ?? items[index];
}
