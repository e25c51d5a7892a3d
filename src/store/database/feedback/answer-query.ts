// Executes a feedback query: counts the matching records, finds the sequence numbers of the records on the requested
// page in order, and reads those records.
import { sql, type RawBuilder } from "kysely";
import { systemClock } from "../../../base/domain/clock.ts";
import type {
  FeedbackQuery,
  FeedbackResult,
  QueryTurn,
  SortKey,
} from "../../../base/domain/feedback-query/feedback-query.ts";
import { pageBytesMax } from "../../../base/domain/page.ts";
import type { TextField } from "../../../base/domain/feedback-query/feedback-field.ts";
import type { Connection } from "../dialect.ts";
import type { SearchTurn } from "../searches/searches.ts";
import type { SqlForm } from "../sql-form.ts";
import { fieldText, numberSql } from "./condition-sql.ts";
import { fieldPath } from "./numeric-index.ts";
import { inRange, numericRanges } from "./numeric-ranges.ts";
import { recordsAt } from "./records-at.ts";
import {
  hasAllNumbers,
  numericFacts,
  sourceOf,
  type NumericFacts,
  type SearchTools,
} from "./search-sources.ts";

/**
 * Executes a feedback query.
 *
 * @throws ServiceError with the codes of `Searches.run`
 */
export async function answerQuery(
  tools: SearchTools,
  query: FeedbackQuery,
  turn: QueryTurn,
): Promise<FeedbackResult> {
  const { connection } = tools;
  const search = searchTurn(turn);
  const facts = await numericFacts(tools, query, search);
  const { queries } = connection;
  const bytesMax = query.bytesMax ?? pageBytesMax;
  const counted = await readCountedPage(connection, query, facts, search);
  if (counted !== null) {
    const { items } = await recordsAt(queries, query.projectId, counted.sequences, bytesMax);
    return { items, totalCount: counted.totalCount };
  }
  const totalCount = await countOf(connection, query, facts, search);
  if (query.limit === 0 || query.offset >= totalCount) return { items: [], totalCount };
  const sequences =
    (await readPageByTime(connection, { query, facts, totalCount }, search)) ??
    (await readPageByNumber(tools, { query, facts, totalCount }, search)) ??
    (await inOrder(connection, query, facts, search));
  const { items } = await recordsAt(queries, query.projectId, sequences, bytesMax);
  return { items, totalCount };
}

export function searchTurn({ entity, timeMs }: QueryTurn): SearchTurn {
  return { entity, timeMs, endMs: systemClock.monotonicMs() + timeMs };
}

interface CountedPage {
  readonly sequences: readonly number[];
  readonly totalCount: number;
}

/**
 * Reads the page and the total count in one statement, because the round trip is most of the duration of an indexed
 * search. Returns null if they must be read separately: if the search strategy depends on the count, or if the page is
 * empty, because an empty result contains no count.
 */
async function readCountedPage(
  connection: Connection,
  query: FeedbackQuery,
  facts: NumericFacts,
  turn: SearchTurn,
): Promise<CountedPage | null> {
  if (query.limit === 0 || facts.all !== null || query.sortBy[0]?.field.kind === "payload") return null;
  const { queries, searches, form } = connection;
  const { from, where } = sourceOf(connection, query, facts);
  const page = sql<{ readonly sequence: number; readonly count: number }>`
    select feedback.sequence as sequence, (select count(*) from ${from} where ${where}) as count
    from ${from} where ${where} order by ${orderSql(query.sortBy, form)} limit ${query.limit} offset ${query.offset}`;
  const rows = await searches.run(page.compile(queries), turn);
  if (rows.length > 0) return { sequences: rows.map(({ sequence }) => sequence), totalCount: rows[0].count };
  return query.offset === 0 ? { sequences: [], totalCount: 0 } : null;
}

async function countOf(
  connection: Connection,
  query: FeedbackQuery,
  facts: NumericFacts,
  turn: SearchTurn,
): Promise<number> {
  const source =
    facts.all === null
      ? sourceOf(connection, query, facts)
      : { from: sql`feedback_numbers`, where: facts.all };
  const counted = sql<{
    readonly count: number;
  }>`select count(*) as count from ${source.from} where ${source.where}`;
  const [{ count }] = await connection.searches.run(counted.compile(connection.queries), turn);
  return count;
}

async function inOrder(
  connection: Connection,
  query: FeedbackQuery,
  facts: NumericFacts,
  turn: SearchTurn,
): Promise<readonly number[]> {
  const { from, where } = sourceOf(connection, query, facts);
  const order = orderSql(query.sortBy, connection.form);
  return sequencesOf(connection, sql`from ${from} where ${where} order by ${order}`, query, turn);
}

/** Maximum number of index rows to sort by time. Sorting that many takes about 30 milliseconds. */
const sortedMax = 150_000;

/**
 * Reads a page sorted by time, if the condition is only a range of a number. The index of numbers suffices for this,
 * because it also contains the time. Returns null for other queries.
 */
async function readPageByTime(
  { queries, searches }: Connection,
  { query, facts, totalCount }: Asked,
  turn: SearchTurn,
): Promise<readonly number[] | null> {
  const [key, ...further] = query.sortBy;
  const isByTime = key?.field.kind === "createdAt" && further.length === 0;
  if (facts.all === null || !isByTime || totalCount > sortedMax) return null;
  const way = key.direction === "asc" ? sql`asc` : sql`desc`;
  const page = sql<{ readonly sequence: number }>`
    select sequence from feedback_numbers where ${facts.all}
    order by created_ms ${way}, sequence limit ${query.limit} offset ${query.offset}`;
  return (await searches.run(page.compile(queries), turn)).map(({ sequence }) => sequence);
}

interface Asked {
  readonly query: FeedbackQuery;
  readonly facts: NumericFacts;
  readonly totalCount: number;
}

/**
 * Reads a page of a query that matches many records and sorts first by a number in the payload. Records that have this
 * number precede all others, and are read in the order of the index. Returns null if the query is of another kind, or
 * if the page includes records without the number.
 */
async function readPageByNumber(
  { connection, numbers, few }: SearchTools,
  { query, facts, totalCount }: Asked,
  turn: SearchTurn,
): Promise<readonly number[] | null> {
  const [first, ...rest] = query.sortBy;
  if (totalCount <= few || first?.field.kind !== "payload") return null;
  const path = fieldPath(first.field.path);
  const fieldId = await numbers.find(connection.queries, query.projectId, path);
  if (fieldId === null) return null;
  const range = numericRanges(query.condition).find((each) => each.path === path);
  const isComplete = facts.isComplete || (await hasAllNumbers(connection, query.projectId, turn));
  if (!isComplete) return null;
  const { form } = connection;
  const way = first.direction === "asc" ? sql`asc` : sql`desc`;
  const { where } = sourceOf(connection, query, { ...facts, few: null });
  const ofRecord = sql`${inRange(fieldId, { bounds: range?.bounds ?? [] })} and feedback.sequence = feedback_numbers.sequence`;
  const order = sql`feedback_numbers.number ${way}, ${form.ordered(fieldText(first.field, form))} ${way}, ${orderSql(rest, form)}`;
  const found = await sequencesOf(
    connection,
    sql`from feedback_numbers cross join feedback where ${ofRecord} and ${where} order by ${order}`,
    query,
    turn,
  );
  return found.length === Math.min(query.limit, totalCount - query.offset) ? found : null;
}

async function sequencesOf(
  { queries, searches }: Connection,
  records: RawBuilder<unknown>,
  { limit, offset }: Pick<FeedbackQuery, "limit" | "offset">,
  turn: SearchTurn,
): Promise<readonly number[]> {
  const page = sql<{ readonly sequence: number }>`
    select feedback.sequence as sequence ${records} limit ${limit} offset ${offset}`;
  const rows = await searches.run(page.compile(queries), turn);
  return rows.map(({ sequence }) => sequence);
}

/** Text fields that every record has. */
const presentTexts: readonly TextField[] = ["id", "projectId", "vendorRef", "vendorUserId", "feedbackType"];

/**
 * Returns SQL for the order that the query requests. For each sort field, records with a value precede records without
 * one, and numbers precede texts. Records with equal values are in storage order.
 */
function orderSql(sortBy: readonly SortKey[], form: SqlForm): RawBuilder<unknown> {
  const terms = sortBy.flatMap((key) => termsOf(key, form));
  return sql.join([...terms, sql`feedback.sequence`]);
}

function termsOf({ field, direction }: SortKey, form: SqlForm): readonly RawBuilder<unknown>[] {
  const way = direction === "asc" ? sql`asc` : sql`desc`;
  const text = fieldText(field, form);
  if (field.kind === "createdAt") return [sql`${text} ${way}`];
  const byText = sql`${form.ordered(text)} ${way}`;
  if (field.kind === "text")
    return presentTexts.includes(field.name) ? [byText] : [sql`(${text} is null)`, byText];
  const number = numberSql(field, form);
  return [sql`(${text} is null)`, sql`(${number} is null)`, sql`${number} ${way}`, byText];
}
