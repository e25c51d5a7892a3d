// For tests: evaluates a condition in memory. Tests compare the results of SQL with it.
import type { FeedbackRecord } from "../../feedback.ts";
import type { Condition, Expression, FieldExpression } from "../../feedback-query/condition.ts";
import type { FeedbackField } from "../../feedback-query/feedback-field.ts";
import { holdsOf, orderOf } from "../../feedback-query/make-condition.ts";
import { recordText } from "../../feedback-query/stored-form.ts";
import { lowerLatin, numberOfText, searchableText, textOf, valueAt } from "../../feedback-query/values.ts";

/** True if the condition is true for the record. False if it is false or unknown. */
export function holds(condition: Condition, record: FeedbackRecord): boolean {
  return truthOf(condition, record) === true;
}

type Value = string | number | boolean | null;

function truthOf(condition: Condition, record: FeedbackRecord): boolean | null {
  switch (condition.kind) {
    case "constant":
      return condition.value;
    case "and":
      return joined(condition.conditions, record, false);
    case "or":
      return joined(condition.conditions, record, true);
    case "not": {
      const truth = truthOf(condition.condition, record);
      return truth === null ? null : !truth;
    }
    case "compare": {
      const [left, right] = [valueOf(condition.left, record), valueOf(condition.right, record)];
      if (left === null || right === null) return null;
      return holdsOf(condition.operator, orderOf(left, right));
    }
    case "missing":
      return valueOf(condition.input, record) === null;
    case "contains": {
      const [text, part] = [valueOf(condition.text, record), valueOf(condition.part, record)];
      if (text === null || part === null) return null;
      const fold = condition.ignoresCase ? lowerLatin : String;
      return fold(String(text)).includes(fold(String(part)));
    }
    default: {
      const text = fieldText(condition.input.field, record);
      return text === "true" ? true : text === "false" ? false : null;
    }
  }
}

/**
 * Joins conditions by `and` or `or`.
 *
 * @param decisive result of the join as soon as one condition has this result, even if others are unknown
 */
function joined(conditions: readonly Condition[], record: FeedbackRecord, decisive: boolean): boolean | null {
  let isUnknown = false;
  for (const condition of conditions) {
    const truth = truthOf(condition, record);
    if (truth === decisive) return decisive;
    isUnknown ||= truth === null;
  }
  return isUnknown ? null : !decisive;
}

function valueOf(expression: Expression, record: FeedbackRecord): Value {
  switch (expression.kind) {
    case "constant":
      return expression.value;
    case "field":
      return expression.field.kind === "createdAt"
        ? record.createdAt.getTime()
        : fieldText(expression.field, record);
    case "text of":
      return (
        fieldText(expression.input.field, record) ?? (expression.input.field.kind === "payload" ? "" : null)
      );
    case "number of": {
      const text = fieldText(expression.input.field, record);
      return text === null ? null : numberOfText(text);
    }
    case "whole": {
      const number = valueOf(expression.input, record);
      return number === null ? null : Math.trunc(Number(number));
    }
    case "item count":
      return itemCountOf(expression.input, record);
    default:
      return truthOf(expression, record);
  }
}

/** Returns the text of a field of the record; null if the record has none there. */
export function fieldText(field: FeedbackField, record: FeedbackRecord): string | null {
  if (field.kind === "payload") return textOf(valueAt(record.payload, field.path));
  if (field.kind === "createdAt") return record.createdAt.toISOString();
  const text = recordText(record, field.name);
  return text === null ? null : searchableText(text);
}

function itemCountOf({ field }: FieldExpression, record: FeedbackRecord): number | null {
  const value = field.kind === "payload" ? valueAt(record.payload, field.path) : undefined;
  return Array.isArray(value) ? value.length : null;
}
