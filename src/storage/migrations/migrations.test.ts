// Databases that earlier versions of the program wrote.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { sql } from "kysely";
import { resolveTrainingConfig } from "../../domain/training-config.ts";
import type { EarlierLogs } from "../../domain/trajectory.ts";
import { sampleFeedback, sampleKey, sampleLog } from "../contract/storage-under-test.ts";
import { openDatabase } from "../database.ts";
import { migrate } from "./migrations.ts";
import { openSqlite } from "../sqlite/sqlite-dialect.ts";

const firstPage = { after: null, limit: 100, order: "asc" } as const;

test("a database of version 1 gets what it lacked, and its lists go on", async (t) => {
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
    sql`insert into access_keys values (7, 'k', 'e', 'admin', 'o', 'hash', '2026-01-01', null)`,
    sql`insert into trajectory_logs values (3, 'l', 'm', 'val', 0, '2026-01-01', '{"sum":1}'), (5, 'o', 'm', 'val', 0, '2026-01-01', '{"sum":2}')`,
    sql`insert into trajectory_groups values ('l', 0, ${groupOf("a")}), ('l', 1, ${groupOf(null, 7, "b")}), ('o', 0, ${groupOf("b")})`,
    sql`insert into feedback values (1, 'p', 'f', 'ref', 'score', 'u', '2026-01-01', 'hash', ${record(2)})`,
    sql`insert into feedback_revisions values (4, 'p', 'f', '2026-01-01', ${record(1)})`,
  ]) {
    await statement.execute(old.queries);
  }
  await old.queries.destroy();
  const database = await openDatabase({ file });
  const { keys, jobs, models, trajectories, feedback } = database;
  const job = await jobs.find("j");
  const content = '{"ppo":true}\n{"a":1}\n{"b":2}\n';
  assert.equal(job?.contentHash, createHash("sha256").update(content).digest("hex"));
  assert.equal(job.pins, null);
  // What it could not say then is at its default.
  assert.deepEqual(job.task, { kind: "rl", config: resolveTrainingConfig({ ppo: true }) });
  assert.equal((await models.findVersion("m", 0))?.trainerState, null);
  assert.equal((await models.findVersion("m", 1))?.trainerState, "adapters/m/1/optimizer.safetensors");
  await keys.create(sampleKey("later"));
  assert.deepEqual(
    (await keys.list(firstPage)).items.map(({ id }) => id),
    ["k", "later"],
  );
  const seen: EarlierLogs[] = [];
  const log = sampleLog("later", { scenarioIds: ["c"] });
  await trajectories.append(log, (earlier) => {
    seen.push(earlier);
    return {};
  });
  assert.deepEqual(seen, [{ metrics: { sum: 2 }, scenarioCount: 4 }]);
  const logs = (await trajectories.list("m", { split: null }, firstPage)).items;
  assert.deepEqual(
    logs.slice(0, 2).map(({ id, groupCount, contentBytes }) => [id, groupCount, contentBytes]),
    [
      ["l", 2, Buffer.byteLength(groupOf("a") + groupOf(null, 7, "b"))],
      ["o", 1, Buffer.byteLength(groupOf("b"))],
    ],
  );
  assert.equal(logs[2]?.id, "later");
  const { id: _id, createdAt: _at, ...replacement } = sampleFeedback("f", { projectId: "p" });
  await feedback.replace("p", "f", replacement, new Date(0));
  assert.deepEqual(
    (await feedback.history("p", "f", firstPage)).items.map((revision) => revision.record.payload),
    [{ value: 1 }, { value: 2 }],
  );
  await database.close();
});

/** A group as version 1 stored it, with the scenario of its own or those of its trajectories. */
function groupOf(scenario: string | null, ...others: readonly (string | number)[]): string {
  const trajectories = others.map((id) => ({ metadata: { scenario_id: id, note: "é" } }));
  return JSON.stringify({ metadata: scenario === null ? {} : { scenario_id: scenario }, trajectories });
}

function record(value: number): string {
  return JSON.stringify({ ...sampleFeedback("f"), projectId: "p", payload: { value } });
}
