// Databases that earlier versions of the program wrote.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { sql } from "kysely";
import { openDatabase } from "./database.ts";
import { migrate } from "./migrations.ts";
import { openSqlite } from "./sqlite.ts";

test("a job and a version of database version 1 get what they lacked", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "hone-migrations-"));
  t.after(() => {
    rmSync(folder, { recursive: true });
  });
  const file = join(folder, "hone.db");
  const old = openSqlite(file);
  await migrate(old, 1);
  for (const statement of [
    sql`insert into models values (1, 'm', 'e', 'p', 'n', 'tiny', '2026-01-01')`,
    sql`insert into model_versions values ('v', 'm', 0, null, null, '{}', '2026-01-01', 0)`,
    sql`insert into model_versions values ('w', 'm', 1, 'adapters/m/1', null, '{}', '2026-01-01', 0)`,
    sql`insert into jobs (id, model_id, state, config, config_not_applied, created_at, attempt_count, cancel_requested, not_before)
      values ('j', 'm', 'queued', '{"ppo":true}', '[]', '2026-01-01', 0, 0, '1970-01-01')`,
    sql`insert into job_groups values ('j', 0, '{"a":1}'), ('j', 1, '{"b":2}')`,
  ]) {
    await statement.execute(old);
  }
  await old.destroy();
  const database = await openDatabase({ file });
  const { jobs, models } = database;
  const job = await jobs.find("j");
  const content = '{"ppo":true}\n{"a":1}\n{"b":2}\n';
  assert.equal(job?.contentHash, createHash("sha256").update(content).digest("hex"));
  assert.equal(job.pins, null);
  assert.equal((await models.findVersion("m", 0))?.trainerState, null);
  assert.equal((await models.findVersion("m", 1))?.trainerState, "adapters/m/1/optimizer.safetensors");
  await database.close();
});
