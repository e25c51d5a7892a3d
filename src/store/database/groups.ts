// Stores trajectory groups as rows. A group is a line of JSON, folded into one or more rows. A submission can have
// hundreds of megabytes, too much for one SQL statement, so groups are written and read row by row.
import { type Kysely, type RawBuilder, sql, type Transaction } from "kysely";
import { notFound } from "../../base/domain/service-error.ts";
import type { Connection } from "./dialect.ts";
import { chunkRows } from "./chunks.ts";
import type { Schema } from "./schema.ts";

/** Maximum number of rows in one INSERT statement. */
const rowsMax = 500;
/** Maximum number of rows that one SQL statement removes. */
const removedMax = 200;

/**
 * Tables that contain trajectory groups. Each entry says in which table the groups' owners (jobs or logs) are, and
 * which column has an owner's id.
 */
export const groupOwners = {
  job_groups: { column: "job_id", table: "jobs", kind: "training job", removed: "data_removed_at" },
  trajectory_groups: {
    column: "log_id",
    table: "trajectory_logs",
    kind: "log of trajectories",
    removed: "removed_at",
  },
} as const;

type GroupTable = keyof typeof groupOwners;

export interface GroupsToStore {
  readonly table: GroupTable;
  readonly ownerId: string;
  /**
   * Data lines to store, one per group; a long line is folded into several parts (`base/domain/text/folded-lines.ts`).
   */
  readonly lines: Iterable<string>;
  /** Called with each part of a line as the part is stored, in order. */
  readonly onLine: (line: string) => void;
}

/** Groups whose owner (a job or a log) is not stored yet. */
export interface StagedGroups {
  /**
   * Stores the remaining groups, within the transaction that stores their owner. Yields to the event loop between SQL
   * statements.
   */
  finish(transaction: Transaction<Schema>): Promise<void>;
  /** Removes the groups that were stored early, if the owner's transaction failed. Never rejects. */
  discard(): Promise<void>;
}

/**
 * Prepares the groups of an owner (a job or a log) that is about to be stored. If one long transaction would block
 * other writers (`Connection.writeEarly`), stores groups that need several statements immediately, in separate
 * transactions. Groups without an owner are invisible; {@link removeUnowned} removes those that a killed process left.
 *
 * @param isWanted asked before anything is stored early; if false, `finish` stores everything
 * @throws the database's errors; nothing is stored then
 */
export async function stageGroups(
  { queries, writeEarly }: Pick<Connection, "queries" | "writeEarly">,
  groups: GroupsToStore,
  isWanted: () => Promise<boolean>,
): Promise<StagedGroups> {
  const statements = insertions(groups);
  const first = [statements.next(), statements.next()].flatMap(({ done, value }) =>
    done === true ? [] : [value],
  );
  if (writeEarly === null || first.length < 2 || !(await isWanted())) {
    return {
      finish: async (transaction) => {
        for (const statement of first) await statement.execute(transaction);
        for (const statement of statements) await statement.execute(transaction);
      },
      discard: async () => undefined,
    };
  }
  const discard = (): Promise<void> => removeGroups(queries, groups).catch(() => undefined);
  try {
    for (const statement of first) await writeEarly(statement.compile(queries));
    for (const statement of statements) await writeEarly(statement.compile(queries));
  } catch (error) {
    await discard();
    throw error;
  }
  return { finish: async () => undefined, discard };
}

/** Yields the INSERT statements that store the groups, one after the other. */
function* insertions({ table, ownerId, lines, onLine }: GroupsToStore): Generator<RawBuilder<unknown>, void> {
  const columns = sql.join([sql.ref(groupOwners[table].column), sql.ref("group_index"), sql.ref("content")]);
  let groupIndex = 0;
  for (const chunk of chunkRows(lines, { rowsMax, lengthOf: (line) => line.length })) {
    const rows = chunk.map((line) => {
      onLine(line);
      return sql`(${ownerId}, ${groupIndex++}, ${line})`;
    });
    yield sql`insert into ${sql.table(table)} (${columns}) values ${sql.join(rows)}`;
  }
}

/** Removes the groups of an owner that does not exist, a few in each transaction. */
async function removeGroups(
  queries: Kysely<Schema>,
  { table, ownerId }: Pick<GroupsToStore, "table" | "ownerId">,
): Promise<void> {
  // Makes sure that the owner is missing, because a commit that reported an error may have succeeded.
  const { rows } =
    await sql`select id from ${sql.table(groupOwners[table].table)} where id = ${ownerId}`.execute(queries);
  if (rows.length > 0) return;
  while ((await removeSomeGroups(queries, table, ownerId)) > 0);
}

/**
 * Removes some of an owner's groups.
 *
 * @returns number of removed rows; 0 if none are left
 */
export async function removeSomeGroups(
  database: Kysely<Schema>,
  table: GroupTable,
  ownerId: string,
): Promise<number> {
  const owned = sql`${sql.ref(groupOwners[table].column)} = ${ownerId}`;
  const { numAffectedRows } = await sql`
    delete from ${sql.table(table)} where ${owned} and group_index in
      (select group_index from ${sql.table(table)} where ${owned} limit ${removedMax})`.execute(database);
  return Number(numAffectedRows ?? 0n);
}

/** Removes all groups without an owner. Must be called only while no groups are being stored. */
export async function removeUnowned(database: Kysely<Schema>): Promise<void> {
  for (const [table, { column, table: owner }] of Object.entries(groupOwners)) {
    const [groups, id] = [sql.table(table), sql.ref(column)];
    // Steps from one owner to the next in the index, without reading any group.
    await sql`
      with recursive present (id) as (
        select min(${id}) from ${groups}
        union all
        select (select min(${id}) from ${groups} where ${id} > present.id) from present where present.id is not null
      )
      delete from ${groups} where ${id} in
        (select id from present where id is not null and id not in (select id from ${sql.table(owner)}))`.execute(
      database,
    );
  }
}

/**
 * Yields the data lines of a job or a log, with long lines folded into several parts; only one row is in memory at a
 * time.
 *
 * @param from number of rows to skip
 * @throws ServiceError `not_found`
 */
export async function* readStoredLines(
  database: Kysely<Schema>,
  table: GroupTable,
  ownerId: string,
  from = 0,
): AsyncGenerator<string, void> {
  const owner = groupOwners[table];
  for (let groupIndex = from; ; groupIndex++) {
    const { rows } = await sql<{ content: string }>`
      select content from ${sql.table(table)} where ${sql.ref(owner.column)} = ${ownerId} and group_index = ${groupIndex}
    `.execute(database);
    if (rows.length === 0) break;
    yield rows[0].content;
  }
  // Checks that no rows were removed while they were read. This can happen: an owner is deleted together with its
  // groups, or is marked before its groups are removed. While a database is being migrated, its version may be too
  // early for this mark.
  const { rows } = await sql<Readonly<Record<string, unknown>>>`
    select * from ${sql.table(owner.table)} where id = ${ownerId}`.execute(database);
  if (rows.length === 0 || (rows[0][owner.removed] ?? null) !== null) throw notFound(owner.kind, ownerId);
}
