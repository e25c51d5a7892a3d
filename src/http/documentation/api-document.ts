// The parts of an OpenAPI document that are read here, and what its schemas say in words: the type of a value, and which
// values are taken.

export interface ApiDocument {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

export interface Operation {
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly security?: readonly Readonly<Record<string, unknown>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, Response>>;
}

export interface Parameter {
  readonly in: "path" | "query" | "header";
  readonly name: string;
  readonly description?: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

export interface Response {
  readonly description: string;
  readonly content: Readonly<Record<string, Media>>;
}

export interface Media {
  readonly schema: Schema;
}

/** The keywords that our schemas use, and those of documentation. */
export interface Schema {
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  /** What leaving a field out means, where no value says it. */
  readonly "x-default"?: string;
  /** What the keywords cannot say of the values that are taken. */
  readonly "x-range"?: string;
  /** Refused when it asks for anything. */
  readonly "x-refused"?: boolean;
  /** Refused where the model's engine lacks it. */
  readonly "x-engine-feature"?: boolean;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly format?: string;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
}

/** A schema's branches, or itself; without null, which stands for an absent value. */
export function branchesOf(schema: Schema): readonly Schema[] {
  return (schema.anyOf ?? [schema]).flatMap((branch) =>
    branch.anyOf === undefined ? (branch.type === "null" ? [] : [branch]) : branchesOf(branch),
  );
}

function takesNull(schema: Schema): boolean {
  return schema.type === "null" || (schema.anyOf ?? []).some(takesNull);
}

/**
 * Such as `integer or null` or `array of strings`.
 *
 * @param linkTo the link to a schema that is described elsewhere, null for one that is not
 */
export function typeText(schema: Schema, linkTo: (schema: Schema) => string | null): string {
  const texts = branchesOf(schema).map((branch) => branchText(branch, linkTo));
  return [...new Set([...texts, ...(takesNull(schema) ? ["null"] : [])])].join(" or ");
}

function branchText(schema: Schema, linkTo: (schema: Schema) => string | null): string {
  if (schema.enum !== undefined) return "string";
  if (schema.type === "array") {
    const items = typeText(schema.items ?? {}, linkTo);
    return items.includes(" or ") ? `array of (${items})` : `array of ${items}`;
  }
  return linkTo(schema) ?? schema.type ?? "any JSON";
}

/** Which values are taken, such as `-2 to 2`; empty where the type says it all. */
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
