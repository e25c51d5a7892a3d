// To version 23: the numbers of feedback with the times of their records, by which they are sorted.
import { sql, type Transaction } from "kysely";
import { recordColumns, recordOf, type RecordRow } from "../../feedback/feedback-rows.ts";
import { FeedbackNumbers } from "../../feedback/numeric-index.ts";
import type { Schema } from "../../schema.ts";
import type { SqlForm } from "../../sql-form.ts";

/** That of feedback/numeric-index, which a new database has too. */
export const numbersTable = ({ clusteredTable }: SqlForm): string => `create table feedback_numbers (
  field_id bigint not null, number double precision not null, sequence bigint not null,
  created_ms bigint not null,
  primary key (field_id, number, sequence)
) ${clusteredTable}`;

/** Read at once; each may have a megabyte. */
const recordsPerPortion = 50;

export async function addVersion23(transaction: Transaction<Schema>, form: SqlForm): Promise<void> {
  await sql`drop table feedback_numbers`.execute(transaction);
  await sql.raw(numbersTable(form)).execute(transaction);
  const numbers = new FeedbackNumbers(form);
  for (let last: RecordRow | null = null; ;) {
    const rows: readonly RecordRow[] = await recordsBehind(transaction, last);
    if (rows.length === 0) return;
    const records = rows.map((row) => ({ record: recordOf(row), sequence: row.sequence }));
    numbers.learn(await numbers.add(transaction, records));
    last = rows[rows.length - 1];
  }
}

async function recordsBehind(
  transaction: Transaction<Schema>,
  last: RecordRow | null,
): Promise<readonly RecordRow[]> {
  const behind =
    last === null ? sql`` : sql`where (project_id, sequence) > (${last.project_id}, ${last.sequence})`;
  const { rows } = await sql<RecordRow>`
    select ${sql.join(recordColumns.map((column) => sql.ref(column)))} from feedback ${behind}
    order by project_id, sequence limit ${recordsPerPortion}`.execute(transaction);
  return rows;
}
