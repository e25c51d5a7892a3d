// Chooses from where a query reads records. It can read all records of the project, by an index that the database
// chooses; if few records have a number in a range, it reads those by the index of numbers. All sources give the same
// matches.
import { type RawBuilder, sql, type SqlBool } from "kysely";
import type { Condition } from "../../../base/domain/feedback-query/condition.ts";
import type { FeedbackQuery } from "../../../base/domain/feedback-query/feedback-query.ts";
import { emojiLengthMax } from "../../../base/domain/feedback-query/stored-form.ts";
import type { Connection } from "../dialect.ts";
import type { SearchTurn } from "../searches/searches.ts";
import { conditionSql } from "./condition-sql.ts";
import type { FeedbackNumbers } from "./numeric-index.ts";
import {
  conditionsOutsideRange,
  conjuncts,
  inRange,
  isOnlyRange,
  numericRanges,
  type NumericRange,
} from "./numeric-ranges.ts";

/**
 * Maximum number of records that count as few. Reading that many takes about 50 milliseconds, and sorting them takes as
 * long.
 */
export const fewRecords = 10_000;
/** Factor by which the limit for few records is raised if the alternative is to read all records of the project. */
const fewBesideOthers = 8;

/** Objects that every search needs. */
export interface SearchTools {
  readonly connection: Connection;
  readonly numbers: FeedbackNumbers;
  /** Maximum number of matching records that a search reads one by one. Larger numbers do not count as few. */
  readonly few: number;
}

export interface SearchSource {
  readonly from: RawBuilder<unknown>;
  readonly where: RawBuilder<SqlBool>;
}

/** Facts about the numbers that a condition compares, which decide the source of records. */
export interface NumericFacts {
  /** True if the index contains all numbers of the project's records. */
  readonly isComplete: boolean;
  /** The range with the fewest records; null if no range is known to have few records. */
  readonly few: { readonly path: string; readonly where: RawBuilder<SqlBool> } | null;
  /**
   * Condition on the index that is equivalent to the whole condition. Null unless the condition is only a number range
   * and the index contains all numbers.
   */
  readonly all: RawBuilder<SqlBool> | null;
}

export const noNumbers: NumericFacts = { isComplete: false, few: null, all: null };

/**
 * Counts the records in each number range of a condition. Stops counting at the number of records that counts as few.
 */
export async function numericFacts(
  { connection, numbers, few: fewAlone }: SearchTools,
  { projectId, condition }: Pick<FeedbackQuery, "projectId" | "condition">,
  turn: SearchTurn,
): Promise<NumericFacts> {
  const ranges = numericRanges(condition);
  if (ranges.length === 0 || conjuncts(condition).some(isSelective)) return noNumbers;
  const isComplete = await hasAllNumbers(connection, projectId, turn);
  const isAlone = isComplete && isOnlyRange(condition);
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

/**
 * Returns the condition on the index for a range. It matches nothing if the index has no numbers at the range's path.
 */
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

/** True if the database can use an index for the condition, and the condition is likely to match few records. */
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
  // The index already evaluates the comparisons of the range, so they need not be evaluated on the payload.
  const rest: Condition = isComplete
    ? { kind: "and", conditions: conditionsOutsideRange(condition, few) }
    : condition;
  const holds =
    rest.kind === "and" && rest.conditions.length === 0 ? sql`` : sql` and ${conditionSql(rest, form)}`;
  // Also reads records that contain more numbers than the index stores.
  const marked = isComplete
    ? sql``
    : sql` union select sequence from feedback where project_id = ${projectId} and has_more_numbers = 1`;
  return {
    // On SQLite, a cross join fixes the order of the join: from the few numbers to their records.
    from: sql`(select sequence from feedback_numbers where ${few.where}${marked}) as numbered cross join feedback`,
    where: sql`feedback.sequence = numbered.sequence and ${ofProject}${holds}`,
  };
}

/**
 * Adds a condition with which the database can use the index of emoji. It does not change the result, because the query
 * also has the condition on the payload.
 */
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
