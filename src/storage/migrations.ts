// The database's versions, in order. A migration that has been released is never changed: a new one is added.
import { type Kysely, sql } from "kysely";
import { ServiceError } from "../domain/service-error.ts";
import type { TrainingConfig } from "../domain/training-config.ts";
import { ContentHash, jobLines } from "./job-content.ts";
import type { Schema } from "./schema.ts";
import { positionColumn } from "./sqlite.ts";

type Migration = (database: Kysely<Schema>) => Promise<void>;

/** Number n of the list takes a database from version n to n + 1. */
const migrations: readonly Migration[] = [
  async (database) => {
    await createKeyTable(database);
    await createModelTables(database);
    await createJobTables(database);
    await createTrajectoryTables(database);
    await createFeedbackTables(database);
  },
  async (database) => {
    await database.schema.alterTable("model_versions").addColumn("trainer_state", "text").execute();
    // Until now the optimizer was found by its file's name beside the adapter.
    await sql`update model_versions set trainer_state = adapter_folder || '/optimizer.safetensors'
      where adapter_folder is not null`.execute(database);
    await database.schema.createIndex("models_by_name").on("models").columns(["name", "position"]).execute();
    await addJobContent(database);
  },
];

export const newestDatabaseVersion = migrations.length;

/**
 * Brings the database to a version, the newest unless given, in one transaction.
 *
 * @returns the version it had before
 * @throws ServiceError `unsupported` when the database was written by a newer program
 */
export async function migrate(
  database: Kysely<Schema>,
  target: number = newestDatabaseVersion,
): Promise<number> {
  await database.schema
    .createTable("database_version")
    .ifNotExists()
    .addColumn("version", "integer", (column) => column.notNull())
    .execute();
  return await database.transaction().execute(async (transaction) => {
    const { rows } = await sql<{ version: number }>`select version from database_version`.execute(
      transaction,
    );
    const version = rows.length === 0 ? 0 : rows[0].version;
    if (version > newestDatabaseVersion) {
      throw new ServiceError({
        code: "unsupported",
        message:
          `The database has version ${version}, but this program knows only up to ${newestDatabaseVersion}. ` +
          "It was written by a newer program: upgrade this one, or use another data folder.",
      });
    }
    for (const migration of migrations.slice(version, target)) await migration(transaction);
    if (rows.length === 0) await sql`insert into database_version (version) values (0)`.execute(transaction);
    await sql`update database_version set version = ${Math.max(version, target)}`.execute(transaction);
    return version;
  });
}

async function createKeyTable(database: Kysely<Schema>): Promise<void> {
  await positionColumn(database.schema.createTable("access_keys"))
    .addColumn("id", "text", (column) => column.notNull().unique())
    .addColumn("entity", "text", (column) => column.notNull())
    .addColumn("role", "text", (column) => column.notNull())
    .addColumn("owner", "text", (column) => column.notNull())
    .addColumn("secret_hash", "text", (column) => column.notNull().unique())
    .addColumn("created_at", "text", (column) => column.notNull())
    .addColumn("revoked_at", "text")
    .execute();
}

async function createModelTables(database: Kysely<Schema>): Promise<void> {
  await positionColumn(database.schema.createTable("models"))
    .addColumn("id", "text", (column) => column.notNull().unique())
    .addColumn("entity", "text", (column) => column.notNull())
    .addColumn("project", "text", (column) => column.notNull())
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("base_model", "text", (column) => column.notNull())
    .addColumn("created_at", "text", (column) => column.notNull())
    .addUniqueConstraint("models_name", ["entity", "project", "name"])
    .execute();
  await database.schema
    .createTable("model_versions")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("model_id", "text", (column) => column.notNull().references("models.id").onDelete("cascade"))
    .addColumn("step", "integer", (column) => column.notNull())
    .addColumn("adapter_folder", "text")
    .addColumn("job_id", "text", (column) => column.unique())
    .addColumn("metrics", "text", (column) => column.notNull())
    .addColumn("created_at", "text", (column) => column.notNull())
    .addColumn("is_deleted", "integer", (column) => column.notNull())
    .addUniqueConstraint("model_versions_step", ["model_id", "step"])
    .execute();
}

async function createJobTables(database: Kysely<Schema>): Promise<void> {
  await positionColumn(database.schema.createTable("jobs"))
    .addColumn("id", "text", (column) => column.notNull().unique())
    .addColumn("model_id", "text", (column) => column.notNull().references("models.id").onDelete("cascade"))
    .addColumn("state", "text", (column) => column.notNull())
    .addColumn("config", "text", (column) => column.notNull())
    .addColumn("config_not_applied", "text", (column) => column.notNull())
    .addColumn("created_at", "text", (column) => column.notNull())
    .addColumn("started_at", "text")
    .addColumn("ended_at", "text")
    .addColumn("error_message", "text")
    .addColumn("attempt_count", "integer", (column) => column.notNull())
    .addColumn("progress", "text")
    .addColumn("counts", "text")
    .addColumn("result_step", "integer")
    .addColumn("cancel_requested", "integer", (column) => column.notNull())
    .addColumn("owner", "text")
    .addColumn("lease_until", "text")
    .addColumn("not_before", "text", (column) => column.notNull())
    .execute();
  await database.schema
    .createIndex("jobs_by_state")
    .on("jobs")
    .columns(["state", "model_id", "position"])
    .execute();
  await database.schema.createIndex("jobs_by_model").on("jobs").columns(["model_id", "position"]).execute();
  await database.schema
    .createTable("job_groups")
    .addColumn("job_id", "text", (column) => column.notNull().references("jobs.id").onDelete("cascade"))
    .addColumn("group_index", "integer", (column) => column.notNull())
    .addColumn("content", "text", (column) => column.notNull())
    .addPrimaryKeyConstraint("job_groups_key", ["job_id", "group_index"])
    .execute();
  await positionColumn(database.schema.createTable("job_events"))
    .addColumn("job_id", "text", (column) => column.notNull().references("jobs.id").onDelete("cascade"))
    .addColumn("sequence", "integer", (column) => column.notNull())
    .addColumn("type", "text", (column) => column.notNull())
    .addColumn("data", "text", (column) => column.notNull())
    .addUniqueConstraint("job_events_sequence", ["job_id", "sequence"])
    .execute();
  await database.schema
    .createTable("job_idempotency")
    .addColumn("key_id", "text", (column) => column.notNull())
    .addColumn("idempotency_key", "text", (column) => column.notNull())
    .addColumn("body_hash", "text", (column) => column.notNull())
    .addColumn("job_id", "text", (column) => column.notNull().references("jobs.id").onDelete("cascade"))
    .addPrimaryKeyConstraint("job_idempotency_key", ["key_id", "idempotency_key"])
    .execute();
  await database.schema
    .createIndex("job_idempotency_by_job")
    .on("job_idempotency")
    .column("job_id")
    .execute();
}

async function addJobContent(database: Kysely<Schema>): Promise<void> {
  await database.schema.alterTable("jobs").addColumn("pins", "text").execute();
  await database.schema
    .alterTable("jobs")
    .addColumn("content_hash", "text", (column) => column.notNull().defaultTo(""))
    .execute();
  for (const { id, config } of await database.selectFrom("jobs").select(["id", "config"]).execute()) {
    // The column holds what `create` of the job store wrote.
    const hash = new ContentHash(JSON.parse(config) as TrainingConfig);
    for await (const line of jobLines(database, id)) hash.add(line);
    await database.updateTable("jobs").set({ content_hash: hash.digest() }).where("id", "=", id).execute();
  }
}

async function createTrajectoryTables(database: Kysely<Schema>): Promise<void> {
  await positionColumn(database.schema.createTable("trajectory_logs"))
    .addColumn("id", "text", (column) => column.notNull().unique())
    .addColumn("model_id", "text", (column) => column.notNull().references("models.id").onDelete("cascade"))
    .addColumn("split", "text", (column) => column.notNull())
    .addColumn("step", "integer", (column) => column.notNull())
    .addColumn("recorded_at", "text", (column) => column.notNull())
    .addColumn("metrics", "text", (column) => column.notNull())
    .execute();
  await database.schema
    .createIndex("trajectory_logs_by_model")
    .on("trajectory_logs")
    .columns(["model_id", "position"])
    .execute();
  await database.schema
    .createTable("trajectory_groups")
    .addColumn("log_id", "text", (column) =>
      column.notNull().references("trajectory_logs.id").onDelete("cascade"),
    )
    .addColumn("group_index", "integer", (column) => column.notNull())
    .addColumn("content", "text", (column) => column.notNull())
    .addPrimaryKeyConstraint("trajectory_groups_key", ["log_id", "group_index"])
    .execute();
}

async function createFeedbackTables(database: Kysely<Schema>): Promise<void> {
  await positionColumn(database.schema.createTable("feedback"))
    .addColumn("project_id", "text", (column) => column.notNull())
    .addColumn("id", "text", (column) => column.notNull())
    .addColumn("vendor_ref", "text", (column) => column.notNull())
    .addColumn("feedback_type", "text", (column) => column.notNull())
    .addColumn("vendor_user_id", "text", (column) => column.notNull())
    .addColumn("created_at", "text", (column) => column.notNull())
    .addColumn("content_hash", "text", (column) => column.notNull())
    .addColumn("record", "text", (column) => column.notNull())
    .addUniqueConstraint("feedback_id", ["project_id", "id"])
    .execute();
  await database.schema
    .createIndex("feedback_by_reference")
    .on("feedback")
    .columns(["project_id", "vendor_ref"])
    .execute();
  await positionColumn(database.schema.createTable("feedback_revisions"))
    .addColumn("project_id", "text", (column) => column.notNull())
    .addColumn("id", "text", (column) => column.notNull())
    .addColumn("replaced_at", "text", (column) => column.notNull())
    .addColumn("record", "text", (column) => column.notNull())
    .execute();
  await database.schema
    .createIndex("feedback_revisions_by_record")
    .on("feedback_revisions")
    .columns(["project_id", "id", "position"])
    .execute();
}
