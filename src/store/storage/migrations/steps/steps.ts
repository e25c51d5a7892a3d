// The steps from each version of the database to the next. One that has been released is never changed: a new one is added,
// which says whether servers of before may go on beside it.
import { type Transaction, sql } from "kysely";
import { baseOfFiles } from "../../../../base/domain/model.ts";
import type { Schema } from "../../schema.ts";
import type { SqlForm } from "../../sql-form.ts";
import { addVersion2 } from "./version-2.ts";
import { addVersion18 } from "./version-18.ts";
import { addVersion19 } from "./version-19.ts";
import { addVersion20 } from "./version-20.ts";
import { addVersion21 } from "./version-21.ts";
import { annotationTables } from "./version-22.ts";
import { addVersion23 } from "./version-23.ts";
import { replacedOrder } from "./version-24.ts";
import { webhookTables } from "./version-25.ts";
import { traceTables } from "./version-26.ts";
import { keyColumns } from "./version-27.ts";
import { addVersion28 } from "./version-28.ts";
import { addVersion30, addVersion32 } from "./version-30.ts";
import { limitTables } from "./version-31.ts";

/** Statements, or what else a step does. Servers of before end when it is taken. */
type BreakingStep = readonly string[] | ((transaction: Transaction<Schema>, form: SqlForm) => Promise<void>);

/**
 * What servers of before do not notice, so that they go on beside newer ones: tables, columns and indexes of `additions.ts`.
 * Whoever declares it says more than the statements can: that what older servers write without them, and do with what newer
 * ones wrote, is right too. Where it is not, or the folder of artifacts has another layout from here on, a step breaks.
 */
interface AddingStep {
  readonly adds: readonly string[] | ((form: SqlForm) => readonly string[]);
}

export type Step = BreakingStep | AddingStep;

/** Those to version 2, 3, 4 and so on; version 1 was that of 0.1. Servers of 33 and older end whatever a step does. */
export const steps: readonly Step[] = [
  addVersion2,
  // How a job's attempts were lost, what it waits for, and warnings.
  [
    "alter table jobs add column lost_count integer not null default 0",
    "alter table jobs add column restart_count integer not null default 0",
    "alter table jobs add column waits_since text not null default '1970-01-01T00:00:00.000Z'",
    "alter table jobs add column waiting_for text",
    "alter table jobs add column warnings text not null default '[]'",
  ],
  // The figures that a version came with: of versions from before none are kept apart, since logs replaced what they named.
  ["alter table model_versions add column own_metrics text not null default '{}'"],
  // When it was a model's turn to train.
  ["alter table models add column last_turn integer not null default 0"],
  ["alter table jobs add column kind text not null default 'rl'"],
  ["alter table model_versions add column is_pinned integer not null default 0"],
  // Jobs that repeat another, to compare with what it made.
  ["alter table jobs add column replay_of text", "alter table jobs add column comparison text"],
  [
    `create table files (
      id text not null primary key,
      sequence integer not null unique,
      entity text not null,
      name text not null,
      purpose text not null,
      byte_count bigint not null,
      created_at text not null,
      used_at text not null
    )`,
    "create index files_of_entity on files (entity, sequence)",
  ],
  ["alter table jobs add column has_advanced integer not null default 0"],
  ["alter table jobs add column retry_of text"],
  addVersion12,
  // What a model asks of its adapters.
  ["alter table models add column adapter_rank integer", "alter table models add column adapter_alpha real"],
  // Versions that were copied from another model's.
  ["alter table model_versions add column copied_kind text"],
  // Which projections the adapters of a model are on.
  ["alter table models add column adapter_targets text"],
  // Servers with leases, which own the jobs that they run. Whoever had jobs wait for something is gone.
  [
    "create table servers (id text primary key, lease_until text not null)",
    `create table server_bases (
      server_id text not null references servers (id) on delete cascade,
      base_model text not null,
      primary key (server_id, base_model)
    )`,
    "alter table jobs drop column lease_until",
    `update jobs set not_before = '1970-01-01T00:00:00.000Z', waits_since = '1970-01-01T00:00:00.000Z', waiting_for = null
      where state = 'queued' and waiting_for is not null`,
  ],
  // The versions that servers have requests on.
  [
    `create table server_versions (
      server_id text not null references servers (id) on delete cascade,
      model_id text not null references models (id) on delete cascade,
      step integer not null,
      primary key (server_id, model_id, step)
    )`,
  ],
  addVersion18,
  addVersion19,
  addVersion20,
  addVersion21,
  annotationTables,
  addVersion23,
  replacedOrder,
  webhookTables,
  traceTables,
  keyColumns,
  addVersion28,
  // Where each server keeps its artifacts.
  ["alter table servers add column artifacts text"],
  addVersion30,
  limitTables,
  addVersion32,
  // Which request made a job.
  ["alter table jobs add column made_by text"],
  // From which version on a program goes on beside newer ones.
  ["alter table database_version add column serves_from integer"],
  // Logs of one split at one version add up. Logs of older servers have no tally, and newer logs do not count them.
  {
    adds: [
      "alter table trajectory_logs add column tally text",
      "create index trajectory_log_parts on trajectory_logs (model_id, split, step, sequence)",
    ],
  },
];

/** SHA-256 of the built-in model's weights in version 0.1, whose jobs recorded nothing of their base. */
const firstBuiltIn = {
  name: "hone-tiny",
  weights: "a3b71e79f2223c23622327b925f01d686a73e42f21ae87cb9adf5455e23d5758",
};

/** What each version of a model was trained over, and the hash of its adapter. */
async function addVersion12(queries: Transaction<Schema>): Promise<void> {
  await sql`alter table model_versions add column base text`.execute(queries);
  await sql`alter table model_versions add column adapter_hash text`.execute(queries);
  const made = await queries
    .selectFrom("model_versions")
    .innerJoin("jobs", "jobs.id", "model_versions.job_id")
    .innerJoin("models", "models.id", "model_versions.model_id")
    .select(["model_versions.id", "models.base_model", "jobs.pins"])
    .execute();
  for (const { id, base_model: baseModel, pins } of made) {
    const base = pins === null ? baseWithoutPins(baseModel) : baseOfPins(pins);
    await queries.updateTable("model_versions").set({ base }).where("id", "=", id).execute();
  }
}

/** A job that pinned nothing is of 0.1, which served its built-in model under this name and no other. */
function baseWithoutPins(baseModel: string): string | null {
  return baseModel === firstBuiltIn.name ? firstBuiltIn.weights : null;
}

function baseOfPins(pins: string): string {
  // The column holds what the job store wrote.
  const { baseHash } = JSON.parse(pins) as { readonly baseHash: string };
  return baseOfFiles(baseHash);
}
