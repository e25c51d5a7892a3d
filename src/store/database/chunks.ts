// Splits lists into chunks, each of which fits into one SQL statement. A statement takes at most four thousand
// parameters, and building a large statement would block the event loop. Also joins many conditions into a tree,
// because databases limit the depth of expressions.
import { type Expression, expressionBuilder, type SqlBool } from "kysely";
import { assert } from "../../base/domain/assert.ts";
import type { Schema } from "./schema.ts";

/** Maximum total length of a statement's rows in characters. A single longer row gets a statement of its own. */
const charactersMax = 1 << 20;

/**
 * Maximum number of conditions that are joined on one level of the tree. SQLite limits the depth of an expression to a
 * thousand, and `a or b or c` adds one level per condition.
 */
const groupMax = 100;

/** Yields the rows in order, in chunks that fit into one SQL statement each. Reads the iterable lazily. */
export function* chunkRows<Row>(
  rows: Iterable<Row>,
  { rowsMax, lengthOf }: { readonly rowsMax: number; readonly lengthOf: (row: Row) => number },
): Generator<readonly Row[], void> {
  let chunk: Row[] = [];
  let length = 0;
  for (const row of rows) {
    chunk.push(row);
    length += lengthOf(row);
    if (chunk.length < rowsMax && length < charactersMax) continue;
    yield chunk;
    chunk = [];
    length = 0;
  }
  if (chunk.length > 0) yield chunk;
}

/**
 * Returns a condition that is true if any of the given conditions is.
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
