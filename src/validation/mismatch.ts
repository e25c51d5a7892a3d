// The words for a value of the wrong JSON type, as pydantic's users know them.
import type { SchemaNode } from "./schema.ts";

interface FaultText {
  readonly type: string;
  readonly message: string;
}

/** What to say of a value that is not of the node's type. */
export function mismatch(node: SchemaNode, value: unknown): FaultText {
  if (node.enum !== undefined) {
    return { type: "literal_error", message: `Input should be ${listed(node.enum)}${got(value)}` };
  }
  switch (node.type) {
    case "number":
      return numberMismatch(value);
    case "integer":
      return integerMismatch(value);
    case "boolean":
      return booleanMismatch(value);
    case "string":
      return { type: "string_type", message: "Input should be a valid string" };
    case "array":
      return { type: "list_type", message: "Input should be a valid list" };
    case "object":
      return objectMismatch(node);
    default:
      return { type: "none_required", message: "Input should be None" };
  }
}

/** The value itself, as the end of a message; long ones are cut. */
export function got(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return `, got ${text.length <= 60 ? text : `${text.slice(0, 59)}…`}`;
}

function numberMismatch(value: unknown): FaultText {
  const message = "Input should be a valid number";
  if (typeof value === "number") return { type: "finite_number", message: "Input should be a finite number" };
  if (typeof value === "string" && !isNumeric(value)) {
    return { type: "float_parsing", message: `${message}, unable to parse string as a number` };
  }
  return { type: "float_type", message };
}

function integerMismatch(value: unknown): FaultText {
  const message = "Input should be a valid integer";
  if (typeof value === "number" && !Number.isFinite(value)) {
    return { type: "finite_number", message: "Input should be a finite number" };
  }
  if (typeof value === "number" && !Number.isInteger(value)) {
    return { type: "int_from_float", message: `${message}, got a number with a fractional part` };
  }
  if (typeof value === "number") {
    return {
      type: "int_parsing_size",
      message: "Unable to parse input string as an integer, exceeded maximum size",
    };
  }
  if (typeof value === "string" && !isNumeric(value)) {
    return { type: "int_parsing", message: `${message}, unable to parse string as an integer` };
  }
  return { type: "int_type", message };
}

function booleanMismatch(value: unknown): FaultText {
  const message = "Input should be a valid boolean";
  const isWord = typeof value === "string" && !/^(true|false)$/i.test(value);
  const isNumber = typeof value === "number" && value !== 0 && value !== 1;
  return isWord || isNumber
    ? { type: "bool_parsing", message: `${message}, unable to interpret input` }
    : { type: "bool_type", message };
}

function objectMismatch(node: SchemaNode): FaultText {
  const message = "Input should be a valid dictionary";
  if (node.title === undefined) return { type: "dict_type", message };
  return { type: "model_type", message: `${message} or instance of ${node.title}` };
}

function isNumeric(text: string): boolean {
  return text.trim() !== "" && !Number.isNaN(Number(text));
}

/** `'a', 'b' or 'c'` */
export function listed(values: readonly string[]): string {
  const quoted = values.map((value) => `'${value}'`);
  const last = quoted.pop() ?? "";
  return quoted.length === 0 ? last : `${quoted.join(", ")} or ${last}`;
}

export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
