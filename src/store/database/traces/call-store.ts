// Stores traced calls, one row for each. The start and the end of a call may be written in any order.
import { type CompiledQuery, sql, type Kysely, type Selectable, type Transaction } from "kysely";
import { fittingCount, pageBytesMax } from "../../../base/domain/page.ts";
import type {
  CallEnd,
  CallFilter,
  CallSlice,
  CallStart,
  CallStore,
  TracedCall,
} from "../../../base/domain/traces/traced-call.ts";
import { sizeOf } from "../paging.ts";
import { anyOf, chunkRows } from "../chunks.ts";
import type { Connection } from "../dialect.ts";
import { searchTurn } from "../feedback/answer-query.ts";
import type { Schema } from "../schema.ts";
import type { TracedCallTable } from "./trace-tables.ts";

/** Maximum number of rows in one SQL statement. */
const rowsMax = 200;
const contentColumns = ["about", "attributes", "inputs", "ending", "output", "summary"];

/** Time limit in milliseconds of a search for a status or for words, which has no index. */
const searchMs = 10_000;
/** Columns that are searched for words. */
const searchedColumns = ["op_name", "inputs", "output", "ending"];

/** Creates the call store on a migrated database. */
export function createCallStore({
  queries: database,
  form,
  searches,
}: Pick<Connection, "queries" | "form" | "searches">): CallStore {
  const matching = (
    projectId: string,
    filter: CallFilter,
    after: CallSlice["after"],
    isDescending: boolean,
  ) => {
    const calls = callsOf(database, projectId);
    return searched(
      filtered(after ? calls.where(isBehind(after, isDescending)) : calls, filter),
      filter,
      form,
    );
  };
  /** Runs a query in the time of other queries, or with a time limit if its filter has no index. */
  const run = async <Row>(
    query: Runnable<Row>,
    projectId: string,
    filter: CallFilter,
  ): Promise<readonly Row[]> => {
    if (filter.status === null && filter.words.length === 0) return await query.execute();
    const [entity = ""] = projectId.split("/");
    return await searches.run(query.compile(), searchTurn({ entity, timeMs: searchMs }));
  };
  return {
    write: (parts) =>
      database.transaction().execute(async (transaction) => {
        await writeStarts(transaction, newestOf(parts.map(({ start }) => start)));
        await writeEnds(transaction, newestOf(parts.map(({ end }) => end)));
      }),
    list: async (projectId, filter, { limit, offset, bytesMax = pageBytesMax, isDescending, after }) => {
      if (asksNothing(filter)) return [];
      const direction = isDescending ? "desc" : "asc";
      const rows = matching(projectId, filter, after, isDescending)
        .orderBy("started_at", direction)
        .orderBy("id", direction)
        .offset(offset);
      const sizes = rows.select(["id", sizeOf(contentColumns).as("bytes")]).limit(limit);
      const found = await run(sizes, projectId, filter);
      const fitting = fittingCount(
        found.map(({ bytes }) => bytes),
        bytesMax,
      );
      if (fitting === 0) return [];
      const ids = found.slice(0, fitting).map(({ id }) => id);
      const whole = await callsOf(database, projectId)
        .where("id", "in", ids)
        .orderBy("started_at", direction)
        .orderBy("id", direction)
        .selectAll()
        .execute();
      return whole.map(callOf);
    },
    count: async (projectId, filter) => {
      if (asksNothing(filter)) return 0;
      const counts = matching(projectId, filter, null, false).select(({ fn }) =>
        fn.countAll<number>().as("count"),
      );
      const [found] = await run(counts, projectId, filter);
      return found?.count ?? 0;
    },
    delete: async (projectId, ids) => {
      if (ids.length === 0) return 0;
      const { numDeletedRows } = await database
        .deleteFrom("traced_calls")
        .where("project_id", "=", projectId)
        .where("id", "in", ids)
        .executeTakeFirstOrThrow();
      return Number(numDeletedRows);
    },
  };
}

/** Returns only the last part of each call, because one SQL statement must not write the same row twice. */
function newestOf<P extends CallStart | CallEnd>(parts: readonly (P | null)[]): readonly P[] {
  const newest = new Map<string, P>();
  for (const part of parts) {
    if (part !== null) newest.set(JSON.stringify([part.projectId, part.id]), part);
  }
  return [...newest.values()];
}

async function writeStarts(transaction: Transaction<Schema>, starts: readonly CallStart[]): Promise<void> {
  const lengthOf = ({ about, attributes, inputs }: CallStart): number =>
    about.length + attributes.length + inputs.length;
  for (const chunk of chunkRows(starts, { rowsMax, lengthOf })) {
    await transaction
      .insertInto("traced_calls")
      .values(
        chunk.map((start) => ({
          project_id: start.projectId,
          id: start.id,
          created_by: start.createdBy,
          trace_id: start.traceId,
          parent_id: start.parentId,
          op_name: start.opName,
          started_at: start.startedAt,
          about: start.about,
          attributes: start.attributes,
          inputs: start.inputs,
        })),
      )
      .onConflict((conflict) =>
        conflict.columns(["project_id", "id"]).doUpdateSet((row) => ({
          trace_id: row.ref("excluded.trace_id"),
          parent_id: row.ref("excluded.parent_id"),
          op_name: row.ref("excluded.op_name"),
          started_at: row.ref("excluded.started_at"),
          about: row.ref("excluded.about"),
          attributes: row.ref("excluded.attributes"),
          inputs: row.ref("excluded.inputs"),
        })),
      )
      .execute();
  }
}

async function writeEnds(transaction: Transaction<Schema>, ends: readonly CallEnd[]): Promise<void> {
  const lengthOf = ({ ending, output, summary }: CallEnd): number =>
    ending.length + output.length + summary.length;
  for (const chunk of chunkRows(ends, { rowsMax, lengthOf })) {
    await transaction
      .insertInto("traced_calls")
      .values(
        chunk.map((end) => ({
          project_id: end.projectId,
          id: end.id,
          created_by: end.createdBy,
          ended_at: end.endedAt,
          ending: end.ending,
          output: end.output,
          summary: end.summary,
        })),
      )
      .onConflict((conflict) =>
        conflict.columns(["project_id", "id"]).doUpdateSet((row) => ({
          ended_at: row.ref("excluded.ended_at"),
          ending: row.ref("excluded.ending"),
          output: row.ref("excluded.output"),
          summary: row.ref("excluded.summary"),
        })),
      )
      .execute();
  }
}

function callsOf(database: Kysely<Schema>, projectId: string) {
  return database
    .selectFrom("traced_calls")
    .where("project_id", "=", projectId)
    .where("started_at", "is not", null);
}

type Calls = ReturnType<typeof callsOf>;

interface Runnable<Row> {
  readonly compile: () => CompiledQuery<Row>;
  readonly execute: () => Promise<Row[]>;
}

function isBehind({ startedAt, id }: NonNullable<CallSlice["after"]>, isDescending: boolean) {
  const place = sql`(${startedAt}, ${id})`;
  return isDescending ? sql<boolean>`(started_at, id) < ${place}` : sql<boolean>`(started_at, id) > ${place}`;
}

/**
 * True if one of the filter's lists is empty. Such a filter matches nothing, and an empty list is not valid SQL in
 * every database.
 */
function asksNothing({ opNames, ids, traceIds, parentIds }: CallFilter): boolean {
  return [opNames, ids, traceIds, parentIds].some((values) => values?.length === 0);
}

function filtered(
  calls: Calls,
  { opNames, ids, traceIds, parentIds, rootsOnly, startedFrom, startedBefore }: CallFilter,
): Calls {
  let found = calls;
  for (const [column, values] of [
    ["id", ids],
    ["trace_id", traceIds],
    ["parent_id", parentIds],
  ] as const) {
    if (values !== null) found = found.where(column, "in", values);
  }
  if (rootsOnly) found = found.where("parent_id", "is", null);
  if (startedFrom !== null) found = found.where("started_at", ">=", startedFrom);
  if (startedBefore !== null) found = found.where("started_at", "<", startedBefore);
  if (opNames === null) return found;
  const exact = opNames.filter((name) => !name.endsWith(anyVersion));
  const beginnings = opNames.filter((name) => name.endsWith(anyVersion)).map((name) => name.slice(0, -1));
  return found.where((row) =>
    anyOf([
      ...(exact.length === 0 ? [] : [row("op_name", "in", exact)]),
      ...beginnings.map((text) => sql<boolean>`substr(op_name, 1, ${Array.from(text).length}) = ${text}`),
    ]),
  );
}

const anyVersion = ":*";

/** Adds the conditions on a status and on words, for which the database reads the rows themselves. */
function searched(calls: Calls, { status, words }: CallFilter, form: Connection["form"]): Calls {
  let found = calls;
  if (status === "running") found = found.where("ended_at", "is", null);
  else if (status !== null) {
    const isSuccess = sql<boolean>`substr(ending, 1, ${withoutError.length}) = ${withoutError}`;
    found = found
      .where("ended_at", "is not", null)
      .where(status === "success" ? isSuccess : sql<boolean>`not (${isSuccess})`);
  }
  for (const word of words) {
    const part = sql<string>`${escaped(word)}`;
    const places = searchedColumns.map(
      (column) =>
        sql<boolean>`${form.position(form.lower(sql<string>`coalesce(${sql.ref(column)}, '')`), part)} > 0`,
    );
    found = found.where(anyOf(places));
  }
  return found;
}

/** Beginning of the stored JSON `ending` of a call that did not fail. */
const withoutError = '{"exception":null';

/** Returns a word as it is written inside a JSON text. */
function escaped(word: string): string {
  return JSON.stringify(word).slice(1, -1);
}

function callOf(row: Selectable<TracedCallTable>): TracedCall {
  const { project_id: projectId, id, created_by: createdBy, ended_at: endedAt } = row;
  return {
    projectId,
    id,
    traceId: row.trace_id ?? "",
    parentId: row.parent_id,
    opName: row.op_name ?? "",
    startedAt: row.started_at ?? "",
    about: row.about ?? "{}",
    attributes: row.attributes ?? "{}",
    inputs: row.inputs ?? "{}",
    createdBy,
    end: endedAt === null ? null : endOf(row, endedAt),
  };
}

function endOf(row: Selectable<TracedCallTable>, endedAt: string): CallEnd {
  return {
    projectId: row.project_id,
    id: row.id,
    endedAt,
    ending: row.ending ?? "{}",
    output: row.output ?? "null",
    summary: row.summary ?? "{}",
    createdBy: row.created_by,
  };
}
