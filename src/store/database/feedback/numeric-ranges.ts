// What a condition says of numbers in payloads: for each path the interval that a record must have its number in.
import { type RawBuilder, sql, type SqlBool } from "kysely";
import type { Comparison, Condition } from "../../../base/domain/feedback-query/condition.ts";
import { fieldPath } from "./numeric-index.ts";

export interface NumericRange {
  /** As the index has it. */
  readonly path: string;
  readonly bounds: readonly { readonly operator: Comparison; readonly value: number }[];
}

/** The conditions that must all hold. */
export function conjuncts(condition: Condition): readonly Condition[] {
  return condition.kind === "and" ? condition.conditions.flatMap(conjuncts) : [condition];
}

/** One for each path that a number is compared at in every case. */
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

/** What a condition says beside a range, which is all that it says of the number at that path. */
export function besideRange(
  condition: Condition,
  { path }: Pick<NumericRange, "path">,
): readonly Condition[] {
  return conjuncts(condition).filter((part) => rangeOf(part)?.path !== path);
}

/** Whether a condition says nothing but that a number is in a range. */
export function isRangeAlone(condition: Condition): boolean {
  const ranges = numericRanges(condition);
  return ranges.length === 1 && besideRange(condition, ranges[0]).length === 0;
}

const operators: Readonly<Record<Comparison, RawBuilder<unknown>>> = {
  eq: sql`=`,
  gt: sql`>`,
  gte: sql`>=`,
  lt: sql`<`,
  lte: sql`<=`,
};

/** Of the table `feedback_numbers`. */
export function inRange(fieldId: number, { bounds }: Pick<NumericRange, "bounds">): RawBuilder<SqlBool> {
  const parts = bounds.map(
    ({ operator, value }) =>
      sql`feedback_numbers.number ${operators[operator]} cast(${value} as double precision)`,
  );
  return sql`${sql.join([sql`feedback_numbers.field_id = ${fieldId}`, ...parts], sql` and `)}`;
}
