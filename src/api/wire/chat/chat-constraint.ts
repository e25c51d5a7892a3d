// Reads the constraint on an answer from `structured_outputs`, `response_format` and their aliases. The engine decides
// later whether it supports the constraint.
import type { Constraint, ConstraintRule } from "../../../base/domain/constraint.ts";
import { quoted, type Fault } from "../../../base/domain/service-error.ts";
import { exactJsonText, parseExactJson, type ExactJson } from "../../../base/domain/text/exact-json.ts";
import { ignore, isObject, report, type Findings } from "../../../base/validation/findings.ts";
import type { ChatRequestBody } from "./chat-request.ts";
import { spelledFields } from "./fields/constraint-fields.ts";

/** Members of `structured_outputs` that set a constraint. Its other members are options. */
const constraintNames = ["json", "regex", "choice", "grammar", "json_object", "structural_tag"] as const;

/** Accepted values of `_backend`: the name of the built-in backend, and `auto`, which selects it. */
const backends: readonly unknown[] = ["auto", "hone"];

type Members = Readonly<Record<string, unknown>>;

/**
 * Top-level fields of the body that are aliases of members of `structured_outputs`. Each is paired with the name of its
 * member.
 */
const spellings = Object.entries(spelledFields).map(
  // Safe cast: the entries have the record's own keys.
  ([field, { spells }]) => [field as keyof typeof spelledFields, spells] as const,
);

/** Adds a fault if the body sets more than one constraint, and adds the faults of the response format. */
export function checkConstraint(body: Members, findings: Findings): void {
  if (isObject(body["response_format"])) checkFormat(body["response_format"], findings);
  const given = constraintsIn(body);
  if (given.length < 2) return;
  const last = given[given.length - 1];
  const isLast = isGiven(body[last]) && (given.length === 2 || !isGiven(body["structured_outputs"]));
  const message = `Value error, You can only use one kind of structured outputs constraint but multiple are specified: ${given.join(", ")}.`;
  report(findings, "value_error", message, isLast ? last : "structured_outputs");
}

/** Members that a response format uses, by the type of the format. */
const formatMembers: Readonly<Record<string, readonly string[]>> = {
  text: [],
  json_object: ["schema", "json_schema", "value"],
  json_schema: ["json_schema", "schema", "value"],
  structural_tag: ["format", "structures", "triggers"],
  json: ["value", "schema", "json_schema"],
  regex: ["value"],
  grammar: ["grammar"],
};

/**
 * Reports as ignored the members that the format's type does not use. Adds a fault if the format has several schemas.
 */
function checkFormat(format: Members, findings: Findings): void {
  const type = format["type"];
  if (typeof type !== "string" || !Object.hasOwn(formatMembers, type)) return;
  const read = formatMembers[type];
  const all = new Set(Object.values(formatMembers).flat());
  for (const member of all)
    if (isGiven(format[member]) && !read.includes(member)) ignore(findings, "response_format", member);
  if (!isJsonType(type)) return;
  const paths = schemasIn(format).map(([place]) => place.join("."));
  if (paths.length > 1) {
    const message = `Value error, response_format has several schemas, in ${paths.join(" and ")}; give one.`;
    report(findings, "value_error", message, "response_format");
  }
}

function isJsonType(type: unknown): boolean {
  return type === "json_object" || type === "json_schema" || type === "json";
}

/** Returns the schemas in a response format for JSON, each with its path relative to the format. */
function schemasIn({
  type,
  schema,
  value,
  json_schema: described,
}: Members): readonly (readonly [place: readonly string[], schema: unknown])[] {
  if (!isJsonType(type)) return [];
  const inside = isObject(described) ? described["schema"] : null;
  const paths: readonly (readonly [readonly string[], unknown])[] = [
    [["json_schema", "schema"], inside],
    [["schema"], schema],
    [["value"], value],
  ];
  return paths.filter(([, given]) => isGiven(given));
}

/** Returns the faults of constraints that are incomplete or that Hone does not support. */
export function unservedConstraint(body: Members): readonly Fault[] {
  const { structured_outputs: outputs, response_format: format } = body;
  const spelled = spellings.flatMap(([field, member]) => unservedMember(member, body[field], [field]));
  return [
    ...(isObject(outputs) ? unservedOutputs(outputs, constraintsIn(body).length > 0) : []),
    ...(isObject(format) ? unservedFormat(format) : []),
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

/**
 * Returns the fault of a member of `structured_outputs` that is incomplete or unsupported; empty if there is none.
 *
 * @param place path of the member in the request, which may be an alias
 */
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
        `${place[place.length - 1]} is ${quoted(String(value))}; this server has only its own backend, "auto" or "hone".`,
      );
    default:
      return [];
  }
}

/** For each alias that has one: the value that requests any JSON object instead of naming a schema. */
const anyObject: Readonly<Record<string, string>> = { format: "json" };

function unservedFormat(format: Members): readonly Fault[] {
  const { type, json_schema: described, value, grammar } = format;
  const place = "response_format";
  switch (type) {
    case "json_object":
    case "json_schema":
    case "json": {
      if (isGiven(value) && !isObject(value))
        return [unserved("response_format.value must be a JSON Schema, an object.", place, "value")];
      if (type !== "json_schema" || schemasIn(format).length > 0) return [];
      const needed = "When response_format type is 'json_schema', the 'json_schema' field must be provided.";
      if (!isGiven(described)) return [unserved(needed, place, "json_schema")];
      if (!isObject(described)) return [];
      return [unserved(`${noneGiven}; give json_schema its schema.`, place, "json_schema", "schema")];
    }
    case "regex":
      return typeof value === "string"
        ? []
        : [unserved(`${noneGiven}; give value a pattern.`, place, "value")];
    case "grammar":
      return typeof grammar === "string" && grammar.trim() !== ""
        ? []
        : [unserved(`${noneGiven}; give grammar a grammar.`, place, "grammar")];
    default:
      return [];
  }
}

const noneGiven = "You must use one kind of structured outputs constraint but none are specified";

function unserved(message: string, ...place: readonly string[]): Fault {
  return { location: ["body", ...place], message, type: "unsupported" };
}

/**
 * Returns the names of all members and fields in the body that request a constraint: members of `structured_outputs`,
 * their aliases, and `response_format`. Their values need not be valid.
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

/**
 * Returns the constraint that a checked body requests; null if there is none.
 *
 * @param body checked body, with numbers as the client wrote them
 */
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

/** Returns `structured_outputs` of the body, completed by the members that the body sets by aliases. */
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

/**
 * Returns the constraint that a response format sets; null if it sets none. Incomplete formats have already been
 * refused.
 */
function ruleOfFormat(format: ChatRequestBody["response_format"]): ConstraintRule | null {
  switch (format?.type) {
    case "json":
    case "json_object":
    case "json_schema": {
      const [found] = schemasIn(format);
      return found === undefined
        ? { kind: "json-object" }
        : { kind: "json-schema", schema: jsonTextOf(found[1]) };
    }
    case "regex":
      return { kind: "regex", pattern: String(format.value) };
    case "grammar":
      return { kind: "grammar", text: format.grammar ?? "" };
    case "structural_tag":
      return { kind: "structural-tag", tag: jsonTextOf(format) };
    default:
      return null;
  }
}

function isGiven<Value>(value: Value | null | undefined): value is Value {
  return value !== undefined && value !== null;
}

/** Returns the exact JSON text of a JSON value, or of a text that contains JSON. */
function jsonTextOf(value: unknown): string {
  return exactJsonText(typeof value === "string" ? parseExactJson(value) : (value as ExactJson));
}

/** Returns the value that the text contains as JSON; undefined if the text is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
