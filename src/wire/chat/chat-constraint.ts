// What an answer must look like, in the two ways that the interface has to say it: `structured_outputs` and
// `response_format`. Reads the constraint as data; whether it can be served is for the engine to say.
import type { Constraint, ConstraintRule } from "../../domain/constraint.ts";
import { quoted, type Fault } from "../../domain/service-error.ts";
import { exactJsonText, parseExactJson, type ExactJson } from "../../domain/text/exact-json.ts";
import { isObject, report, type Findings } from "../../validation/findings.ts";
import type { ChatRequestBody } from "./chat-request.ts";
import { spelledFields } from "./fields/constraint-fields.ts";

/** The members of `structured_outputs` that are a constraint. */
const constraintNames = ["json", "regex", "choice", "grammar", "json_object", "structural_tag"] as const;

/** The values of `_backend`: the one that is built in, under its name and as the choice among one. */
const backends: readonly unknown[] = ["auto", "hone"];

type Members = Readonly<Record<string, unknown>>;

/** The members of `structured_outputs` that are fields of their own, by these. */
const spellings = Object.entries(spelledFields).map(
  // The record's keys are the fields.
  ([field, { spells }]) => [field as keyof typeof spelledFields, spells] as const,
);

/** Adds a fault for more than one constraint in all. */
export function checkConstraint(body: Members, findings: Findings): void {
  const given = constraintsIn(body);
  if (given.length < 2) return;
  const last = given[given.length - 1];
  const isLast = isGiven(body[last]) && (given.length === 2 || !isGiven(body["structured_outputs"]));
  const message = `Value error, You can only use one kind of structured outputs constraint but multiple are specified: ${given.join(", ")}.`;
  report(findings, "value_error", message, isLast ? last : "structured_outputs");
}

/** The faults of constraints that say too little, or ask for what is not there. */
export function unservedConstraint(body: Members): readonly Fault[] {
  const { structured_outputs: outputs, response_format: format } = body;
  const spelled = spellings.flatMap(([field, member]) => unservedMember(member, body[field], [field]));
  return [
    ...(isObject(outputs) ? unservedOutputs(outputs, constraintsIn(body).length > 0) : []),
    ...(isObject(format) && format["type"] === "json_schema" ? unservedFormat(format) : []),
    ...spelled,
  ];
}

function unservedOutputs(outputs: Members, isConstrained: boolean): readonly Fault[] {
  const place = "structured_outputs";
  const faults = Object.entries(outputs).flatMap(([member, value]) =>
    unservedMember(member, value, [place, member]),
  );
  if (isConstrained) return faults;
  const message = `${noneGiven}; give one of ${constraintNames.join(", ")}, or leave structured_outputs out.`;
  return [unserved(message, place), ...faults];
}

/** What of a member of `structured_outputs` is not served, wherever it was sent. */
function unservedMember(member: string, value: unknown, place: readonly string[]): readonly Fault[] {
  const name = place.join(".");
  const fault = (message: string): readonly Fault[] => [unserved(message, ...place)];
  switch (member) {
    case "json_object":
      return value === false ? fault(`${noneGiven}: json_object is false; send true, or leave it out.`) : [];
    case "choice":
      return Array.isArray(value) && value.length === 0 ? fault("Choice '[]' cannot be an empty list") : [];
    case "grammar":
      return typeof value === "string" && value.trim() === ""
        ? fault(`${name} cannot be an empty string`)
        : [];
    case "json":
    case "structural_tag":
      if (typeof value !== "string" || value === anyObject[name] || parsed(value) !== undefined) return [];
      return fault(`${name} is a text that is not JSON.`);
    case "_backend":
      if (!isGiven(value) || backends.includes(value)) return [];
      return fault(
        `${place[place.length - 1]} is ${quoted(String(value))}; this server has one of its own, which "auto" and "hone" name.`,
      );
    default:
      return [];
  }
}

/** The values of fields that ask for any JSON object rather than for JSON of a schema. */
const anyObject: Readonly<Record<string, string>> = { format: "json" };

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

/**
 * The members of `structured_outputs`, their other spellings and `response_format`, that ask for a constraint, whatever
 * they say.
 */
export function constraintsIn(body: Members): readonly string[] {
  const { structured_outputs: outputs, response_format: format } = body;
  const isConstraint = ([field, member]: readonly [string, string]): boolean =>
    isGiven(body[field]) && constraintNames.some((name) => name === member);
  return [
    ...(isObject(outputs) ? constraintNames.filter((name) => isGiven(outputs[name])) : []),
    ...spellings.filter(isConstraint).map(([field]) => field),
    ...(isObject(format) && format["type"] !== "text" ? ["response_format"] : []),
  ];
}

type Outputs = NonNullable<ChatRequestBody["structured_outputs"]>;
type ConstraintBody = Pick<
  ChatRequestBody,
  "structured_outputs" | "response_format" | keyof typeof spelledFields
>;

/** Reads the constraint of a checked body, which has the digits of its numbers; null where there is none. */
export function readConstraint(body: ConstraintBody): Constraint | null {
  const outputs = outputsOf(body);
  const rule = ruleOfOutputs(outputs) ?? ruleOfFormat(body.response_format ?? null);
  if (rule === null) return null;
  return {
    ...rule,
    allowsAnyWhitespace: outputs.disable_any_whitespace !== true,
    whitespacePattern: outputs.whitespace_pattern ?? null,
    allowsAdditionalProperties: outputs.disable_additional_properties !== true,
  };
}

/** With what was sent under other names. */
function outputsOf(body: ConstraintBody): Outputs {
  const spelled = spellings.flatMap(([field, member]) => {
    const value = body[field];
    if (!isGiven(value)) return [];
    return [value === anyObject[field] ? (["json_object", true] as const) : ([member, value] as const)];
  });
  return { ...body.structured_outputs, ...Object.fromEntries(spelled) };
}

function ruleOfOutputs(outputs: Outputs): ConstraintRule | null {
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
