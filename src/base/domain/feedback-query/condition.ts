// Conditions of a feedback query. They are fully typed: no text is compared with a number, so neither SQL nor in-memory
// evaluation needs rules for conversion. As in SQL, a condition is true, false or unknown: a comparison with a missing
// value is unknown, and its negation is unknown, too.
import type { FeedbackField } from "./feedback-field.ts";

/** Operand of a comparison. */
export type Expression =
  | Condition
  | FieldExpression
  | Constant
  /** A payload value as text. A missing value or null becomes the empty text; a number or a list becomes JSON. */
  | { readonly kind: "text of"; readonly input: FieldExpression }
  /** Number that a text, or the text of a value, represents (see `numberOfText`); unknown if it represents none. */
  | { readonly kind: "number of"; readonly input: FieldExpression }
  /** Integer part of a number. */
  | { readonly kind: "whole"; readonly input: Expression }
  /** Number of items in a list; unknown for any other value. */
  | { readonly kind: "item count"; readonly input: FieldExpression };

export interface FieldExpression {
  readonly kind: "field";
  readonly field: FeedbackField;
}

/** Constant value in a query. The value of type `time` is in milliseconds since 1970 (UTC). */
export type Constant =
  | { readonly kind: "constant"; readonly type: "text"; readonly value: string }
  | { readonly kind: "constant"; readonly type: "number" | "time"; readonly value: number }
  | { readonly kind: "constant"; readonly type: "boolean"; readonly value: boolean }
  /** A missing value. As a condition, it is unknown. */
  | { readonly kind: "constant"; readonly type: "null"; readonly value: null };

/** Condition on a record, with the result true, false or unknown. */
export type Condition =
  | { readonly kind: "constant"; readonly type: "boolean"; readonly value: boolean }
  | { readonly kind: "constant"; readonly type: "null"; readonly value: null }
  | { readonly kind: "and" | "or"; readonly conditions: readonly Condition[] }
  | { readonly kind: "not"; readonly condition: Condition }
  /** Comparison of two sides that have the same type. Neither is the constant null. */
  | {
      readonly kind: "compare";
      readonly operator: Comparison;
      readonly left: Expression;
      readonly right: Expression;
    }
  /**
   * True if the input is missing, otherwise false, but never unknown. A payload value that is null counts as missing.
   */
  | { readonly kind: "missing"; readonly input: Expression }
  /** True if one text contains another. `ignoresCase` affects only the letters A to Z. */
  | {
      readonly kind: "contains";
      readonly text: Expression;
      readonly part: Expression;
      readonly ignoresCase: boolean;
    }
  /** True if a text, or the text of a value, is `true`, and false if it is `false`. Unknown for any other text. */
  | { readonly kind: "truth of"; readonly input: FieldExpression };

export type Comparison = "eq" | "gt" | "gte" | "lt" | "lte";

/** Type of an expression. `value` is the type of a payload value, which may be of any type. */
export type ExpressionType = "text" | "number" | "boolean" | "time" | "null" | "value";

export function typeOf(expression: Expression): ExpressionType {
  switch (expression.kind) {
    case "constant":
      return expression.type;
    case "field":
      return fieldTypes[expression.field.kind];
    case "text of":
      return "text";
    case "number of":
    case "whole":
    case "item count":
      return "number";
    default:
      return "boolean";
  }
}

const fieldTypes = { text: "text", createdAt: "time", payload: "value" } as const;

/** True for every record. */
export const always: Condition = { kind: "constant", type: "boolean", value: true };
const unknown: Condition = { kind: "constant", type: "null", value: null };

export function constantCondition(value: boolean | null): Condition {
  return value === null ? unknown : { kind: "constant", type: "boolean", value };
}
