// Trajectory groups as rows of their own, a folded line each or more where it is long: a submission can hold hundreds of
// megabytes, and no statement may carry such a text. They are read back the same way, a row at a time.
import { type Kysely, sql, type Transaction } from "kysely";
import { notFound } from "../domain/service-error.ts";
import { portions } from "./portions.ts";
import type { Schema } from "./schema.ts";

/** Of one statement. */
const rowsMax = 500;

/** The tables of groups, and what the groups of each belong to. */
const owners = {
  job_groups: { column: "job_id", table: "jobs", kind: "training job", removed: "data_removed_at" },
  trajectory_groups: {
    column: "log_id",
    table: "trajectory_logs",
    kind: "log of trajectories",
    removed: "removed_at",
  },
} as const;

export interface GroupsToStore {
  readonly table: keyof typeof owners;
  readonly ownerId: string;
  /** A group each, folded. */
  readonly lines: Iterable<string>;
  /** Called with each part of a line as it is stored, in order. */
  readonly onLine: (line: string) => void;
}

/** Stores groups inside the caller's transaction; the event loop breathes between its statements. */
export async function storeGroups(
  transaction: Transaction<Schema>,
  { table, ownerId, lines, onLine }: GroupsToStore,
): Promise<void> {
  const columns = sql.join([sql.ref(owners[table].column), sql.ref("group_index"), sql.ref("content")]);
  let groupIndex = 0;
  for (const portion of portions(lines, { rowsMax, lengthOf: (line) => line.length })) {
    const rows = portion.map((line) => {
      onLine(line);
      return sql`(${ownerId}, ${groupIndex++}, ${line})`;
    });
    await sql`insert into ${sql.table(table)} (${columns}) values ${sql.join(rows)}`.execute(transaction);
  }
}

/**
 * The folded lines that were stored for a job or a log, one row in memory at a time.
 *
 * @param from how many rows are left out
 * @throws ServiceError `not_found`
 */
export async function* storedLines(
  database: Kysely<Schema>,
  table: keyof typeof owners,
  ownerId: string,
  from = 0,
): AsyncGenerator<string, void> {
  const owner = owners[table];
  for (let groupIndex = from; ; groupIndex++) {
    const { rows } = await sql<{ content: string }>`
      select content from ${sql.table(table)} where ${sql.ref(owner.column)} = ${ownerId} and group_index = ${groupIndex}
    `.execute(database);
    if (rows.length === 0) break;
    yield rows[0].content;
  }
  // An owner goes with all its groups at once, or is marked before they go: else what was read is all of it. Databases that are
  // being brought to an early version have no such mark.
  const { rows } = await sql<Readonly<Record<string, unknown>>>`
    select * from ${sql.table(owner.table)} where id = ${ownerId}`.execute(database);
  if (rows.length === 0 || (rows[0][owner.removed] ?? null) !== null) throw notFound(owner.kind, ownerId);
}
