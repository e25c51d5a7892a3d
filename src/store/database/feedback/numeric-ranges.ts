// Derives number ranges from a condition. A range has a path and bounds: every matching record must have, at this path,
// a number within the bounds.
import { type RawBuilder, sql, type SqlBool } from "kysely";
import type { Comparison, Condition } from "../../../base/domain/feedback-query/condition.ts";
import { fieldPath } from "./numeric-index.ts";

export interface NumericRange {
  /** Payload path in the form that the index of numbers uses. */
  readonly path: string;
  readonly bounds: readonly { readonly operator: Comparison; readonly value: number }[];
}

/** Splits a condition into parts that must all be true. */
export function conjuncts(condition: Condition): readonly Condition[] {
  return condition.kind === "and" ? condition.conditions.flatMap(conjuncts) : [condition];
}

/**
 * Returns the ranges that follow from the condition, one per path: every matching record must have a number in the
 * range at this path.
 */
export function numericRanges(condition: Condition): readonly NumericRange[] {
  const ranges = new Map<string, NumericRange>();
  for (const part of conjuncts(condition)) {
    const range = rangeOf(part);
    if (range === null) continue;
    const bounds = [...(ranges.get(range.path)?.bounds ?? []), ...range.bounds];
    ranges.set(range.path, { path: range.path, bounds });
  }
  return [...ranges.values()];
}

function rangeOf(condition: Condition): NumericRange | null {
  if (condition.kind !== "compare") return null;
  const { left, right, operator } = condition;
  if (left.kind !== "number of" || left.input.field.kind !== "payload") return null;
  if (right.kind !== "constant" || right.type !== "number") return null;
  return { path: fieldPath(left.input.field.path), bounds: [{ operator, value: right.value }] };
}

/**
 * Returns those parts of a condition that a range does not express. A range expresses the comparisons of the number at
 * its path, and nothing else.
 */
export function conditionsOutsideRange(
  condition: Condition,
  { path }: Pick<NumericRange, "path">,
): readonly Condition[] {
  return conjuncts(condition).filter((part) => rangeOf(part)?.path !== path);
}

/** True if a condition requires nothing but a number in a range. */
export function isOnlyRange(condition: Condition): boolean {
  const ranges = numericRanges(condition);
  return ranges.length === 1 && conditionsOutsideRange(condition, ranges[0]).length === 0;
}

const operators: Readonly<Record<Comparison, RawBuilder<unknown>>> = {
  eq: sql`=`,
  gt: sql`>`,
  gte: sql`>=`,
  lt: sql`<`,
  lte: sql`<=`,
};

/** Returns the condition, on the table `feedback_numbers`, that a field's number is within a range. */
export function inRange(fieldId: number, { bounds }: Pick<NumericRange, "bounds">): RawBuilder<SqlBool> {
  const parts = bounds.map(
    ({ operator, value }) =>
      sql`feedback_numbers.number ${operators[operator]} cast(${value} as double precision)`,
  );
  return sql`${sql.join([sql`feedback_numbers.field_id = ${fieldId}`, ...parts], sql` and `)}`;
}
