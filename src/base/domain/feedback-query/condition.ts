// What a query asks of a record, with a type for every part: nothing here compares a text with a number, so that whoever
// carries it out, in SQL or in memory, has no rule of conversion to know. Conditions are made by `make-condition`. They
// have three values, as SQL's have: what compares something that is not there is unknown, and so is its opposite.
import type { FeedbackField } from "./feedback-field.ts";

/** What is compared. */
export type Expression =
  | Condition
  | FieldExpression
  | Constant
  /**
   * The text that a value is; a value of the payload that is not there, or null, is the empty text, a number or a list is
   * its JSON.
   */
  | { readonly kind: "text of"; readonly input: FieldExpression }
  /** The number that a text, or the text of a value, is written as; see `numberOfText`. Unknown where it is none. */
  | { readonly kind: "number of"; readonly input: FieldExpression }
  /** Without its fraction. */
  | { readonly kind: "whole"; readonly input: Expression }
  /** How many items a list has; unknown of anything else. */
  | { readonly kind: "item count"; readonly input: FieldExpression };

export interface FieldExpression {
  readonly kind: "field";
  readonly field: FeedbackField;
}

/** Milliseconds since 1970 in UTC where the type is `time`. */
export type Constant =
  | { readonly kind: "constant"; readonly type: "text"; readonly value: string }
  | { readonly kind: "constant"; readonly type: "number" | "time"; readonly value: number }
  | { readonly kind: "constant"; readonly type: "boolean"; readonly value: boolean }
  /** Nothing that is there. As a condition: unknown. */
  | { readonly kind: "constant"; readonly type: "null"; readonly value: null };

/** What is true of a record, false, or unknown. */
export type Condition =
  | { readonly kind: "constant"; readonly type: "boolean"; readonly value: boolean }
  | { readonly kind: "constant"; readonly type: "null"; readonly value: null }
  | { readonly kind: "and" | "or"; readonly conditions: readonly Condition[] }
  | { readonly kind: "not"; readonly condition: Condition }
  /** Both sides have one type, and neither is a constant null. */
  | {
      readonly kind: "compare";
      readonly operator: Comparison;
      readonly left: Expression;
      readonly right: Expression;
    }
  /** Never unknown. A value of the payload that is null is missing too. */
  | { readonly kind: "missing"; readonly input: Expression }
  /** `ignoresCase` of the letters A to Z. */
  | {
      readonly kind: "contains";
      readonly text: Expression;
      readonly part: Expression;
      readonly ignoresCase: boolean;
    }
  /** Whether a text, or the text of a value, is `true`; unknown where it is not `false` either. */
  | { readonly kind: "truth of"; readonly input: FieldExpression };

export type Comparison = "eq" | "gt" | "gte" | "lt" | "lte";

/** `value` is what the payload holds, of whatever type. */
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

/** True of every record. */
export const always: Condition = { kind: "constant", type: "boolean", value: true };
const unknown: Condition = { kind: "constant", type: "null", value: null };

export function constantCondition(value: boolean | null): Condition {
  return value === null ? unknown : { kind: "constant", type: "boolean", value };
}
