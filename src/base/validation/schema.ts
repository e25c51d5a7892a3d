// A schema as plain JSON Schema, limited to the keywords that our schemas use.

/** The keywords of JSON Schema that the check supports. */
export interface SchemaNode {
  readonly type?: "string" | "number" | "integer" | "boolean" | "object" | "array" | "null";
  /** For an object: its name in "instance of ..."; for a branch of a union: its name in the location. */
  readonly title?: string;
  readonly anyOf?: readonly SchemaNode[];
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly format?: "uuid" | "date-time";
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: SchemaNode;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly required?: readonly string[];
  readonly maxProperties?: number;
  readonly propertyNames?: { readonly maxLength: number };
  /** `true` keeps unknown keys; a schema checks them; absent lists them as ignored. */
  readonly additionalProperties?: boolean | SchemaNode;
  /** Lists unknown keys as ignored although they are kept, unless they are null. */
  readonly "x-names-unknown"?: boolean;
}
