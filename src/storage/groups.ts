// Trajectory groups as rows of their own, one text each: a submission can hold hundreds of megabytes, and no statement
// may build such a text or hold the event loop that long. They are read back the same way, a line at a time.
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Kysely, sql, type Transaction } from "kysely";
import { notFound } from "../domain/service-error.ts";
import type { TrajectoryGroup } from "../domain/trajectory.ts";
import type { Schema } from "./schema.ts";

/** After this many characters written, other work of the process gets a turn. */
const charactersPerTurn = 1 << 20;
/** A statement takes as long as so many characters. */
const charactersPerStatement = 1 << 14;

/** The tables of groups, and what the groups of each belong to. */
const owners = {
  job_groups: { column: "job_id", table: "jobs", kind: "training job" },
  trajectory_groups: { column: "log_id", table: "trajectory_logs", kind: "log of trajectories" },
} as const;

export interface GroupsToStore {
  readonly table: keyof typeof owners;
  readonly ownerId: string;
  /** A group each. */
  readonly lines: Iterable<string>;
  /** Called with each group as it is stored, in order. */
  readonly onLine: (line: string) => void;
}

/** Stores groups inside the caller's transaction, letting the event loop breathe in between. */
export async function storeGroups(
  transaction: Transaction<Schema>,
  { table, ownerId, lines, onLine }: GroupsToStore,
): Promise<void> {
  const columns = sql.join([sql.ref(owners[table].column), sql.ref("group_index"), sql.ref("content")]);
  let groupIndex = 0;
  let pendingCost = 0;
  for (const line of lines) {
    onLine(line);
    await sql`insert into ${sql.table(table)} (${columns}) values (${ownerId}, ${groupIndex}, ${line})`.execute(
      transaction,
    );
    groupIndex += 1;
    pendingCost += charactersPerStatement + line.length;
    if (pendingCost < charactersPerTurn) continue;
    pendingCost = 0;
    await nextTurn();
  }
}

/** The lines that were stored for a job or a log, one statement and one line in memory at a time. @throws ServiceError `not_found` */
export async function* storedLines(
  database: Kysely<Schema>,
  table: keyof typeof owners,
  ownerId: string,
): AsyncGenerator<string, void> {
  const owner = owners[table];
  for (let groupIndex = 0; ; groupIndex++) {
    const { rows } = await sql<{ content: string }>`
      select content from ${sql.table(table)} where ${sql.ref(owner.column)} = ${ownerId} and group_index = ${groupIndex}
    `.execute(database);
    if (rows.length === 0) break;
    yield rows[0].content;
  }
  // An owner goes with all its groups at once: while it is there, what was read is all of it.
  const { rows } = await sql`select id from ${sql.table(owner.table)} where id = ${ownerId}`.execute(
    database,
  );
  if (rows.length === 0) throw notFound(owner.kind, ownerId);
}

/** Reads a group back from its line. */
export function groupOf(line: string): TrajectoryGroup {
  // The line is what `storeGroups` made of a group.
  return JSON.parse(line) as TrajectoryGroup;
}
