// Checks a parsed JSON value against a schema, and names every fault with the messages and types that clients of
// FastAPI services know. Nothing is converted to another type. One schema thus validates, types and documents a body.
import { assert } from "../domain/assert.ts";
import { isUuid } from "../domain/random.ts";
import { ignore, isAtFaultLimit, isObject, report, type Findings } from "./findings.ts";
import { joinAlternatives, mismatch, plural, receivedClause } from "./mismatch.ts";
import type { SchemaNode } from "./schema.ts";

/** Adds the faults of a value to the findings. Returns true if there are none. */
export function check(schema: SchemaNode, value: unknown, findings: Findings): boolean {
  const before = findings.faultCount;
  visit(schema, value, findings);
  return findings.faultCount === before;
}

function visit(node: SchemaNode, value: unknown, findings: Findings): void {
  if (value === undefined) report(findings, "missing", "Field required");
  else if (node.anyOf !== undefined) visitUnion(node.anyOf, value, findings);
  else if (node.enum !== undefined) visitEnum(node.enum, value, findings);
  else if (node.type === undefined) visitFree(value, findings);
  else if (!fits(node, value)) {
    const { type, message } = mismatch(node, value);
    report(findings, type, message);
  } else if (typeof value === "number") visitNumber(node, value, findings);
  else if (typeof value === "string") visitString(node, value, findings);
  else if (Array.isArray(value)) visitArray(node, value, findings);
  else if (isObject(value)) visitObject(node, value, findings);
}

function fits(node: SchemaNode, value: unknown): boolean {
  switch (node.type) {
    case "integer":
      return Number.isInteger(value) && Math.abs(value as number) < 1e20;
    case "number":
      return Number.isFinite(value);
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    default:
      return typeof value === node.type;
  }
}

/** True if the value has the JSON type of this branch of a union, even if it has faults. */
function resembles(node: SchemaNode, value: unknown): boolean {
  if (node.enum !== undefined) return typeof value === "string";
  if (node.type === undefined) return true;
  if (node.type === "integer" || node.type === "number") return typeof value === "number";
  return fits(node, value);
}

function visitUnion(branches: readonly SchemaNode[], value: unknown, findings: Findings): void {
  const real = nonNullBranches(branches);
  if (value === null && real.length < branches.length) return;
  const only = real.length === 1 ? real : real.filter((branch) => resembles(branch, value));
  if (only.length === 1 && only[0] !== undefined) return visit(only[0], value, findings);
  assert(only.length === 0, "the branches of a union differ in their JSON type");
  for (const branch of real) {
    const { type, message } = mismatch(branch, value);
    report(findings, type, message, branch.title ?? branch.type ?? "value");
  }
}

/** Returns the branches of a union other than null. They are cached, because each check of a value needs them. */
function nonNullBranches(branches: readonly SchemaNode[]): readonly SchemaNode[] {
  let real = knownBranches.get(branches);
  if (real === undefined) {
    real = branches.filter((branch) => branch.type !== "null");
    knownBranches.set(branches, real);
  }
  return real;
}

const knownBranches = new WeakMap<readonly SchemaNode[], readonly SchemaNode[]>();

function visitEnum(values: readonly string[], value: unknown, findings: Findings): void {
  if (typeof value === "string" && values.includes(value)) return;
  report(findings, "literal_error", `Input should be ${joinAlternatives(values)}${receivedClause(value)}`);
}

/** Accepts any value, except for numbers that JSON cannot express. */
function visitFree(value: unknown, findings: Findings): void {
  if (typeof value === "number") {
    if (!Number.isFinite(value)) report(findings, "finite_number", "Input should be a finite number");
  } else if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) visitFreeItem(value[index], String(index), findings);
  } else if (isObject(value)) {
    for (const name of Object.keys(value)) visitFreeItem(value[name], name, findings);
  }
}

function visitFreeItem(item: unknown, name: string, findings: Findings): void {
  // Most items are texts and finite numbers, which cannot have faults.
  if (typeof item === "number" ? Number.isFinite(item) : typeof item !== "object" || item === null) return;
  findings.path.push(name);
  visitFree(item, findings);
  findings.path.pop();
}

function visitNumber(node: SchemaNode, value: number, findings: Findings): void {
  const { minimum, maximum, exclusiveMinimum } = node;
  if (minimum !== undefined && value < minimum) {
    report(
      findings,
      "greater_than_equal",
      `Input should be greater than or equal to ${minimum}${receivedClause(value)}`,
    );
  }
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum) {
    report(
      findings,
      "greater_than",
      `Input should be greater than ${exclusiveMinimum}${receivedClause(value)}`,
    );
  }
  if (maximum !== undefined && value > maximum) {
    report(
      findings,
      "less_than_equal",
      `Input should be less than or equal to ${maximum}${receivedClause(value)}`,
    );
  }
}

function visitString(node: SchemaNode, value: string, findings: Findings): void {
  const { minLength, maxLength, format } = node;
  if (format === "uuid" && !isUuid(value))
    report(findings, "uuid_parsing", `Input should be a valid UUID${receivedClause(value)}`);
  if (format === "date-time" && !isDateTime(value)) {
    report(
      findings,
      "datetime_parsing",
      `Input should be a valid datetime in ISO 8601${receivedClause(value)}`,
    );
  }
  if (isLengthSurelyBetween(value, minLength, maxLength)) return;
  const length = codePointCount(value);
  if (minLength !== undefined && length < minLength) {
    report(findings, "string_too_short", `String should have at least ${plural(minLength, "character")}`);
  }
  if (maxLength !== undefined && length > maxLength) {
    report(findings, "string_too_long", `String should have at most ${plural(maxLength, "character")}`);
  }
}

/**
 * True if the text's length is surely within the limits, without counting its characters. A character takes one or two
 * UTF-16 units.
 */
function isLengthSurelyBetween({ length }: string, minLength = 0, maxLength = Infinity): boolean {
  return length <= maxLength && length >= 2 * minLength - 1;
}

function codePointCount(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

function isDateTime(text: string): boolean {
  return /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/.test(text) && !Number.isNaN(Date.parse(text));
}

function visitArray(node: SchemaNode, value: readonly unknown[], findings: Findings): void {
  const { minItems, maxItems, items } = node;
  const count = value.length;
  if (minItems !== undefined && count < minItems) {
    const message = `List should have at least ${plural(minItems, "item")} after validation, not ${count}`;
    report(findings, "too_short", message);
  }
  if (maxItems !== undefined && count > maxItems) {
    const message = `List should have at most ${plural(maxItems, "item")} after validation, not ${count}`;
    report(findings, "too_long", message);
  }
  const { path } = findings;
  for (let index = 0; index < count && !isAtFaultLimit(findings); index++) {
    path.push(String(index));
    visit(items ?? free, value[index], findings);
    path.pop();
  }
}

/** A schema without keywords, which allows everything. */
const free: SchemaNode = {};

function visitObject(node: SchemaNode, value: Readonly<Record<string, unknown>>, findings: Findings): void {
  const { properties = {}, required = [], additionalProperties, maxProperties, propertyNames } = node;
  const count = maxProperties === undefined ? 0 : Object.keys(value).length;
  if (maxProperties !== undefined && count > maxProperties) {
    const message = `Dictionary should have at most ${plural(maxProperties, "item")} after validation, not ${count}`;
    report(findings, "too_long", message);
  }
  for (const name of required) {
    if (!Object.hasOwn(value, name)) report(findings, "missing", "Field required", name);
  }
  const { path } = findings;
  const namesUnknown = node["x-names-unknown"] === true;
  for (const name of Object.keys(value)) {
    const property = Object.hasOwn(properties, name) ? properties[name] : unknownField(additionalProperties);
    if (isAtFaultLimit(findings)) return;
    if (propertyNames !== undefined && name.length > propertyNames.maxLength) {
      const message = `Names should have at most ${plural(propertyNames.maxLength, "character")}, not ${name.length}`;
      report(findings, "string_too_long", message);
    }
    if (property === undefined) ignore(findings, name);
    else {
      if (namesUnknown && value[name] !== null && !Object.hasOwn(properties, name)) ignore(findings, name);
      path.push(name);
      visit(property, value[name], findings);
      path.pop();
    }
  }
}

/** Returns the schema for fields that the object's schema does not define; undefined if such fields are ignored. */
function unknownField(additionalProperties: SchemaNode["additionalProperties"]): SchemaNode | undefined {
  if (additionalProperties === true) return free;
  return additionalProperties === false ? undefined : additionalProperties;
}
