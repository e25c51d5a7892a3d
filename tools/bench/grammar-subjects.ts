// The schemas that tools/bench/grammar.ts measures, each with valid values. They are similar to schemas in real
// requests.
import type { Json } from "../../src/base/domain/text/json.ts";

export interface Subject {
  readonly name: string;
  readonly schema: Json;
  readonly tests: readonly { readonly valid: boolean; readonly data: Json }[];
}

const text = "The model was asked for a summary, and wrote one; nobody had asked for its opinion. ".repeat(4);
const names = Array.from({ length: 60 }, (_, index) => `property_${index}`);

export const subjects: readonly Subject[] = [
  subject("a person", {
    schema: {
      type: "object",
      properties: {
        name: { type: "string", minLength: 1 },
        age: { type: "integer", minimum: 0, maximum: 130 },
        email: { type: "string", format: "email" },
        role: { enum: ["admin", "user", "guest"] },
      },
      required: ["name", "age", "email", "role"],
      additionalProperties: false,
    },
    value: { name: "Ada Lovelace", age: 36, email: "ada@example.org", role: "admin" },
  }),
  subject("a recursive tree with dates", {
    schema: {
      $defs: {
        node: {
          type: "object",
          properties: {
            id: { type: "string", pattern: "^[a-z]{2,8}-[0-9]{4}$" },
            made: { type: "string", format: "date-time" },
            weight: { type: "number", minimum: 0, exclusiveMaximum: 1 },
            children: { type: "array", items: { $ref: "#/$defs/node" }, maxItems: 8 },
          },
          required: ["id", "made", "children"],
        },
      },
      $ref: "#/$defs/node",
    },
    value: {
      id: "root-0001",
      made: "2026-01-31T10:00:00Z",
      weight: 0.25,
      children: [{ id: "leaf-0002", made: "2026-02-28T23:59:59+01:00", children: [] }],
    },
  }),
  subject("a long text of bounded length", {
    schema: {
      type: "object",
      properties: { summary: { type: "string", maxLength: 2_000 } },
      required: ["summary"],
    },
    value: { summary: text },
  }),
  subject("sixty optional properties and others", {
    schema: {
      type: "object",
      properties: Object.fromEntries(names.map((name) => [name, { type: ["string", "number", "null"] }])),
    },
    value: {
      ...Object.fromEntries(names.slice(20, 40).map((name, index) => [name, index])),
      other: text,
    },
  }),
  subject("one of several calls", {
    schema: {
      oneOf: ["search", "open", "close"].map((name) => ({
        type: "object",
        properties: {
          name: { const: name },
          arguments: {
            type: "object",
            properties: { [`${name}_what`]: { type: "string" } },
            required: [`${name}_what`],
          },
        },
        required: ["name", "arguments"],
        additionalProperties: false,
      })),
    },
    value: { name: "open", arguments: { open_what: "the window" } },
  }),
  subject("any JSON object", {
    schema: { type: "object" },
    value: { a: [1, 2.5, true, null, { b: text }] },
  }),
];

function subject(name: string, { schema, value }: { readonly schema: Json; readonly value: Json }): Subject {
  return { name, schema, tests: [{ valid: true, data: value }] };
}
