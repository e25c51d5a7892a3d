// Describes a schema of the API document in words: its type and its range.
import { branchesOf, type Schema } from "../../src/api/http/testing/api-document.ts";

/**
 * Returns a schema's type, such as `integer or null` or `array of string`.
 *
 * @param linkTo returns the link to a schema that is described elsewhere; null for other schemas
 */
export function typeText(schema: Schema, linkTo: (schema: Schema) => string | null): string {
  const texts = branchesOf(schema).map((branch) => branchText(branch, linkTo));
  return [...new Set([...texts, ...(takesNull(schema) ? ["null"] : [])])].join(" or ");
}

function takesNull(schema: Schema): boolean {
  return schema.type === "null" || (schema.anyOf ?? []).some(takesNull);
}

function branchText(schema: Schema, linkTo: (schema: Schema) => string | null): string {
  if (schema.enum !== undefined) return "string";
  if (schema.type === "array") {
    const items = typeText(schema.items ?? {}, linkTo);
    return items.includes(" or ") ? `array of (${items})` : `array of ${items}`;
  }
  return linkTo(schema) ?? schema.type ?? "any JSON";
}

/** Returns a schema's range, such as `-2 to 2`; empty if the type allows all values. */
export function rangeText(schema: Schema): string {
  const texts = branchesOf(schema).map((branch) =>
    [valuesText(branch), sizeText(branch)].filter((text) => text !== "").join(", "),
  );
  return [...texts, schema["x-range"] ?? ""].filter((text) => text !== "").join("; ");
}

function valuesText({ enum: values, minimum, exclusiveMinimum, maximum, format, type }: Schema): string {
  if (values !== undefined) return values.map((value) => `\`${String(value)}\``).join(", ");
  if (format !== undefined && type === "string") return format;
  const above = exclusiveMinimum === undefined ? "" : `above ${exclusiveMinimum}`;
  if (minimum === undefined || maximum === undefined) {
    const least = minimum === undefined ? above : `at least ${minimum}`;
    const most = maximum === undefined ? "" : `at most ${maximum}`;
    return [least, most].filter((text) => text !== "").join(", ");
  }
  return `${minimum} to ${maximum}`;
}

function sizeText({ minLength, maxLength, minItems, maxItems }: Schema): string {
  const bounds = (least: number | undefined, most: number | undefined, unit: string): string => {
    if (least === undefined && most === undefined) return "";
    const units = (most ?? least) === 1 ? unit : `${unit}s`;
    if (most === undefined) return `at least ${least} ${units}`;
    return least === undefined ? `at most ${most} ${units}` : `${least} to ${most} ${units}`;
  };
  return bounds(minLength, maxLength, "character") || bounds(minItems, maxItems, "item");
}
