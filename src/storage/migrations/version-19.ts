// To version 19: recorded completions.
import { sql, type Transaction } from "kysely";
import type { Schema } from "../schema.ts";

/** Those of completions/, which a new database has too. Both indexes hold what lists are filtered by. */
export const completionTables: readonly string[] = [
  `create table recorded_completions (
    sequence bigint not null,
    model_id text not null references models (id) on delete cascade,
    entity text not null, project_id text not null, call_id text not null, step integer not null,
    ended_at text not null, byte_count integer not null, is_whole integer not null, outline text not null,
    message_piece text, token_piece text, content text,
    primary key (project_id, call_id)
  )`,
  `create unique index recorded_completions_in_order
    on recorded_completions (sequence, ended_at, step, entity, project_id)`,
  `create unique index recorded_completions_of_model
    on recorded_completions (model_id, sequence, ended_at, step, entity, project_id)`,
  `create table completion_pieces (
    model_id text not null references models (id) on delete cascade,
    id text not null, parent_id text, use_count integer not null, content text not null,
    primary key (model_id, id)
  )`,
];

export async function addVersion19(transaction: Transaction<Schema>): Promise<void> {
  await sql`alter table models add column completion_count integer not null default 0`.execute(transaction);
  for (const statement of completionTables) await sql.raw(statement).execute(transaction);
}
