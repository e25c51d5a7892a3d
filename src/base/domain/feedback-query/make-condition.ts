// Makes the conditions of a query. The type of one side of a comparison decides how the other side is converted; types
// that cannot be compared are refused. Comparisons of two constants are evaluated once, here.
import { ServiceError } from "../service-error.ts";
import {
  constantCondition,
  typeOf,
  type Comparison,
  type Condition,
  type Constant,
  type Expression,
  type ExpressionType,
  type FieldExpression,
} from "./condition.ts";
import { timeOf } from "./time-literals.ts";
import { compareTexts, lowerLatin, numberOfText, searchableText } from "./values.ts";

/** Returns a constant of a query. Texts are converted to the form in which records store their texts for searches. */
export function constant(value: string | number | boolean | null): Constant {
  if (value === null) return { kind: "constant", type: "null", value };
  if (typeof value === "string") return { kind: "constant", type: "text", value: searchableText(value) };
  if (typeof value === "number") return { kind: "constant", type: "number", value: value + 0 };
  return { kind: "constant", type: "boolean", value };
}

/**
 * Returns a comparison of two expressions. A payload value is converted to the type of the other expression; two
 * payload values are compared as texts. "Equals null" means "is missing"; any other comparison with null is unknown.
 *
 * @throws ServiceError `unsupported` if the types cannot be compared
 */
export function compare(operator: Comparison, a: Expression, b: Expression): Condition {
  if (typeOf(a) === "null" || typeOf(b) === "null") {
    if (operator !== "eq") return constantCondition(null);
    return missing(typeOf(a) === "null" ? b : a);
  }
  const type = commonType(typeOf(a), typeOf(b));
  const [left, right] = [readAs(a, type), readAs(b, type)];
  if (left.kind === "constant" && right.kind === "constant")
    return constantCondition(compareConstants(operator, left, right));
  if (left.kind === "constant") return atMilliseconds(mirrored[operator], right, left);
  return right.kind === "constant"
    ? atMilliseconds(operator, left, right)
    : { kind: "compare", operator, left, right };
}

const mirrored: Readonly<Record<Comparison, Comparison>> = {
  eq: "eq",
  gt: "lt",
  gte: "lte",
  lt: "gt",
  lte: "gte",
};

/**
 * Compares with a constant that may have a fraction of a millisecond. Stored times have whole milliseconds, so the
 * constant is rounded down.
 */
function atMilliseconds(operator: Comparison, left: Expression, right: Constant): Condition {
  if (right.type !== "time" || Number.isInteger(right.value))
    return { kind: "compare", operator, left, right };
  if (operator === "eq") return constantCondition(false);
  const before: Constant = { kind: "constant", type: "time", value: Math.floor(right.value) };
  const whole = operator === "gt" || operator === "gte" ? "gt" : "lte";
  return { kind: "compare", operator: whole, left, right: before };
}

function compareConstants(operator: Comparison, a: Constant, b: Constant): boolean | null {
  if (a.value === null || b.value === null) return null;
  return holdsOf(operator, orderOf(a.value, b.value));
}

/**
 * Returns a negative number if `a` comes before `b`, a positive number if it comes after `b`, and 0 if they are equal.
 * Both values must have the same type. False comes before true.
 */
export function orderOf(a: string | number | boolean, b: string | number | boolean): number {
  return typeof a === "string" ? compareTexts(a, String(b)) : Number(a) - Number(b);
}

/**
 * True if the comparison holds for two values.
 *
 * @param order their order, as {@link orderOf} returns it
 */
export function holdsOf(operator: Comparison, order: number): boolean {
  switch (operator) {
    case "eq":
      return order === 0;
    case "gt":
      return order > 0;
    case "gte":
      return order >= 0;
    case "lt":
      return order < 0;
    default:
      return order <= 0;
  }
}

function commonType(a: ExpressionType, b: ExpressionType): ExpressionType {
  if (a === "value" && b === "value") return "text";
  if (a === "value" && b !== "time") return b;
  if (b === "value" && a !== "time") return a;
  if (a === b) return a;
  const [time, other] = a === "time" ? [a, b] : [b, a];
  if (time === "time" && (other === "text" || other === "number")) return time;
  throw refusal(
    `${typeNames[a]} cannot be compared with ${typeNames[b]}; read one as the other's type with $convert, or give a literal of that type`,
  );
}

const typeNames: Readonly<Record<ExpressionType, string>> = {
  text: "a text",
  number: "a number",
  boolean: "a truth value",
  time: "created_at",
  null: "null",
  value: "a value of the payload",
};

function readAs(expression: Expression, type: ExpressionType): Expression {
  const own = typeOf(expression);
  if (own === type) return expression;
  if (expression.kind === "field") {
    if (type === "text") return { kind: "text of", input: expression };
    if (type === "number") return { kind: "number of", input: expression };
    if (type === "boolean") return { kind: "truth of", input: expression };
  }
  if (type === "time" && expression.kind === "constant" && expression.value !== null) {
    const value = timeOf(expression.value);
    if (value !== null) return { kind: "constant", type: "time", value };
    throw refusal(
      `created_at is compared with ${JSON.stringify(expression.value).slice(0, 100)}; it is compared with a date or a time in ISO 8601, or with seconds since 1970, of the years 0 to 9999`,
    );
  }
  throw refusal(
    `${typeNames[own]} cannot be compared with ${typeNames[type]}; created_at is compared with literals alone`,
  );
}

export type ConvertedTo = "double" | "string" | "int" | "bool" | "exists";

/**
 * Returns an expression that converts the value of another expression to a type.
 *
 * @throws ServiceError `unsupported` if the conversion is impossible
 */
export function convert(input: Expression, to: ConvertedTo): Expression {
  const type = typeOf(input);
  if (to === "exists") return not(missing(input));
  if (type === "null") return input;
  if (input.kind === "constant") return convertedConstant(input, to);
  if (to === "int") return { kind: "whole", input: convert(input, "double") };
  const target = { double: "number", string: "text", bool: "boolean" } as const;
  if (type === target[to]) return input;
  if (input.kind === "field" && type !== "time") {
    if (to === "double") return { kind: "number of", input };
    return to === "string" ? { kind: "text of", input } : { kind: "truth of", input };
  }
  throw refusal(`${typeNames[type]} cannot be converted to ${to}; a text or a value of the payload can`);
}

function convertedConstant(input: Constant, to: Exclude<ConvertedTo, "exists">): Constant {
  const text = String(input.value);
  const number = input.type === "number" ? input.value : numberOfText(text);
  switch (to) {
    case "string":
      return constant(text);
    case "double":
      return constant(number);
    case "int":
      return constant(number === null ? null : Math.trunc(number));
    default:
      return constant(text === "true" ? true : text === "false" ? false : null);
  }
}

/** Returns the condition that a value is missing. Its result is true or false, never unknown. */
export function missing(input: Expression): Condition {
  if (input.kind === "constant") return constantCondition(input.value === null);
  return { kind: "missing", input };
}

export function not(condition: Condition): Condition {
  if (condition.kind !== "constant") return { kind: "not", condition };
  return constantCondition(condition.value === null ? null : !condition.value);
}

export function all(kind: "and" | "or", conditions: readonly Condition[]): Condition {
  return conditions.length === 1 ? conditions[0] : { kind, conditions };
}

/**
 * Returns the condition that a value equals at least one of the options.
 *
 * @throws ServiceError with the errors of {@link compare}
 */
export function isOneOf(value: Expression, options: readonly Expression[]): Condition {
  if (options.length === 0) return constantCondition(false);
  return all(
    "or",
    options.map((option) => compare("eq", value, option)),
  );
}

/**
 * Returns the condition that a text contains another text literally, without wildcards.
 *
 * @throws ServiceError `unsupported` unless the input is a text or a value of the payload
 */
export function contains(input: Expression, substring: Expression, ignoresCase: boolean): Condition {
  const [text, part] = [textToSearch(input, "input"), textToSearch(substring, "substr")];
  if (text === null || part === null) return constantCondition(null);
  if (text.kind !== "constant" || part.kind !== "constant")
    return { kind: "contains", text, part, ignoresCase };
  const fold = ignoresCase ? lowerLatin : String;
  return constantCondition(fold(String(text.value)).includes(fold(String(part.value))));
}

function textToSearch(expression: Expression, name: string): Expression | null {
  const type = typeOf(expression);
  if (type === "null") return null;
  if (type === "text") return expression;
  if (expression.kind === "field" && type === "value") return { kind: "text of", input: expression };
  throw refusal(
    `${name} of $contains is ${typeNames[type]}; it must be a text. Put a number in quotation marks`,
  );
}

/**
 * Returns an expression for the number of items in a list.
 *
 * @throws ServiceError `unsupported` if the input cannot be a list
 */
export function itemCount(input: Expression): Expression {
  if (input.kind === "field" && typeOf(input) === "value") return { kind: "item count", input };
  if (typeOf(input) === "null") return input;
  throw refusal(`$size of ${typeNames[typeOf(input)]}; only a value of the payload can be a list`);
}

/**
 * Converts an expression to a condition.
 *
 * @throws ServiceError `unsupported` for a text, a number or a time
 */
export function asCondition(expression: Expression): Condition {
  if (isCondition(expression)) return expression;
  if (isValueField(expression)) return { kind: "truth of", input: expression };
  throw refusal(
    `${typeNames[typeOf(expression)]} is not true or false; compare it with something, as with $eq`,
  );
}

function isCondition(expression: Expression): expression is Condition {
  const type = typeOf(expression);
  return type === "boolean" || type === "null";
}

function isValueField(expression: Expression): expression is FieldExpression {
  return expression.kind === "field" && typeOf(expression) === "value";
}

function refusal(what: string): ServiceError {
  return new ServiceError({ code: "unsupported", message: `${what}.` });
}
