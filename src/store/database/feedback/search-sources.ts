// Where the records of a query are looked for: in all of a project's, by whatever index the database finds for the
// condition, or at the numbers of a path, where these are few. Each gives the same records.
import { type RawBuilder, sql, type SqlBool } from "kysely";
import type { Condition } from "../../../base/domain/feedback-query/condition.ts";
import type { FeedbackQuery } from "../../../base/domain/feedback-query/feedback-query.ts";
import { emojiLengthMax } from "../../../base/domain/feedback-query/stored-form.ts";
import type { Connection } from "../dialect.ts";
import type { SearchTurn } from "../searches/searches.ts";
import { conditionSql } from "./condition-sql.ts";
import type { FeedbackNumbers } from "./numeric-index.ts";
import {
  besideRange,
  conjuncts,
  inRange,
  isRangeAlone,
  numericRanges,
  type NumericRange,
} from "./numeric-ranges.ts";

/** Records that are few: sorted in some fifty milliseconds, each of them read. */
export const fewRecords = 10_000;
/** As many times more are few where else all records would be read to see what the condition says of them. */
const fewBesideOthers = 8;

/** What searches are made with. */
export interface SearchTools {
  readonly connection: Connection;
  readonly numbers: FeedbackNumbers;
  /** How many records are few. */
  readonly few: number;
}

export interface SearchSource {
  readonly from: RawBuilder<unknown>;
  readonly where: RawBuilder<SqlBool>;
}

/** What a search knows of the numbers that its condition names. */
export interface NumericFacts {
  /** Whether the index has all numbers of the project's records. */
  readonly isComplete: boolean;
  /** The range that lets the fewest through, where that is known to be few. */
  readonly few: { readonly path: string; readonly where: RawBuilder<SqlBool> } | null;
  /** The condition, where it says nothing but that a number is in a range, and the index has them all. */
  readonly all: RawBuilder<SqlBool> | null;
}

export const noNumbers: NumericFacts = { isComplete: false, few: null, all: null };

/** Looks up how many records the ranges of a condition let through, until they are no longer few. */
export async function numericFacts(
  { connection, numbers, few: fewAlone }: SearchTools,
  { projectId, condition }: Pick<FeedbackQuery, "projectId" | "condition">,
  turn: SearchTurn,
): Promise<NumericFacts> {
  const ranges = numericRanges(condition);
  if (ranges.length === 0 || conjuncts(condition).some(isSelective)) return noNumbers;
  const isComplete = await hasAllNumbers(connection, projectId, turn);
  const isAlone = isComplete && isRangeAlone(condition);
  const fewMax = isAlone ? fewAlone : fewBesideOthers * fewAlone;
  let [few, fewest]: [NumericFacts["few"], number] = [null, fewMax + 1];
  let all: RawBuilder<SqlBool> | null = null;
  for (const range of ranges) {
    const where = await rangeSql(connection, numbers, projectId, range);
    const counted = sql<{ readonly count: number }>`
      select count(*) as count from (select 1 from feedback_numbers where ${where} limit ${fewMax + 1}) as few`;
    const [{ count }] = await connection.searches.run(counted.compile(connection.queries), turn);
    if (count < fewest) [few, fewest] = [{ path: range.path, where }, count];
    if (isAlone) all = where;
  }
  return { isComplete, few, all };
}

/** Of a path that no number is at, none. */
async function rangeSql(
  { queries }: Connection,
  numbers: FeedbackNumbers,
  projectId: string,
  range: NumericRange,
): Promise<RawBuilder<SqlBool>> {
  const fieldId = await numbers.find(queries, projectId, range.path);
  return fieldId === null ? sql`(1 = 0)` : inRange(fieldId, range);
}

export async function hasAllNumbers(
  { queries, searches }: Connection,
  projectId: string,
  turn: SearchTurn,
): Promise<boolean> {
  const marked = sql`select 1 as one from feedback where project_id = ${projectId} and has_more_numbers = 1 limit 1`;
  return (await searches.run(marked.compile(queries), turn)).length === 0;
}

/** Whether an index finds what it holds for, which is little. */
function isSelective(condition: Condition): boolean {
  if (condition.kind !== "compare" || condition.operator !== "eq" || condition.right.kind !== "constant")
    return false;
  const { left } = condition;
  return (
    left.kind === "field" &&
    left.field.kind === "text" &&
    ["id", "vendorRef", "queueId", "callId"].includes(left.field.name)
  );
}

export function sourceOf(
  { form }: Pick<Connection, "form">,
  { projectId, condition }: Pick<FeedbackQuery, "projectId" | "condition">,
  { few, isComplete }: NumericFacts,
): SearchSource {
  const ofProject = sql<SqlBool>`feedback.project_id = ${projectId}`;
  if (few === null) {
    const holds = sql<SqlBool>`${conditionSql(condition, form)}${emojiSql(condition)}`;
    return { from: sql`feedback`, where: sql`${ofProject} and ${holds}` };
  }
  // What the index says of a number is not asked of the payload again.
  const rest: Condition = isComplete ? { kind: "and", conditions: besideRange(condition, few) } : condition;
  const holds =
    rest.kind === "and" && rest.conditions.length === 0 ? sql`` : sql` and ${conditionSql(rest, form)}`;
  // Those whose numbers are not all in the index are looked at too.
  const marked = isComplete
    ? sql``
    : sql` union select sequence from feedback where project_id = ${projectId} and has_more_numbers = 1`;
  return {
    // In this order, which SQLite keeps: from the few to their records.
    from: sql`(select sequence from feedback_numbers where ${few.where}${marked}) as numbered cross join feedback`,
    where: sql`feedback.sequence = numbered.sequence and ${ofProject}${holds}`,
  };
}

/** What the index of emoji goes by, beside a condition that says the same of the payload. */
function emojiSql(condition: Condition): RawBuilder<unknown> {
  for (const part of conjuncts(condition)) {
    if (part.kind !== "compare" || part.operator !== "eq") continue;
    const { left, right } = part;
    if (left.kind !== "text of" || left.input.field.kind !== "payload") continue;
    const [name, ...further] = left.input.field.path;
    if (name !== "emoji" || further.length > 0 || right.kind !== "constant" || right.type !== "text")
      continue;
    if (right.value !== "" && right.value.length <= emojiLengthMax)
      return sql` and feedback.emoji = ${right.value}`;
  }
  return sql``;
}
