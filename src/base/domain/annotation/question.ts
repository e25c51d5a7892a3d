// Questions of an annotation queue, and their valid answers. A small subset of JSON Schema describes the answers, so
// that a person can answer each question with a few keys.
import type { Json, JsonObject } from "../text/json.ts";
import { cut } from "../service-error.ts";

export interface Question {
  /** Name of the question, unique in its queue. Answers are stored under this name. */
  readonly name: string;
  /** Text of the question as annotators see it. */
  readonly text: string;
  /** JSON Schema of an answer, in a form that {@link answerFormOf} accepts. */
  readonly schema: JsonObject;
  /** True if an item may be completed without an answer to this question. */
  readonly isOptional: boolean;
}

/** One of the values from which a person can choose. */
export type Choice = string | number | boolean | null;

/** Form of the answers to a question. Minimum and maximum are inclusive; null means no bound. */
export type AnswerForm =
  | { readonly kind: "choice"; readonly choices: readonly Choice[] }
  | { readonly kind: "boolean" }
  | { readonly kind: "integer" | "number"; readonly minimum: number | null; readonly maximum: number | null }
  /** `lengthMax` is the maximum number of characters. */
  | { readonly kind: "text"; readonly lengthMax: number | null };

/** Maximum number of values in the `enum` of a schema. */
const choicesMax = 100;

/** Keywords of JSON Schema that do not restrict the answer, so they are ignored. */
const annotations = ["title", "description", "default", "examples", "$schema"];

/** Result of reading a schema: the form of its answers, or the reason why the schema is unsupported. */
export type ReadForm = { readonly form: AnswerForm } | { readonly fault: string };

/**
 * Reads the schema of an answer. It must have an `enum` of texts, numbers, booleans and null, or the type `boolean`,
 * `integer`, `number` or `string`.
 */
export function answerFormOf(schema: JsonObject): ReadForm {
  const keywords = Object.keys(schema).filter((name) => !annotations.includes(name));
  if (Object.hasOwn(schema, "enum")) return choiceForm(schema, keywords);
  switch (schema["type"]) {
    case "boolean":
      return only(keywords, ["type"]) ?? { form: { kind: "boolean" } };
    case "integer":
    case "number":
      return only(keywords, ["type", "minimum", "maximum"]) ?? rangeForm(schema["type"], schema);
    case "string":
      return only(keywords, ["type", "maxLength"]) ?? textForm(schema);
    default:
      return {
        fault:
          'the schema must have an "enum", or a "type" that is boolean, integer, number or string, such as {"enum": ["good", "bad"]}',
      };
  }
}

function only(keywords: readonly string[], known: readonly string[]): { readonly fault: string } | null {
  const other = keywords.find((name) => !known.includes(name));
  if (other === undefined) return null;
  return { fault: `the keyword ${JSON.stringify(cut(other))} is not known here; use ${known.join(", ")}` };
}

function choiceForm(schema: JsonObject, keywords: readonly string[]): ReadForm {
  const values = schema["enum"];
  if (!Array.isArray(values) || values.length === 0 || values.length > choicesMax)
    return { fault: `enum must be a list of 1 to ${choicesMax} values` };
  const choices = values.filter(isChoice);
  if (choices.length < values.length)
    return { fault: "every value of enum must be a text, a number, a boolean or null" };
  if (new Set(choices).size < choices.length) return { fault: "enum has a value twice" };
  // Many tools add a `type` to an `enum`. If all values have this type, it adds no constraint, so it is ignored.
  return only(keywords, ["enum", "type"]) ?? { form: { kind: "choice", choices } };
}

function isChoice(value: Json): value is Choice {
  return typeof value !== "object" || value === null;
}

function rangeForm(kind: "integer" | "number", { minimum = null, maximum = null }: JsonObject): ReadForm {
  for (const bound of [minimum, maximum])
    if (bound !== null && typeof bound !== "number") return { fault: "minimum and maximum must be numbers" };
  if (typeof minimum === "number" && typeof maximum === "number" && minimum > maximum)
    return { fault: `minimum is ${minimum} and maximum ${maximum}: no number is between them` };
  // Safe casts: the minimum and the maximum have been checked to be numbers or null.
  return { form: { kind, minimum: minimum as number | null, maximum: maximum as number | null } };
}

function textForm({ maxLength = null }: JsonObject): ReadForm {
  if (maxLength !== null && (typeof maxLength !== "number" || !Number.isInteger(maxLength) || maxLength < 1))
    return { fault: "maxLength must be a whole number of at least 1" };
  return { form: { kind: "text", lengthMax: maxLength } };
}

/** Returns the reason why an answer is invalid; null if the answer is valid. */
export function answerFault(form: AnswerForm, value: Json): string | null {
  switch (form.kind) {
    case "choice":
      return isChoice(value) && form.choices.includes(value)
        ? null
        : `must be one of ${listed(form.choices)}`;
    case "boolean":
      return typeof value === "boolean" ? null : "must be true or false";
    case "integer":
    case "number":
      return rangeFault(form, value);
    default:
      if (typeof value !== "string" || value === "") return "must be a text that is not empty";
      if (form.lengthMax === null || Array.from(value).length <= form.lengthMax) return null;
      return `has ${Array.from(value).length} characters; the limit is ${form.lengthMax}`;
  }
}

function rangeFault(
  { kind, minimum, maximum }: Extract<AnswerForm, { readonly kind: "integer" | "number" }>,
  value: Json,
): string | null {
  const isNumber = typeof value === "number" && (kind === "number" || Number.isInteger(value));
  if (isNumber && value >= (minimum ?? -Infinity) && value <= (maximum ?? Infinity)) return null;
  const bounds = [
    ...(minimum === null ? [] : [`of at least ${minimum}`]),
    ...(maximum === null ? [] : [`of at most ${maximum}`]),
  ].join(" and ");
  return `must be ${kind === "integer" ? "a whole number" : "a number"} ${bounds}`.trimEnd();
}

/** Lists choices for an error message. A long list is cut. */
function listed(choices: readonly Choice[]): string {
  const shown = choices.slice(0, 20).map((choice) => cut(JSON.stringify(choice)));
  return shown.join(", ") + (choices.length > shown.length ? ", …" : "");
}
