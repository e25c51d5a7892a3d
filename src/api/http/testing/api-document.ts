// For tests and the page of the API: the parts of an OpenAPI document that are read there.

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
  readonly patternProperties?: Readonly<Record<string, Schema>>;
}

/** A schema's branches, or itself; without null, which stands for an absent value. */
export function branchesOf(schema: Schema): readonly Schema[] {
  return (schema.anyOf ?? [schema]).flatMap((branch) =>
    branch.anyOf === undefined ? (branch.type === "null" ? [] : [branch]) : branchesOf(branch),
  );
}
