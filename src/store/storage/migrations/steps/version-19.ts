// To version 19: recorded completions, and of each record of feedback the call that it is on.
import { sql, type Transaction } from "kysely";
import { calledBy } from "../../../../base/domain/feedback-query/stored-form.ts";
import type { Schema } from "../../schema.ts";

/** Those of completions/, which a new database has too. Both indexes hold what lists are filtered by. */
export const completionTables: readonly string[] = [
  `create table recorded_completions (
    sequence bigint not null,
    model_id text not null references models (id) on delete cascade,
    entity text not null, project_id text not null, call_id text not null, step integer not null,
    ended_at text not null, byte_count integer not null, is_whole integer not null, outline text not null,
    message_piece text, token_piece text, content text,
    primary key (call_id, project_id)
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

/** Finds what there is on a call. */
export const feedbackByCall = "create index feedback_by_call on feedback (project_id, call_id)";

/** Records that are read at once. */
const rowsMax = 500;

export async function addVersion19(transaction: Transaction<Schema>): Promise<void> {
  await sql`alter table models add column completion_count integer not null default 0`.execute(transaction);
  for (const statement of completionTables) await sql.raw(statement).execute(transaction);
  await sql`alter table feedback add column call_id text`.execute(transaction);
  await nameCalls(transaction);
  await sql.raw(feedbackByCall).execute(transaction);
}

async function nameCalls(transaction: Transaction<Schema>): Promise<void> {
  for (let after = ["", ""]; ;) {
    const [projectId, id] = after;
    const { rows } = await sql<{
      readonly project_id: string;
      readonly id: string;
      readonly vendor_ref: string;
    }>`
      select project_id, id, vendor_ref from feedback
      where project_id > ${projectId} or (project_id = ${projectId} and id > ${id})
      order by project_id, id limit ${rowsMax}
    `.execute(transaction);
    for (const row of rows) {
      const callId = calledBy({ projectId: row.project_id, vendorRef: row.vendor_ref });
      if (callId === null) continue;
      await sql`update feedback set call_id = ${callId} where project_id = ${row.project_id} and id = ${row.id}`.execute(
        transaction,
      );
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < rowsMax) return;
    after = [last.project_id, last.id];
  }
}
