// To version 30: what is stored of each model and project in bytes, what was removed of it, and the order in which it goes.
import { sql, type Transaction } from "kysely";
import type { Schema } from "../../schema.ts";
import type { SqlForm } from "../../sql-form.ts";

const tables: readonly string[] = [
  "alter table models add column log_bytes bigint not null default 0",
  "alter table models add column job_bytes bigint not null default 0",
  "alter table models add column completion_bytes bigint not null default 0",
  "alter table jobs add column content_bytes bigint not null default 0",
  "alter table jobs add column data_removed_at text",
  "alter table trajectory_logs add column removed_at text",
  `create table project_bytes (
    project_id text primary key, entity text not null, revision_bytes bigint not null default 0
  )`,
  "create index project_bytes_of_entity on project_bytes (entity)",
  `create table removed_data (
    day text not null, kind text not null, entity text not null,
    item_count bigint not null, byte_count bigint not null, last_at text not null,
    primary key (day, kind, entity)
  )`,
  "create table sweepers (place text primary key, owner text not null, until text not null)",
  "create index trajectory_logs_by_time on trajectory_logs (recorded_at, id) where removed_at is null",
  "create index trajectory_logs_removed on trajectory_logs (removed_at) where removed_at is not null",
  "create index jobs_by_end on jobs (ended_at, id) where ended_at is not null and data_removed_at is null",
  "create index jobs_removed on jobs (data_removed_at) where data_removed_at is not null and content_bytes > 0",
  "create index jobs_retrying on jobs (model_id, retry_of) where retry_of is not null",
  "create index trajectory_outlines_of_source on trajectory_outlines (source_id)",
  "create index recorded_completions_of_entity on recorded_completions (entity, sequence)",
  "create index annotation_items_by_call on annotation_items (call_id)",
  "create index feedback_revisions_by_time on feedback_revisions (replaced_at, project_id, id, sequence)",
];

export async function addVersion30(transaction: Transaction<Schema>, form: SqlForm): Promise<void> {
  for (const statement of tables) await sql.raw(statement).execute(transaction);
  const groupBytes = sql`coalesce((select sum(octet_length(content)) from job_groups where job_id = jobs.id), 0)`;
  const eventBytes = sql`case when ended_at is null then 0 else
    coalesce((select sum(octet_length(data)) from job_events where job_id = jobs.id), 0) end`;
  await sql`update jobs set content_bytes = ${groupBytes} + ${eventBytes}`.execute(transaction);
  const ownBytes = sql`coalesce((select sum(byte_count) from recorded_completions where model_id = models.id), 0)`;
  const pieceBytes = sql`coalesce((select sum(octet_length(content)) from completion_pieces where model_id = models.id), 0)`;
  await sql`update models set
    log_bytes = coalesce((select sum(content_bytes) from trajectory_logs where model_id = models.id), 0),
    job_bytes = coalesce((select sum(content_bytes) from jobs where model_id = models.id), 0),
    completion_bytes = ${ownBytes} + ${pieceBytes}`.execute(transaction);
  const entity = sql`substr(project_id, 1, ${form.position(sql`project_id`, sql`${"/"}`)} - 1)`;
  await sql`
    insert into project_bytes (project_id, entity, revision_bytes)
    select project_id, ${entity}, sum(octet_length(record)) from feedback_revisions group by project_id`.execute(
    transaction,
  );
}

/** To version 32: the bytes of feedback that is stored of each project. */
export async function addVersion32(transaction: Transaction<Schema>, form: SqlForm): Promise<void> {
  await sql`alter table project_bytes add column record_bytes bigint not null default 0`.execute(transaction);
  const entity = sql`substr(project_id, 1, ${form.position(sql`project_id`, sql`${"/"}`)} - 1)`;
  await sql`
    insert into project_bytes (project_id, entity, record_bytes)
    select project_id, ${entity}, sum(octet_length(payload)) from feedback where true group by project_id
    on conflict (project_id) do update set record_bytes = excluded.record_bytes`.execute(transaction);
}
