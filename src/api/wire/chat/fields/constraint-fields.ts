// The fields that say what an answer must look like, and their other spellings, which clients of older vLLM, llama.cpp and
// Ollama send.
import { Type, type TSchema } from "typebox";
import type { Json } from "../../../../base/domain/text/json.ts";
import { anyObject, named, open } from "../../fields/any-object.ts";
import { field } from "../../fields/field.ts";
import { nullable } from "../../nullable.ts";

const responseFormatSchema = Type.Object(
  {
    type: Type.Enum(["text", "json_object", "json_schema", "structural_tag", "json", "regex", "grammar"], {
      description:
        "What the answer is held to. `json` and `regex` are TGI's names, `grammar` is Fireworks' one.",
    }),
    json_schema: nullable(
      Type.Object(
        {
          name: Type.String({ description: "For people; nothing depends on it." }),
          description: nullable(Type.String(), { description: "For people; nothing depends on it." }),
          schema: nullable(anyObject, { description: "The JSON Schema." }),
          strict: nullable(Type.Boolean(), {
            description: "Every schema is kept exactly, whatever this says.",
          }),
        },
        { ...named, title: "JsonSchema" },
      ),
      { description: "With `json_schema` or `json_object`: the schema that the answer is held to." },
    ),
    schema: nullable(anyObject, {
      description: "With `json_object` or `json_schema`: the schema itself, as llama.cpp has it.",
    }),
    value: Type.Optional(
      Type.Unknown({
        description: "With `json` or `json_object` the schema, with `regex` the pattern, as TGI has it.",
      }),
    ),
    grammar: nullable(Type.String(), {
      description: "With `grammar`: a grammar in GBNF or in Lark's notation.",
    }),
    format: Type.Optional(
      Type.Unknown({ description: "With `structural_tag`: what the answer is made of." }),
    ),
    structures: Type.Optional(
      Type.Unknown({ description: "With `structural_tag`, in its older form: the tagged parts." }),
    ),
    triggers: Type.Optional(
      Type.Unknown({ description: "With `structural_tag`, in its older form: what begins a tagged part." }),
    ),
  },
  { ...named, title: "ResponseFormat" },
);

const structuredOutputsSchema = Type.Object(
  {
    json: nullable(Type.Union([Type.String({ title: "str" }), Type.Object({}, { ...open, title: "dict" })]), {
      description: "The answer is JSON of this JSON Schema, which is an object or a text of it.",
    }),
    regex: nullable(Type.String(), { description: "The whole answer matches this regular expression." }),
    choice: nullable(Type.Array(Type.String()), { description: "The answer is one of these texts." }),
    grammar: nullable(Type.String(), {
      description: "The answer is a text of this grammar, in GBNF or in Lark's notation.",
    }),
    json_object: nullable(Type.Boolean(), { description: "With true the answer is any JSON object." }),
    disable_fallback: Type.Optional(
      Type.Boolean({
        default: false,
        description: "Accepted without use: there is nothing to fall back to.",
      }),
    ),
    disable_any_whitespace: Type.Optional(
      Type.Boolean({ default: false, description: "JSON is written without blanks between its parts." }),
    ),
    disable_additional_properties: Type.Optional(
      Type.Boolean({
        default: false,
        description: "Objects have only the properties that their schema names.",
      }),
    ),
    whitespace_pattern: nullable(Type.String(), {
      description: "What may stand between the parts of JSON, as a regular expression.",
    }),
    structural_tag: nullable(Type.String(), {
      description: "The answer is free text with tagged parts that are constrained, described in JSON.",
    }),
    _backend: nullable(Type.String(), { description: "`auto` or `hone`, which are the same." }),
    _backend_was_auto: Type.Optional(Type.Boolean({ default: false, description: "Accepted without use." })),
  },
  { title: "StructuredOutputs" },
);

const jsonSchema = Type.Union([
  Type.String({ title: "str" }),
  Type.Object({}, { additionalProperties: true, title: "dict" }),
]);

/** A member of `structured_outputs` as other servers have it, as a field. */
function spelled<const Member extends string, Schema extends TSchema>(
  spells: Member,
  schema: Schema,
  { whose, example }: { readonly whose: string; readonly example: Json },
) {
  const about = `The same as structured_outputs.${spells}, ${whose}.`;
  return {
    ...field("constraint", nullable(schema), { about, otherwise: "none", example, isEngines: true }),
    spells,
  };
}

const whose = "by the older name that vLLM had";
const llamaCpp = "as llama.cpp has it";
const yesOrNo = 'root ::= "yes" | "no"';

/** In the order in which faults name them. */
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
        about: "As Ollama has it: `json` holds the answer to any JSON object, a schema to JSON of it.",
        otherwise: "none",
        example: "json",
        isEngines: true,
      },
    ),
    spells: "json",
  },
  guided_whitespace_pattern: spelled("whitespace_pattern", Type.String(), { whose, example: " ?" }),
  guided_decoding_backend: {
    ...field("constraint", nullable(Type.String()), {
      about: `The same as structured_outputs._backend, ${whose}.`,
      otherwise: "auto",
      example: "auto",
    }),
    spells: "_backend",
  },
} as const;

export const constraintFields = {
  structured_outputs: field("constraint", nullable(structuredOutputsSchema), {
    about:
      "The one constraint that the answer must keep, which response_format may hold instead, and how JSON is written.",
    otherwise: "none",
    example: { choice: ["yes", "no"] },
    isEngines: true,
  }),
  // Where it is the constraint, calls are exempt from it (`calls.areExempt`).
  response_format: field("constraint", nullable(responseFormatSchema), {
    about:
      "The form that the answer must have: JSON, JSON of a schema, or a structural tag; `text` asks for none.",
    otherwise: "none",
    example: { type: "json_object" },
    isEngines: true,
    inResponses: false,
  }),
  ...spelledFields,
};
