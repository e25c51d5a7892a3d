// Request fields for the constraint on an answer, with aliases for clients of older vLLM versions, llama.cpp and
// Ollama.
import { Type, type TSchema } from "typebox";
import type { Json } from "../../../../base/domain/text/json.ts";
import { anyObject, named, open } from "../../fields/any-object.ts";
import { field } from "../../fields/field.ts";
import { nullable } from "../../nullable.ts";

const responseFormatSchema = Type.Object(
  {
    type: Type.Enum(["text", "json_object", "json_schema", "structural_tag", "json", "regex", "grammar"], {
      description: "Type of the constraint. `json` and `regex` are TGI's names, `grammar` is Fireworks'.",
    }),
    json_schema: nullable(
      Type.Object(
        {
          name: Type.String({ description: "Name of the schema; ignored by the server." }),
          description: nullable(Type.String(), {
            description: "Description of the schema; ignored by the server.",
          }),
          schema: nullable(anyObject, { description: "The JSON Schema." }),
          strict: nullable(Type.Boolean(), {
            description: "Ignored: every schema is enforced exactly.",
          }),
        },
        { ...named, title: "JsonSchema" },
      ),
      {
        description: "With type `json_schema` or `json_object`: JSON Schema of the answer, in OpenAI's form.",
      },
    ),
    schema: nullable(anyObject, {
      description:
        "With type `json_object` or `json_schema`: JSON Schema of the answer, in llama.cpp's form.",
    }),
    value: Type.Optional(
      Type.Unknown({
        description:
          "Constraint in TGI's form: a JSON Schema with type `json` or `json_object`, a pattern with type `regex`.",
      }),
    ),
    grammar: nullable(Type.String(), {
      description: "With type `grammar`: a grammar in GBNF or Lark notation.",
    }),
    format: Type.Optional(
      Type.Unknown({ description: "With type `structural_tag`: structure of the answer." }),
    ),
    structures: Type.Optional(
      Type.Unknown({ description: "With type `structural_tag`, in its older form: the tagged parts." }),
    ),
    triggers: Type.Optional(
      Type.Unknown({
        description: "With type `structural_tag`, in its older form: the strings that begin a tagged part.",
      }),
    ),
  },
  { ...named, title: "ResponseFormat" },
);

const structuredOutputsSchema = Type.Object(
  {
    json: nullable(Type.Union([Type.String({ title: "str" }), Type.Object({}, { ...open, title: "dict" })]), {
      description: "JSON Schema that the answer satisfies, as an object or as a string of JSON.",
    }),
    regex: nullable(Type.String(), { description: "Regular expression that the whole answer matches." }),
    choice: nullable(Type.Array(Type.String()), { description: "Strings, one of which is the answer." }),
    grammar: nullable(Type.String(), {
      description: "Grammar that the answer matches, in GBNF or Lark notation.",
    }),
    json_object: nullable(Type.Boolean(), {
      description: "True to constrain the answer to any JSON object.",
    }),
    disable_fallback: Type.Optional(
      Type.Boolean({
        default: false,
        description: "Accepted without effect: the server has only one constraint engine.",
      }),
    ),
    disable_any_whitespace: Type.Optional(
      Type.Boolean({
        default: false,
        description: "True to allow no whitespace between the tokens of JSON.",
      }),
    ),
    disable_additional_properties: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          "True to forbid properties that the schema does not name, even if the schema allows them.",
      }),
    ),
    whitespace_pattern: nullable(Type.String(), {
      description: "Regular expression for the whitespace between the tokens of JSON.",
    }),
    structural_tag: nullable(Type.String(), {
      description:
        "Structural tag as a string of JSON: the answer is free text in which the tagged parts are constrained.",
    }),
    _backend: nullable(Type.String(), {
      description:
        "Engine that enforces constraints: `auto` or `hone`. Both values have the same effect, because the server has only one engine.",
    }),
    _backend_was_auto: Type.Optional(
      Type.Boolean({ default: false, description: "Accepted, but has no effect." }),
    ),
  },
  { title: "StructuredOutputs" },
);

const jsonSchema = Type.Union([
  Type.String({ title: "str" }),
  Type.Object({}, { additionalProperties: true, title: "dict" }),
]);

/** Defines an alias: a body field that is another server's name for a member of `structured_outputs`. */
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

/** Aliases of members of `structured_outputs`, in the order in which faults list them. */
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
          "Constraint in Ollama's form: `json` for any JSON object, or a JSON Schema that the answer satisfies.",
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
      "Constraint on the answer, as in vLLM's API, and options for the whitespace and the properties of JSON. A request may have at most one constraint, in this field or in response_format.",
    otherwise: "none",
    example: { choice: ["yes", "no"] },
    isEngineFeature: true,
  }),
  // If this field sets the constraint, tool calls are exempt from it (see `calls.areExempt`).
  response_format: field("constraint", nullable(responseFormatSchema), {
    about:
      "Constraint on the answer, in OpenAI's form: JSON, JSON that satisfies a schema, a regular expression, a grammar, or a structural tag. Type `text` does not constrain the answer.",
    otherwise: "none",
    example: { type: "json_object" },
    isEngineFeature: true,
    inResponses: false,
  }),
  ...spelledFields,
};
