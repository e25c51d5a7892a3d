// Converts attributes of OTLP, which are lists of keys and typed values, to JSON objects.
import { isJsonObject, type Json, type JsonObject } from "../../base/domain/text/json.ts";

/** Returns attributes as an object. If a key occurs twice, the last value counts. Malformed entries are left out. */
export function attributesOf(entries: Json | undefined): JsonObject {
  if (!Array.isArray(entries)) return {};
  // `Object.fromEntries` also creates members such as `__proto__` as plain data.
  return Object.fromEntries(
    entries.flatMap((entry: Json) => {
      const key = isJsonObject(entry) ? entry["key"] : undefined;
      if (!isJsonObject(entry) || typeof key !== "string") return [];
      return [[key, valueOf(entry["value"])]];
    }),
  );
}

function valueOf(value: Json | undefined): Json {
  if (!isJsonObject(value)) return null;
  const { stringValue, boolValue, intValue, doubleValue, arrayValue, kvlistValue, bytesValue } = value;
  if (intValue !== undefined) return integerOf(intValue);
  if (isJsonObject(arrayValue))
    return Array.isArray(arrayValue["values"]) ? arrayValue["values"].map(valueOf) : [];
  if (isJsonObject(kvlistValue)) return attributesOf(kvlistValue["values"]);
  return stringValue ?? boolValue ?? doubleValue ?? bytesValue ?? null;
}

/** Converts an integer, which OTLP's JSON form writes as text. An integer that a double cannot hold stays a text. */
function integerOf(value: Json): Json {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
