// Lists cut so that no statement is large: a statement is made and sent in the event loop, and carries at most four thousand
// parameters. And conditions cut so that no expression has many levels.
import { type Expression, expressionBuilder, type SqlBool } from "kysely";
import { assert } from "../../base/domain/assert.ts";
import type { Schema } from "./schema.ts";

/** Of one statement, unless a single row has more. */
const charactersMax = 1 << 20;

/** Conditions on one level. SQLite allows a thousand levels in an expression, and `a or b or c` has one for each condition. */
const groupMax = 100;

/** The rows in order, in portions of one statement each; taken from `rows` as they are asked for. */
export function* portions<Row>(
  rows: Iterable<Row>,
  { rowsMax, lengthOf }: { readonly rowsMax: number; readonly lengthOf: (row: Row) => number },
): Generator<readonly Row[], void> {
  let portion: Row[] = [];
  let length = 0;
  for (const row of rows) {
    portion.push(row);
    length += lengthOf(row);
    if (portion.length < rowsMax && length < charactersMax) continue;
    yield portion;
    portion = [];
    length = 0;
  }
  if (portion.length > 0) yield portion;
}

/**
 * Holds where one of the conditions holds.
 *
 * @param conditions one or more, up to 10,000
 */
export function anyOf(conditions: readonly Expression<SqlBool>[]): Expression<SqlBool> {
  assert(conditions.length > 0 && conditions.length <= groupMax ** 2, "anyOf takes 1 to 10,000 conditions");
  const builder = expressionBuilder<Schema>();
  if (conditions.length <= groupMax) return builder.or(conditions);
  const groups: Expression<SqlBool>[] = [];
  for (let start = 0; start < conditions.length; start += groupMax)
    groups.push(builder.or(conditions.slice(start, start + groupMax)));
  return builder.or(groups);
}
