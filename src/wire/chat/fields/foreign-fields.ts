// Fields that clients of other servers send, of older and newer vLLM, llama.cpp and Ollama: other spellings of what is
// served here, and options that are not, refused by name with what to send instead. Their rows stand beside them.
import { Type } from "typebox";
import type { ChatField } from "../../../domain/chat.ts";
import { is, isEmpty, never, type FieldRule } from "../../body.ts";
import { nullable } from "../../nullable.ts";
import type { FieldRow } from "./field-row.ts";

const jsonSchema = Type.Union([
  Type.String({ title: "str" }),
  Type.Object({}, { additionalProperties: true, title: "dict" }),
]);

/** The members of `structured_outputs` that other servers have as fields, by these. */
export const constraintSpellings = {
  guided_json: "json",
  guided_regex: "regex",
  guided_choice: "choice",
  guided_grammar: "grammar",
  grammar: "grammar",
  json_schema: "json",
  format: "json",
  guided_whitespace_pattern: "whitespace_pattern",
  guided_decoding_backend: "_backend",
} as const;

export const foreignSchemas = {
  guided_json: nullable(jsonSchema),
  guided_regex: nullable(Type.String()),
  guided_choice: nullable(Type.Array(Type.String())),
  guided_grammar: nullable(Type.String()),
  guided_whitespace_pattern: nullable(Type.String()),
  guided_decoding_backend: nullable(Type.String()),
  grammar: nullable(Type.String()),
  json_schema: nullable(jsonSchema),
  format: nullable(
    Type.Union([Type.Enum(["json"]), Type.Object({}, { additionalProperties: true, title: "dict" })]),
  ),
  thinking_token_budget: nullable(Type.Integer({ minimum: 0 })),
  logprob_token_ids: nullable(Type.Unknown()),
  truncation_side: nullable(Type.String()),
  repetition_detection: nullable(Type.Unknown()),
  mirostat: nullable(Type.Number()),
  dry_multiplier: nullable(Type.Number()),
  xtc_probability: nullable(Type.Number()),
  typical_p: nullable(Type.Number()),
  repeat_penalty: nullable(Type.Number()),
  n_predict: nullable(Type.Number()),
  think: nullable(Type.Unknown()),
  options: nullable(Type.Unknown()),
};

type ForeignField = keyof typeof foreignSchemas;

// The record has these keys.
export const foreignFieldNames = Object.keys(foreignSchemas) as readonly ForeignField[];

const drawing = "temperature, top_p, top_k and min_p say how tokens are drawn here";

export const foreignRules: { readonly [Field in ForeignField]: FieldRule<ChatField> } = {
  guided_json: "constraint",
  guided_regex: "constraint",
  guided_choice: "constraint",
  guided_grammar: "constraint",
  grammar: "constraint",
  json_schema: "constraint",
  format: "constraint",
  guided_whitespace_pattern: "constraint",
  guided_decoding_backend: "constraint",
  thinking_token_budget: "sampling.processors",
  logprob_token_ids: {
    refusedUnless: isEmpty,
    cure: "top_logprobs gives the most probable tokens, and logprobs the one that was drawn",
  },
  truncation_side: {
    refusedUnless: is("left"),
    cure: 'truncate_prompt_tokens keeps the end of a prompt: send "left", or leave it out',
  },
  repetition_detection: {
    refusedUnless: never,
    cure: "repetition_penalty and the logits processor no-repeat-ngram hold repetitions back",
  },
  mirostat: { refusedUnless: is(0), cure: drawing },
  dry_multiplier: {
    refusedUnless: is(0),
    cure: "repetition_penalty and the logits processor no-repeat-ngram hold repetitions back",
  },
  xtc_probability: { refusedUnless: is(0), cure: drawing },
  typical_p: { refusedUnless: is(1), cure: drawing },
  repeat_penalty: {
    refusedUnless: is(1),
    cure: "repetition_penalty is what is here, over the whole prompt and answer",
  },
  n_predict: { refusedUnless: is(-1), cure: "max_tokens is what is here" },
  think: {
    refusedUnless: never,
    cure: 'reasoning_effort says how much a model thinks, and "none" that it does not',
  },
  options: {
    refusedUnless: isEmpty,
    cure: "its members are fields of their own here (temperature, top_p, max_tokens for num_predict, ...)",
  },
};

const olderVllm = "the older name that vLLM had";

export const foreignRows: { readonly [Field in ForeignField]: FieldRow } = {
  guided_json: {
    about: `The same as structured_outputs.json, by ${olderVllm}.`,
    otherwise: "none",
    example: { type: "object" },
    isEngines: true,
  },
  guided_regex: {
    about: `The same as structured_outputs.regex, by ${olderVllm}.`,
    otherwise: "none",
    example: "[0-9]+",
    isEngines: true,
  },
  guided_choice: {
    about: `The same as structured_outputs.choice, by ${olderVllm}.`,
    otherwise: "none",
    example: ["yes", "no"],
    isEngines: true,
  },
  guided_grammar: {
    about: `The same as structured_outputs.grammar, by ${olderVllm}.`,
    otherwise: "none",
    example: 'root ::= "yes" | "no"',
    isEngines: true,
  },
  guided_whitespace_pattern: {
    about: `The same as structured_outputs.whitespace_pattern, by ${olderVllm}.`,
    otherwise: "none",
    example: " ?",
    isEngines: true,
  },
  guided_decoding_backend: {
    about: `The same as structured_outputs._backend, by ${olderVllm}.`,
    otherwise: "auto",
    example: "auto",
  },
  grammar: {
    about: "The same as structured_outputs.grammar, as llama.cpp has it.",
    otherwise: "none",
    example: 'root ::= "yes" | "no"',
    isEngines: true,
  },
  json_schema: {
    about: "The same as structured_outputs.json, as llama.cpp has it.",
    otherwise: "none",
    example: { type: "object" },
    isEngines: true,
  },
  format: {
    about: "As Ollama has it: `json` holds the answer to any JSON object, a schema to JSON of it.",
    otherwise: "none",
    example: "json",
    isEngines: true,
  },
  thinking_token_budget: {
    about:
      "Most tokens of a thought: the logits processor `thinking-budget` with this budget, for models whose vocabulary has `<think>` and `</think>`.",
    otherwise: "none",
    example: 200,
    isEngines: true,
  },
  logprob_token_ids: {
    about: "Refused unless empty: top_logprobs gives the most probable tokens.",
    otherwise: "none",
    example: [42],
  },
  truncation_side: {
    about: "Which side of a prompt truncate_prompt_tokens cuts: refused unless `left`.",
    default: "left",
    example: "left",
  },
  repetition_detection: {
    about: "Refused: repetition_penalty and the logits processor `no-repeat-ngram` hold repetitions back.",
    otherwise: "none",
    example: { max_pattern_size: 20 },
  },
  mirostat: { about: `Refused unless 0: ${drawing}.`, default: 0, example: 2 },
  dry_multiplier: {
    about: "Refused unless 0: the logits processor `no-repeat-ngram` holds repeated sequences back.",
    default: 0,
    example: 0.8,
  },
  xtc_probability: { about: `Refused unless 0: ${drawing}.`, default: 0, example: 0.5 },
  typical_p: { about: `Refused unless 1: ${drawing}.`, default: 1, example: 0.9 },
  repeat_penalty: {
    about: "Refused unless 1: repetition_penalty is what is here.",
    default: 1,
    example: 1.1,
  },
  n_predict: { about: "Refused unless -1: max_tokens is what is here.", default: -1, example: 100 },
  think: {
    about: "Refused: reasoning_effort says how much a model thinks.",
    otherwise: "none",
    example: false,
  },
  options: {
    about: "Refused unless empty: its members are fields of their own here.",
    default: {},
    example: { num_ctx: 4096 },
  },
};
