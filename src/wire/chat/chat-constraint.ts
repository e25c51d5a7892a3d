// What an answer must look like, in the two ways that the interface has to say it: `structured_outputs` and
// `response_format`. Reads the constraint as data; whether it can be served is for the engine to say.
import type { Constraint, ConstraintRule } from "../../domain/constraint.ts";
import type { Json } from "../../domain/trajectory.ts";
import { isObject, report, type Findings } from "../../validation/findings.ts";
import type { ChatRequestBody } from "./chat-request.ts";

/** The members of `structured_outputs` that are a constraint. */
export const constraintNames = [
  "json",
  "regex",
  "choice",
  "grammar",
  "json_object",
  "structural_tag",
] as const;

/** Adds a fault for more than one constraint in all, and for one that says too little. */
export function checkConstraint(body: Readonly<Record<string, unknown>>, findings: Findings): void {
  const { structured_outputs: outputs, response_format: format } = body;
  const fault = (message: string, ...place: readonly string[]): void =>
    report(findings, "value_error", `Value error, ${message}`, ...place);
  const given = constraintsIn(body);
  if (given.length > 1) {
    const place =
      given.length === 2 && given[1] === "response_format" ? "response_format" : "structured_outputs";
    fault(
      `You can only use one kind of structured outputs constraint but multiple are specified: ${given.join(", ")}.`,
      place,
    );
  }
  if (isObject(outputs) && Array.isArray(outputs["choice"]) && outputs["choice"].length === 0) {
    fault("Choice '[]' cannot be an empty list", "structured_outputs", "choice");
  }
  for (const name of ["json", "structural_tag"]) {
    const text = isObject(outputs) ? outputs[name] : undefined;
    if (typeof text !== "string" || parsed(text) !== undefined) continue;
    fault(`structured_outputs.${name} is a text that is not JSON.`, "structured_outputs", name);
  }
  if (isObject(format) && format["type"] === "json_schema" && (format["json_schema"] ?? null) === null) {
    fault(
      "When response_format type is 'json_schema', the 'json_schema' field must be provided.",
      "response_format",
    );
  }
}

/** The members of `structured_outputs`, and `response_format`, that ask for a constraint. */
export function constraintsIn({
  structured_outputs: outputs,
  response_format: format,
}: Readonly<Record<string, unknown>>): readonly string[] {
  return [
    ...(isObject(outputs) ? constraintNames.filter((name) => isGiven(outputs[name])) : []),
    ...(isObject(format) && format["type"] !== "text" ? ["response_format"] : []),
  ];
}

/** Reads the constraint of a checked body; null where there is none. */
export function readConstraint(
  body: Pick<ChatRequestBody, "structured_outputs" | "response_format">,
): Constraint | null {
  const { structured_outputs: outputs, response_format: format } = body;
  const rule = ruleOfOutputs(outputs ?? {}) ?? ruleOfFormat(format ?? null);
  if (rule === null) return null;
  return {
    ...rule,
    allowsAnyWhitespace: outputs?.disable_any_whitespace !== true,
    whitespacePattern: outputs?.whitespace_pattern ?? null,
    allowsAdditionalProperties: outputs?.disable_additional_properties !== true,
  };
}

function ruleOfOutputs(outputs: NonNullable<ChatRequestBody["structured_outputs"]>): ConstraintRule | null {
  const { json, regex, choice, grammar, json_object: isAnyObject, structural_tag: tag } = outputs;
  if (isGiven(json)) return { kind: "json-schema", schema: jsonOf(json) };
  if (isGiven(regex)) return { kind: "regex", pattern: regex };
  if (isGiven(choice)) return { kind: "choice", choices: choice };
  if (isGiven(grammar)) return { kind: "grammar", text: grammar };
  if (isAnyObject === true) return { kind: "json-object" };
  return isGiven(tag) ? { kind: "structural-tag", tag: jsonOf(tag) } : null;
}

function ruleOfFormat(format: ChatRequestBody["response_format"]): ConstraintRule | null {
  switch (format?.type) {
    case "json_object":
      return { kind: "json-object" };
    case "json_schema":
      // A schema that is not there allows everything.
      return { kind: "json-schema", schema: jsonOf(format.json_schema?.schema ?? true) };
    case "structural_tag":
      return { kind: "structural-tag", tag: jsonOf(format) };
    default:
      return null;
  }
}

function isGiven<Value>(value: Value | null | undefined | false): value is Value {
  return value !== undefined && value !== null && value !== false;
}

/** JSON as it came, or as a text of it that was checked. */
function jsonOf(value: unknown): Json {
  return (typeof value === "string" ? parsed(value) : value) as Json;
}

/** Undefined for what is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
