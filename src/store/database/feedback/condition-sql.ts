// Translates a feedback condition to SQL, with the condition's constants as parameters. As in SQL, null represents the
// result `unknown`.
import { type RawBuilder, sql, type SqlBool } from "kysely";
import type {
  Comparison,
  Condition,
  Constant,
  Expression,
  FieldExpression,
} from "../../../base/domain/feedback-query/condition.ts";
import type { FeedbackField, TextField } from "../../../base/domain/feedback-query/feedback-field.ts";
import type { SqlForm, SqlNumber, SqlText } from "../sql-form.ts";

/** Columns of the table `feedback` that contain the text fields. */
export const textColumns = {
  id: "feedback.id",
  projectId: "feedback.project_id",
  vendorRef: "feedback.vendor_ref",
  vendorUserId: "feedback.vendor_user_id",
  feedbackType: "feedback.feedback_type",
  creator: "feedback.creator",
  annotationRef: "feedback.annotation_ref",
  runnableRef: "feedback.runnable_ref",
  callRef: "feedback.call_ref",
  triggerRef: "feedback.trigger_ref",
  queueId: "feedback.queue_id",
  callId: "feedback.call_id",
} as const satisfies Readonly<Record<TextField, string>>;

const operators: Readonly<Record<Comparison, RawBuilder<unknown>>> = {
  eq: sql`=`,
  gt: sql`>`,
  gte: sql`>=`,
  lt: sql`<`,
  lte: sql`<=`,
};

type Sql = RawBuilder<unknown>;
type SqlCondition = RawBuilder<SqlBool>;

export function conditionSql(condition: Condition, form: SqlForm): SqlCondition {
  switch (condition.kind) {
    case "constant":
      return booleanSql(condition.value);
    case "and":
    case "or":
      return joined(
        condition.kind,
        condition.conditions.map((part) => conditionSql(part, form)),
      );
    case "not":
      return sql`(not ${conditionSql(condition.condition, form)})`;
    case "compare": {
      const [left, right] = [valueSql(condition.left, form), valueSql(condition.right, form)];
      const [first, second] =
        condition.operator === "eq" ? [left, right] : orderedPair(condition.left, [left, right], form);
      return sql`(${first} ${operators[condition.operator]} ${second})`;
    }
    case "missing":
      return sql`(${valueSql(condition.input, form)} is null)`;
    case "contains": {
      // Safe cast: both sides of a `contains` condition are texts.
      const [text, part] = [condition.text, condition.part].map((side) => {
        const value = valueSql(side, form) as SqlText;
        return condition.ignoresCase ? form.lower(value) : value;
      });
      return sql`(${form.position(text, part)} > 0)`;
    }
    default:
      return sql`(case ${fieldText(condition.input.field, form)} when 'true' then ${booleanSql(true)} when 'false' then ${booleanSql(false)} end)`;
  }
}

/** Makes comparisons of texts use code point order, because some databases use another order by default. */
function orderedPair(side: Expression, pair: readonly [Sql, Sql], form: SqlForm): readonly [Sql, Sql] {
  const isText =
    side.kind === "text of" ||
    (side.kind === "constant" && side.type === "text") ||
    (side.kind === "field" && side.field.kind === "text");
  // Safe cast: the two operands of a comparison have the same type, so the other operand is a text, too.
  return isText ? [form.ordered(pair[0] as SqlText), form.ordered(pair[1] as SqlText)] : pair;
}

/**
 * Joins conditions as a balanced tree, because databases limit the depth of expressions. A thousand conditions are then
 * only ten levels deep.
 */
function joined(kind: "and" | "or", parts: readonly SqlCondition[]): SqlCondition {
  if (parts.length === 1) return parts[0];
  const half = parts.length >> 1;
  const [left, right] = [joined(kind, parts.slice(0, half)), joined(kind, parts.slice(half))];
  return kind === "and" ? sql`(${left} and ${right})` : sql`(${left} or ${right})`;
}

function booleanSql(value: boolean | null): SqlCondition {
  if (value === null) return sql`(1 = null)`;
  return value ? sql`(1 = 1)` : sql`(1 = 0)`;
}

function valueSql(expression: Expression, form: SqlForm): Sql {
  switch (expression.kind) {
    case "constant":
      return constantSql(expression);
    case "field":
      return expression.field.kind === "createdAt"
        ? sql.ref("feedback.created_at")
        : fieldText(expression.field, form);
    case "text of":
      return textSql(expression.input, form);
    case "number of":
      return numberSql(expression.input.field, form);
    case "whole":
      // Safe cast: checking the condition's types has made sure that the input is a number.
      return form.whole(valueSql(expression.input, form) as SqlNumber);
    case "item count":
      return expression.input.field.kind === "payload"
        ? form.itemCount(payloadAt(expression.input.field, form))
        : sql`null`;
    default:
      return conditionSql(expression, form);
  }
}

function constantSql(constant: Constant): Sql {
  if (constant.value === null) return sql`null`;
  switch (constant.type) {
    case "text":
      return sql`cast(${constant.value} as text)`;
    // Casts the number from text, as the numbers in payloads are cast. However a database rounds, the same digits then
    // give the same number in the query and in the payload.
    case "number":
      return sql`cast(${JSON.stringify(constant.value)} as double precision)`;
    case "time":
      return sql`cast(${new Date(constant.value).toISOString()} as text)`;
    default:
      return booleanSql(constant.value);
  }
}

function textSql({ field }: FieldExpression, form: SqlForm): SqlText {
  const text = fieldText(field, form);
  return field.kind === "payload" ? sql`coalesce(${text}, '')` : text;
}

/** Returns SQL for the text of a field. Its value is null if the field is missing. */
export function fieldText(field: FeedbackField, form: SqlForm): SqlText {
  switch (field.kind) {
    case "text":
      return sql.ref(textColumns[field.name]);
    case "createdAt":
      return sql.ref("feedback.created_at");
    default:
      return form.textOfJson(payloadAt(field, form));
  }
}

/** Returns SQL for the number in a field. Its value is null if the field is missing or not a number. */
export function numberSql(field: FeedbackField, form: SqlForm): SqlNumber {
  return field.kind === "payload"
    ? form.numberOfJson(payloadAt(field, form))
    : form.numberOfText(fieldText(field, form));
}

function payloadAt({ path }: Extract<FeedbackField, { readonly kind: "payload" }>, form: SqlForm): SqlText {
  return form.jsonAt(sql.ref("feedback.payload"), path);
}
