// To version 32: the bytes of feedback that is stored of each project.
import { sql, type Transaction } from "kysely";
import type { Schema } from "../schema.ts";
import type { SqlForm } from "../sql-form.ts";

export async function addVersion32(transaction: Transaction<Schema>, form: SqlForm): Promise<void> {
  await sql`alter table project_bytes add column record_bytes bigint not null default 0`.execute(transaction);
  const entity = sql`substr(project_id, 1, ${form.position(sql`project_id`, sql`${"/"}`)} - 1)`;
  await sql`
    insert into project_bytes (project_id, entity, record_bytes)
    select project_id, ${entity}, sum(octet_length(payload)) from feedback where true group by project_id
    on conflict (project_id) do update set record_bytes = excluded.record_bytes`.execute(transaction);
}
