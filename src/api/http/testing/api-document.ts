// Types for the parts of an OpenAPI document that tests and the API page read.

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

/** JSON Schema, reduced to the keywords and extensions that this API's documentation uses. */
export interface Schema {
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  /** Text that describes the default, if no JSON value can express it. */
  readonly "x-default"?: string;
  /** Text that describes the range, if no keyword of JSON Schema can express it. */
  readonly "x-range"?: string;
  /** True if the server refuses the field when its value would have an effect. */
  readonly "x-refused"?: boolean;
  /** True if the server refuses the field unless the model's engine supports it. */
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
  readonly patternProperties?: Readonly<Record<string, Schema>>;
}

/**
 * Returns the branches of a schema's `anyOf`, or the schema itself. Omits the branch null, which means that the field
 * is absent.
 */
export function branchesOf(schema: Schema): readonly Schema[] {
  return (schema.anyOf ?? [schema]).flatMap((branch) =>
    branch.anyOf === undefined ? (branch.type === "null" ? [] : [branch]) : branchesOf(branch),
  );
}
