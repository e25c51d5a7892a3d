// Version 2 of the database: what a job is pinned to, a trainer's state beside a version, and lists that go by numbers
// in the order of commits. What older rows lack is filled in here.
import { createHash } from "node:crypto";
import { type Kysely, type RawBuilder, sql, type Transaction } from "kysely";
import { storedLines } from "../../groups.ts";
import type { Schema } from "../../schema.ts";

export async function addVersion2(queries: Transaction<Schema>): Promise<void> {
  await addSequences(queries);
  await addColumn(queries, sql`model_versions`, sql`trainer_state text`);
  // Until now the optimizer was found by its file's name beside the adapter.
  await sql`update model_versions set trainer_state = adapter_folder || '/optimizer.safetensors'
    where adapter_folder is not null`.execute(queries);
  await addColumn(queries, sql`jobs`, sql`pins text`);
  await addColumn(queries, sql`jobs`, sql`content_hash text not null default ''`);
  await hashJobs(queries);
  await addLogContents(queries);
  await addScenarios(queries);
}

/** Lists were in the order of `position`; numbers go on from there. */
async function addSequences(database: Kysely<Schema>): Promise<void> {
  await sql`create table sequences (list text primary key, sequence integer not null)`.execute(database);
  for (const [list, table] of [
    ["keys", sql`access_keys`],
    ["models", sql`models`],
    ["jobs", sql`jobs`],
  ] as const) {
    await addColumn(database, table, sql`sequence integer`);
    await sql`update ${table} set sequence = position`.execute(database);
    await sql`insert into sequences select ${list}, coalesce(max(sequence), 0) from ${table}`.execute(
      database,
    );
  }
  for (const { child, parent, counter, isChild } of [
    {
      child: sql`trajectory_logs`,
      parent: sql`models`,
      counter: sql`last_log_sequence`,
      isChild: sql`child.model_id = parent.id`,
    },
    {
      child: sql`feedback_revisions`,
      parent: sql`feedback`,
      counter: sql`last_revision_sequence`,
      isChild: sql`child.project_id = parent.project_id and child.id = parent.id`,
    },
  ]) {
    await addColumn(database, child, sql`sequence integer`);
    await sql`update ${child} set sequence = position`.execute(database);
    await addColumn(database, parent, sql`${counter} integer not null default 0`);
    await sql`update ${parent} as parent set ${counter} = coalesce((select max(child.sequence) from ${child} as child where ${isChild}), 0)`.execute(
      database,
    );
  }
  for (const statement of [
    sql`drop index jobs_by_state`,
    sql`drop index jobs_by_model`,
    sql`drop index trajectory_logs_by_model`,
    sql`drop index feedback_revisions_by_record`,
    sql`create unique index access_keys_in_order on access_keys (sequence)`,
    sql`create unique index models_in_order on models (sequence)`,
    sql`create index models_by_name on models (name, sequence)`,
    sql`create index models_by_entity on models (entity, sequence)`,
    sql`create unique index jobs_in_order on jobs (sequence)`,
    sql`create index jobs_by_state on jobs (state, model_id, sequence)`,
    sql`create index jobs_by_model on jobs (model_id, sequence)`,
    sql`create unique index trajectory_logs_in_order on trajectory_logs (model_id, sequence)`,
    sql`create unique index feedback_revisions_in_order on feedback_revisions (project_id, id, sequence)`,
  ]) {
    await statement.execute(database);
  }
}

async function hashJobs(database: Kysely<Schema>): Promise<void> {
  for (const { id, config } of await database.selectFrom("jobs").select(["id", "config"]).execute()) {
    const hash = createHash("sha256").update(`${config}\n`);
    for await (const line of storedLines(database, "job_groups", id)) hash.update(`${line}\n`);
    await database
      .updateTable("jobs")
      .set({ content_hash: hash.digest("hex") })
      .where("id", "=", id)
      .execute();
  }
}

async function addLogContents(database: Kysely<Schema>): Promise<void> {
  await addColumn(database, sql`trajectory_logs`, sql`group_count integer not null default 0`);
  await addColumn(database, sql`trajectory_logs`, sql`content_bytes integer not null default 0`);
  await sql`
    update trajectory_logs set
      group_count = (select count(*) from trajectory_groups where log_id = trajectory_logs.id),
      content_bytes = (select coalesce(sum(octet_length(content)), 0) from trajectory_groups where log_id = trajectory_logs.id)
  `.execute(database);
}

/** Scenarios are kept by their hash: ids are of any length, and may hold what a database's text cannot. */
async function addScenarios(database: Kysely<Schema>): Promise<void> {
  await sql`create table model_scenarios (
    model_id text not null references models (id) on delete cascade,
    scenario_hash text not null,
    primary key (model_id, scenario_hash)
  )`.execute(database);
  await addColumn(database, sql`models`, sql`scenario_count integer not null default 0`);
  for (const { id, model_id } of await database
    .selectFrom("trajectory_logs")
    .select(["id", "model_id"])
    .execute()) {
    for await (const line of storedLines(database, "trajectory_groups", id)) {
      for (const scenario of scenariosOf(line)) {
        const hash = createHash("sha256").update(JSON.stringify(scenario)).digest("hex");
        await sql`insert into model_scenarios values (${model_id}, ${hash}) on conflict do nothing`.execute(
          database,
        );
      }
    }
  }
  await sql`update models set scenario_count = (select count(*) from model_scenarios where model_id = models.id)`.execute(
    database,
  );
}

/** The scenarios of a group as version 1 stored it. */
function scenariosOf(line: string): readonly string[] {
  type Described = { readonly metadata: { readonly scenario_id?: unknown } };
  const group = JSON.parse(line) as Described & { readonly trajectories: readonly Described[] };
  const idsIn = ({ metadata }: Described): readonly string[] => {
    const { scenario_id: id } = metadata;
    return typeof id === "string" || typeof id === "number" ? [String(id)] : [];
  };
  const ofGroup = idsIn(group);
  return ofGroup.length > 0 ? ofGroup : group.trajectories.flatMap(idsIn);
}

async function addColumn(
  database: Kysely<Schema>,
  table: RawBuilder<unknown>,
  column: RawBuilder<unknown>,
): Promise<void> {
  await sql`alter table ${table} add column ${column}`.execute(database);
}
