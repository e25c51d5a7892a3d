// What an answer must look like, in the two ways that the interface has to say it: `structured_outputs` and
// `response_format`. Reads the constraint as data; whether it can be served is for the engine to say.
import type { Constraint, ConstraintRule } from "../../domain/constraint.ts";
import { quoted, type Fault } from "../../domain/service-error.ts";
import { exactJsonText, parseExactJson, type ExactJson } from "../../domain/text/exact-json.ts";
import { isObject, report, type Findings } from "../../validation/findings.ts";
import type { ChatRequestBody } from "./chat-request.ts";

/** The members of `structured_outputs` that are a constraint. */
const constraintNames = ["json", "regex", "choice", "grammar", "json_object", "structural_tag"] as const;

/** The values of `_backend`: the one that is built in, under its name and as the choice among one. */
const backends: readonly unknown[] = ["auto", "hone"];

type Members = Readonly<Record<string, unknown>>;

/** Adds a fault for more than one constraint in all. */
export function checkConstraint(body: Members, findings: Findings): void {
  const given = constraintsIn(body);
  if (given.length < 2) return;
  const place =
    given.length === 2 && given[1] === "response_format" ? "response_format" : "structured_outputs";
  const message = `Value error, You can only use one kind of structured outputs constraint but multiple are specified: ${given.join(", ")}.`;
  report(findings, "value_error", message, place);
}

/** The faults of constraints that say too little, or ask for what is not there. */
export function unservedConstraint(body: Members): readonly Fault[] {
  const { structured_outputs: outputs, response_format: format } = body;
  return [
    ...(isObject(outputs) ? unservedOutputs(outputs, constraintsIn(body).length > 0) : []),
    ...(isObject(format) && format["type"] === "json_schema" ? unservedFormat(format) : []),
  ];
}

function unservedOutputs(outputs: Members, isConstrained: boolean): readonly Fault[] {
  const { json, choice, grammar, json_object: isAnyObject, structural_tag: tag, _backend: backend } = outputs;
  const faults: Fault[] = [];
  const fault = (message: string, ...below: readonly string[]): void =>
    void faults.push(unserved(message, "structured_outputs", ...below));
  if (!isConstrained)
    fault(`${noneGiven}; give one of ${constraintNames.join(", ")}, or leave structured_outputs out.`);
  if (isAnyObject === false)
    fault(`${noneGiven}: json_object is false; send true, or leave it out.`, "json_object");
  if (Array.isArray(choice) && choice.length === 0) fault("Choice '[]' cannot be an empty list", "choice");
  if (typeof grammar === "string" && grammar.trim() === "")
    fault("structured_outputs.grammar cannot be an empty string", "grammar");
  for (const [name, text] of Object.entries({ json, structural_tag: tag })) {
    if (typeof text === "string" && parsed(text) === undefined)
      fault(`structured_outputs.${name} is a text that is not JSON.`, name);
  }
  if (isGiven(backend) && !backends.includes(backend))
    fault(
      `_backend is ${quoted(String(backend))}; this server has one of its own, which "auto" and "hone" name.`,
      "_backend",
    );
  return faults;
}

function unservedFormat({ json_schema: described }: Members): readonly Fault[] {
  const needed = "When response_format type is 'json_schema', the 'json_schema' field must be provided.";
  if (!isGiven(described)) return [unserved(needed, "response_format", "json_schema")];
  if (!isObject(described) || isGiven(described["schema"])) return [];
  return [unserved(`${noneGiven}; give json_schema its schema.`, "response_format", "json_schema", "schema")];
}

const noneGiven = "You must use one kind of structured outputs constraint but none are specified";

function unserved(message: string, ...place: readonly string[]): Fault {
  return { location: ["body", ...place], message, type: "unsupported" };
}

/** The members of `structured_outputs`, and `response_format`, that ask for a constraint, whatever they say. */
export function constraintsIn({
  structured_outputs: outputs,
  response_format: format,
}: Members): readonly string[] {
  return [
    ...(isObject(outputs) ? constraintNames.filter((name) => isGiven(outputs[name])) : []),
    ...(isObject(format) && format["type"] !== "text" ? ["response_format"] : []),
  ];
}

/** Reads the constraint of a checked body, which has the digits of its numbers; null where there is none. */
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
  if (isGiven(json)) return { kind: "json-schema", schema: jsonTextOf(json) };
  if (isGiven(regex)) return { kind: "regex", pattern: regex };
  if (isGiven(choice)) return { kind: "choice", choices: choice };
  if (isGiven(grammar)) return { kind: "grammar", text: grammar };
  if (isAnyObject === true) return { kind: "json-object" };
  return isGiven(tag) ? { kind: "structural-tag", tag: jsonTextOf(tag) } : null;
}

function ruleOfFormat(format: ChatRequestBody["response_format"]): ConstraintRule | null {
  switch (format?.type) {
    case "json_object":
      return { kind: "json-object" };
    case "json_schema":
      // A format without a schema is not served, and does not come here.
      return { kind: "json-schema", schema: jsonTextOf(format.json_schema?.schema ?? null) };
    case "structural_tag":
      return { kind: "structural-tag", tag: jsonTextOf(format) };
    default:
      return null;
  }
}

function isGiven<Value>(value: Value | null | undefined): value is Value {
  return value !== undefined && value !== null;
}

/** The text of JSON, which came as it is, or as a text of it that was checked. */
function jsonTextOf(value: unknown): string {
  return exactJsonText(typeof value === "string" ? parseExactJson(value) : (value as ExactJson));
}

/** Undefined for what is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
