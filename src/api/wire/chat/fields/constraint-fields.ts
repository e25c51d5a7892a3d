// Fields for the constraint on an answer, and their aliases for clients of older vLLM versions, llama.cpp and Ollama.
import { Type, type TSchema } from "typebox";
import type { Json } from "../../../../base/domain/text/json.ts";
import { anyObject, named, open } from "../../fields/any-object.ts";
import { field } from "../../fields/field.ts";
import { nullable } from "../../nullable.ts";

const responseFormatSchema = Type.Object(
  {
    type: Type.Enum(["text", "json_object", "json_schema", "structural_tag", "json", "regex", "grammar"], {
      description: "Kind of the constraint. `json` and `regex` are TGI's names, `grammar` is Fireworks'.",
    }),
    json_schema: nullable(
      Type.Object(
        {
          name: Type.String({ description: "For people; not used." }),
          description: nullable(Type.String(), { description: "For people; not used." }),
          schema: nullable(anyObject, { description: "The JSON Schema." }),
          strict: nullable(Type.Boolean(), {
            description: "Ignored: every schema is enforced exactly.",
          }),
        },
        { ...named, title: "JsonSchema" },
      ),
      { description: "With `json_schema` or `json_object`: schema of the answer." },
    ),
    schema: nullable(anyObject, {
      description: "With `json_object` or `json_schema`: the schema itself, in llama.cpp's form.",
    }),
    value: Type.Optional(
      Type.Unknown({
        description: "In TGI's form: the schema with `json` or `json_object`, the pattern with `regex`.",
      }),
    ),
    grammar: nullable(Type.String(), {
      description: "With `grammar`: a grammar in GBNF or Lark notation.",
    }),
    format: Type.Optional(Type.Unknown({ description: "With `structural_tag`: structure of the answer." })),
    structures: Type.Optional(
      Type.Unknown({ description: "With `structural_tag`, in its older form: the tagged parts." }),
    ),
    triggers: Type.Optional(
      Type.Unknown({
        description: "With `structural_tag`, in its older form: the texts that open a tagged part.",
      }),
    ),
  },
  { ...named, title: "ResponseFormat" },
);

const structuredOutputsSchema = Type.Object(
  {
    json: nullable(Type.Union([Type.String({ title: "str" }), Type.Object({}, { ...open, title: "dict" })]), {
      description: "The answer is JSON that satisfies this JSON Schema, given as an object or as JSON text.",
    }),
    regex: nullable(Type.String(), { description: "The whole answer matches this regular expression." }),
    choice: nullable(Type.Array(Type.String()), { description: "The answer is one of these texts." }),
    grammar: nullable(Type.String(), {
      description: "The answer matches this grammar, in GBNF or Lark notation.",
    }),
    json_object: nullable(Type.Boolean(), { description: "If true, the answer is any JSON object." }),
    disable_fallback: Type.Optional(
      Type.Boolean({
        default: false,
        description: "Accepted without use: no fallback exists.",
      }),
    ),
    disable_any_whitespace: Type.Optional(
      Type.Boolean({ default: false, description: "JSON is written without whitespace between its parts." }),
    ),
    disable_additional_properties: Type.Optional(
      Type.Boolean({
        default: false,
        description: "Objects have only the properties that their schema names.",
      }),
    ),
    whitespace_pattern: nullable(Type.String(), {
      description: "Allowed whitespace between the parts of JSON, as a regular expression.",
    }),
    structural_tag: nullable(Type.String(), {
      description: "The answer is free text with constrained tagged parts, described in JSON.",
    }),
    _backend: nullable(Type.String(), { description: "`auto` or `hone`, which mean the same." }),
    _backend_was_auto: Type.Optional(Type.Boolean({ default: false, description: "Accepted without use." })),
  },
  { title: "StructuredOutputs" },
);

const jsonSchema = Type.Union([
  Type.String({ title: "str" }),
  Type.Object({}, { additionalProperties: true, title: "dict" }),
]);

/** Defines a body field that is an alias of a member of `structured_outputs`, under another server's name. */
function spelled<const Member extends string, Schema extends TSchema>(
  spells: Member,
  schema: Schema,
  { whose, example }: { readonly whose: string; readonly example: Json },
) {
  const about = `Alias of structured_outputs.${spells}, ${whose}.`;
  return {
    ...field("constraint", nullable(schema), { about, otherwise: "none", example, isEngineFeature: true }),
    spells,
  };
}

const whose = "from older vLLM versions";
const llamaCpp = "from llama.cpp";
const yesOrNo = 'root ::= "yes" | "no"';

/** Aliases, in the order in which faults list them. */
export const spelledFields = {
  guided_json: spelled("json", jsonSchema, { whose, example: { type: "object" } }),
  guided_regex: spelled("regex", Type.String(), { whose, example: "[0-9]+" }),
  guided_choice: spelled("choice", Type.Array(Type.String()), { whose, example: ["yes", "no"] }),
  guided_grammar: spelled("grammar", Type.String(), { whose, example: yesOrNo }),
  grammar: spelled("grammar", Type.String(), { whose: llamaCpp, example: yesOrNo }),
  json_schema: spelled("json", jsonSchema, { whose: llamaCpp, example: { type: "object" } }),
  format: {
    ...field(
      "constraint",
      nullable(
        Type.Union([Type.Enum(["json"]), Type.Object({}, { additionalProperties: true, title: "dict" })]),
      ),
      {
        about:
          "As in Ollama: `json` constrains the answer to any JSON object, a schema to JSON that satisfies it.",
        otherwise: "none",
        example: "json",
        isEngineFeature: true,
      },
    ),
    spells: "json",
  },
  guided_whitespace_pattern: spelled("whitespace_pattern", Type.String(), { whose, example: " ?" }),
  guided_decoding_backend: {
    ...field("constraint", nullable(Type.String()), {
      about: `Alias of structured_outputs._backend, ${whose}.`,
      otherwise: "auto",
      example: "auto",
    }),
    spells: "_backend",
  },
} as const;

export const constraintFields = {
  structured_outputs: field("constraint", nullable(structuredOutputsSchema), {
    about:
      "Constraint on the answer, and how JSON is written. Give at most one constraint, here or in response_format.",
    otherwise: "none",
    example: { choice: ["yes", "no"] },
    isEngineFeature: true,
  }),
  // If this field sets the constraint, tool calls are exempt from it (`calls.areExempt`).
  response_format: field("constraint", nullable(responseFormatSchema), {
    about: "Form of the answer: JSON, JSON of a schema, or a structural tag; `text` does not constrain it.",
    otherwise: "none",
    example: { type: "json_object" },
    isEngineFeature: true,
    inResponses: false,
  }),
  ...spelledFields,
};
