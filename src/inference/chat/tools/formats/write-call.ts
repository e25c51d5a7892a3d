// Writes an example call in a layout. Format detection compares it with the calls that a template writes.
import type { Json, JsonObject } from "../../../../base/domain/text/json.ts";
import type { CallLayout } from "./call-layout.ts";
import { toQuotedNotation } from "./quoted-notation.ts";

interface WrittenCall {
  readonly name: string;
  readonly values: JsonObject;
  readonly index: number;
}

export function writtenCall(layout: CallLayout, { name, values, index }: WrittenCall): string {
  const { calls, call, object, quote } = layout;
  const json = toPythonJson(values);
  const filled: Readonly<Record<string, string>> = {
    "{object}": `{"${object.name}": ${JSON.stringify(name)}, "${object.arguments}": ${json}}`,
    "{name}": name,
    "{arguments}": quote === null ? json : toQuotedNotation(values, quote),
    "{parameters}": Object.entries(values)
      .map(([key, value]) => parameterText(layout, key, value))
      .join(""),
    "{keywords}": Object.entries(values)
      .map(([key, value]) => `${key}=${pythonOf(value)}`)
      .join(", "),
    "{index}": String(index),
    "{id}": "000000000",
  };
  const slot = /\{(?:object|name|arguments|parameters|keywords|index|id)\}/g;
  // All slots are replaced in one pass, so that the inserted text is not searched for slots.
  return calls.split("{calls}").join(call.replace(slot, (found) => filled[found]));
}

function parameterText({ parameter }: CallLayout, name: string, value: Json): string {
  const isText = typeof value === "string";
  const filled: Readonly<Record<string, string>> = {
    "{name}": name,
    "{value}": isText ? value : toPythonJson(value),
    "{isText}": String(isText),
  };
  return (parameter ?? "").replace(/\{(?:name|value|isText)\}/g, (found) => filled[found]);
}

/** Writes a value in Python's notation. Strings and nested values stay JSON. */
function pythonOf(value: Json): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  return toPythonJson(value);
}

/** Writes JSON with Python's spacing: a blank after each comma and colon. */
export function toPythonJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(toPythonJson).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  // Safe cast: all other kinds of values returned above, so the value is an object.
  const members = Object.entries(value as JsonObject).map(
    ([name, member]) => `${JSON.stringify(name)}: ${toPythonJson(member)}`,
  );
  return `{${members.join(", ")}}`;
}
