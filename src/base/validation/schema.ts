// A schema as plain JSON Schema, with only the keywords that the schemas of this project use.

/** JSON Schema, reduced to the keywords that the check supports. */
export interface SchemaNode {
  readonly type?: "string" | "number" | "integer" | "boolean" | "object" | "array" | "null";
  /** Name of an object in messages ("instance of ..."), or of a union's branch in locations. */
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
  /**
   * Treatment of unknown fields. If `true`, they are kept; if a schema, they are checked against it. If absent, they
   * are reported as ignored.
   */
  readonly additionalProperties?: boolean | SchemaNode;
  /** True if unknown fields are kept, but reported as ignored unless they are null. */
  readonly "x-names-unknown"?: boolean;
}
