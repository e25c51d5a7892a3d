// Version 1 of the database: keys, models, jobs, trajectories, feedback. Released, so it is never changed.
import type { Connection } from "../dialect.ts";

export async function createVersion1(connection: Connection): Promise<void> {
  await createKeyTable(connection);
  await createModelTables(connection);
  await createJobTables(connection);
  await createTrajectoryTables(connection);
  await createFeedbackTables(connection);
}

async function createKeyTable({ dialect, queries }: Connection): Promise<void> {
  await dialect
    .positionColumn(queries.schema.createTable("access_keys"))
    .addColumn("id", "text", (column) => column.notNull().unique())
    .addColumn("entity", "text", (column) => column.notNull())
    .addColumn("role", "text", (column) => column.notNull())
    .addColumn("owner", "text", (column) => column.notNull())
    .addColumn("secret_hash", "text", (column) => column.notNull().unique())
    .addColumn("created_at", "text", (column) => column.notNull())
    .addColumn("revoked_at", "text")
    .execute();
}

async function createModelTables({ dialect, queries }: Connection): Promise<void> {
  await dialect
    .positionColumn(queries.schema.createTable("models"))
    .addColumn("id", "text", (column) => column.notNull().unique())
    .addColumn("entity", "text", (column) => column.notNull())
    .addColumn("project", "text", (column) => column.notNull())
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("base_model", "text", (column) => column.notNull())
    .addColumn("created_at", "text", (column) => column.notNull())
    .addUniqueConstraint("models_name", ["entity", "project", "name"])
    .execute();
  await queries.schema
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

async function createJobTables({ dialect, queries }: Connection): Promise<void> {
  await dialect
    .positionColumn(queries.schema.createTable("jobs"))
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
  await queries.schema
    .createIndex("jobs_by_state")
    .on("jobs")
    .columns(["state", "model_id", "position"])
    .execute();
  await queries.schema.createIndex("jobs_by_model").on("jobs").columns(["model_id", "position"]).execute();
  await queries.schema
    .createTable("job_groups")
    .addColumn("job_id", "text", (column) => column.notNull().references("jobs.id").onDelete("cascade"))
    .addColumn("group_index", "integer", (column) => column.notNull())
    .addColumn("content", "text", (column) => column.notNull())
    .addPrimaryKeyConstraint("job_groups_key", ["job_id", "group_index"])
    .execute();
  await dialect
    .positionColumn(queries.schema.createTable("job_events"))
    .addColumn("job_id", "text", (column) => column.notNull().references("jobs.id").onDelete("cascade"))
    .addColumn("sequence", "integer", (column) => column.notNull())
    .addColumn("type", "text", (column) => column.notNull())
    .addColumn("data", "text", (column) => column.notNull())
    .addUniqueConstraint("job_events_sequence", ["job_id", "sequence"])
    .execute();
  await queries.schema
    .createTable("job_idempotency")
    .addColumn("key_id", "text", (column) => column.notNull())
    .addColumn("idempotency_key", "text", (column) => column.notNull())
    .addColumn("body_hash", "text", (column) => column.notNull())
    .addColumn("job_id", "text", (column) => column.notNull().references("jobs.id").onDelete("cascade"))
    .addPrimaryKeyConstraint("job_idempotency_key", ["key_id", "idempotency_key"])
    .execute();
  await queries.schema.createIndex("job_idempotency_by_job").on("job_idempotency").column("job_id").execute();
}

async function createTrajectoryTables({ dialect, queries }: Connection): Promise<void> {
  await dialect
    .positionColumn(queries.schema.createTable("trajectory_logs"))
    .addColumn("id", "text", (column) => column.notNull().unique())
    .addColumn("model_id", "text", (column) => column.notNull().references("models.id").onDelete("cascade"))
    .addColumn("split", "text", (column) => column.notNull())
    .addColumn("step", "integer", (column) => column.notNull())
    .addColumn("recorded_at", "text", (column) => column.notNull())
    .addColumn("metrics", "text", (column) => column.notNull())
    .execute();
  await queries.schema
    .createIndex("trajectory_logs_by_model")
    .on("trajectory_logs")
    .columns(["model_id", "position"])
    .execute();
  await queries.schema
    .createTable("trajectory_groups")
    .addColumn("log_id", "text", (column) =>
      column.notNull().references("trajectory_logs.id").onDelete("cascade"),
    )
    .addColumn("group_index", "integer", (column) => column.notNull())
    .addColumn("content", "text", (column) => column.notNull())
    .addPrimaryKeyConstraint("trajectory_groups_key", ["log_id", "group_index"])
    .execute();
}

async function createFeedbackTables({ dialect, queries }: Connection): Promise<void> {
  await dialect
    .positionColumn(queries.schema.createTable("feedback"))
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
  await queries.schema
    .createIndex("feedback_by_reference")
    .on("feedback")
    .columns(["project_id", "vendor_ref"])
    .execute();
  await dialect
    .positionColumn(queries.schema.createTable("feedback_revisions"))
    .addColumn("project_id", "text", (column) => column.notNull())
    .addColumn("id", "text", (column) => column.notNull())
    .addColumn("replaced_at", "text", (column) => column.notNull())
    .addColumn("record", "text", (column) => column.notNull())
    .execute();
  await queries.schema
    .createIndex("feedback_revisions_by_record")
    .on("feedback_revisions")
    .columns(["project_id", "id", "position"])
    .execute();
}
