// Error messages for values of the wrong JSON type, as users of pydantic know them.
import { cut } from "../domain/service-error.ts";
import type { SchemaNode } from "./schema.ts";

interface FaultText {
  readonly type: string;
  readonly message: string;
}

/** Returns the error for a value that does not have the type that the schema requires. */
export function mismatch(node: SchemaNode, value: unknown): FaultText {
  if (node.enum !== undefined) {
    return {
      type: "literal_error",
      message: `Input should be ${joinAlternatives(node.enum)}${receivedClause(value)}`,
    };
  }
  switch (node.type) {
    case "number":
      return numberMismatch(value);
    case "integer":
      return integerMismatch(value);
    case "boolean":
      return booleanMismatch(value);
    case "string":
      return { type: "string_type", message: `Input should be a valid string${receivedClause(value)}` };
    case "array":
      return { type: "list_type", message: `Input should be a valid list${receivedClause(value)}` };
    case "object":
      return objectMismatch(node, value);
    default:
      return { type: "none_required", message: `Input should be None${receivedClause(value)}` };
  }
}

/**
 * Returns the end of a message that shows the value, cut if it is long. For a list or object, it shows only the type.
 */
export function receivedClause(value: unknown): string {
  if (Array.isArray(value)) return ", got a list";
  if (typeof value === "object" && value !== null) return ", got an object";
  return `, got ${JSON.stringify(typeof value === "string" ? cut(value, shownLengthMax) : value) ?? "nothing"}`;
}

const shownLengthMax = 60;

function numberMismatch(value: unknown): FaultText {
  const message = "Input should be a valid number";
  if (typeof value === "number") return { type: "finite_number", message: "Input should be a finite number" };
  if (typeof value !== "string") return { type: "float_type", message: `${message}${receivedClause(value)}` };
  if (isNumeric(value)) return { type: "float_type", message: unquote(message, value) };
  return {
    type: "float_parsing",
    message: `${message}, unable to parse string as a number${receivedClause(value)}`,
  };
}

function integerMismatch(value: unknown): FaultText {
  const message = "Input should be a valid integer";
  if (typeof value === "number") return integerFromNumber(message, value);
  if (typeof value !== "string") return { type: "int_type", message: `${message}${receivedClause(value)}` };
  if (isNumeric(value)) return { type: "int_type", message: unquote(message, value) };
  return {
    type: "int_parsing",
    message: `${message}, unable to parse string as an integer${receivedClause(value)}`,
  };
}

function integerFromNumber(message: string, value: number): FaultText {
  if (!Number.isFinite(value)) return { type: "finite_number", message: "Input should be a finite number" };
  if (!Number.isInteger(value)) {
    return {
      type: "int_from_float",
      message: `${message}, got a number with a fractional part: ${value}`,
    };
  }
  return {
    type: "int_parsing_size",
    message: `Unable to parse input string as an integer, exceeded maximum size${receivedClause(value)}`,
  };
}

/** Extends the message for a number or boolean that is written as a text, which is a common mistake of clients. */
function unquote(message: string, value: string): string {
  return `${message}${receivedClause(value)}; send it without quotation marks`;
}

function booleanMismatch(value: unknown): FaultText {
  const message = "Input should be a valid boolean";
  if (typeof value === "string" && /^(true|false)$/i.test(value)) {
    return { type: "bool_type", message: unquote(message, value) };
  }
  const isOtherNumber = typeof value === "number" && value !== 0 && value !== 1;
  return typeof value === "string" || isOtherNumber
    ? { type: "bool_parsing", message: `${message}, unable to interpret input${receivedClause(value)}` }
    : { type: "bool_type", message: `${message}${receivedClause(value)}` };
}

function objectMismatch(node: SchemaNode, value: unknown): FaultText {
  const message = "Input should be a valid dictionary";
  if (node.title === undefined) return { type: "dict_type", message: `${message}${receivedClause(value)}` };
  return { type: "model_type", message: `${message} or instance of ${node.title}${receivedClause(value)}` };
}

function isNumeric(text: string): boolean {
  return text.trim() !== "" && !Number.isNaN(Number(text));
}

/** Joins values for a message, such as `'a', 'b' or 'c'`. */
export function joinAlternatives(values: readonly string[]): string {
  const quoted = values.map((value) => `'${value}'`);
  const last = quoted.pop() ?? "";
  return quoted.length === 0 ? last : `${quoted.join(", ")} or ${last}`;
}

export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
