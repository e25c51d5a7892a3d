// Body of a text completion: one or more prompts, as text or token ids, and the generation fields of a chat request.
// This module defines the additional fields, and checks combinations of fields.
import { Type } from "typebox";
import { report, type Findings } from "../../../base/validation/findings.ts";
import type { BodyForm } from "../body.ts";
import { checkGeneration } from "../chat/chat-combinations.ts";
import { unservedConstraint } from "../chat/chat-constraint.ts";
import { generationFields } from "../chat/chat-request.ts";
import { field, schemaOf, type ValuesOf } from "../fields/field.ts";
import { tokenLimitSchema } from "../chat/chat-limits.ts";
import { nullable } from "../nullable.ts";

const tokenId = Type.Integer({ minimum: 0, title: "int" });
const promptSchema = Type.Union([
  Type.String({ title: "str" }),
  Type.Array(
    Type.Union([Type.String({ title: "str" }), tokenId, Type.Array(tokenId, { title: "list[int]" })]),
    { title: "list", minItems: 1 },
  ),
]);

/** Default of `max_tokens`, as low as in OpenAI's API. */
export const defaultMaxTokens = 16;

export const completionFields = {
  prompt: field("prompt.text", promptSchema, {
    about:
      "Text to continue, without a chat template: a string, a list of strings, token ids, or a list of lists of token ids. Several prompts are answered at the same time; in the answer, choices are in the order of the prompts. If one prompt fails, the whole request fails.",
    range: "at most 128 prompts unless configured otherwise, none empty",
    example: "The capital of France is",
  }),
  max_tokens: field("stopping.maxTokens", tokenLimitSchema(), {
    about:
      "Maximum number of answer tokens; -1 for no limit. Reduced to the remaining context if it is larger. 0 generates nothing: with echo and logprobs, such a request returns the prompt's log-probabilities.",
    default: defaultMaxTokens,
    example: 100,
  }),
  logprobs: field("output.logprobs", nullable(Type.Integer({ minimum: 0, maximum: 20 })), {
    about:
      "Number of most probable alternatives to return for each answer token, together with the log-probability of the token itself. Log-probabilities are computed before bias, penalties and temperature. With echo, the log-probabilities of the prompt's tokens are returned too. The answers to one prompt may have at most 4,194,304 log-probabilities in total.",
    otherwise: "none",
    example: 3,
  }),
  echo: field("prompt.echo", nullable(Type.Boolean()), {
    about: "True to put the prompt's text before the answer's text.",
    default: false,
    example: true,
  }),
  add_special_tokens: field("prompt.addSpecialTokens", Type.Optional(Type.Boolean()), {
    about: "Adds the tokenizer's special tokens, such as a beginning-of-text token, to a text prompt.",
    default: true,
    example: false,
  }),
  // The next two fields are accepted only with values that have no effect.
  best_of: field(null, nullable(Type.Integer({ minimum: 1 })), {
    about: "Number of answers to sample. Must equal n, because all sampled answers are returned.",
    otherwise: "n",
    example: 1,
  }),
  suffix: field(null, nullable(Type.String()), {
    about: "Text that follows the answer. Refused unless empty.",
    otherwise: "none",
    example: "",
  }),
  ...generationFields,
};

const completionSchema = schemaOf("CompletionRequest", completionFields);

export type CompletionBody = ValuesOf<typeof completionFields>;

export const completionForm: BodyForm<typeof completionSchema> = {
  schema: completionSchema,
  fields: completionFields,
  more: checkCombinations,
  moreUnserved: unservedConstraint,
};

type Body = Readonly<Record<string, unknown>>;

/** Adds faults that the schema cannot detect. The body is unchecked, so any member may have any type. */
function checkCombinations(body: Body, findings: Findings): void {
  checkGeneration(body, body["max_tokens"] ?? defaultMaxTokens, findings);
  checkPrompts(body["prompt"], findings);
  const { suffix, best_of: bestOf, n } = body;
  if (typeof suffix === "string" && suffix !== "") {
    const message = "suffix is not supported; leave it out.";
    report(findings, "value_error", `Value error, ${message}`, "suffix");
  }
  const count = typeof n === "number" ? n : 1;
  if (typeof bestOf === "number" && bestOf !== count) {
    const message = `best_of is ${bestOf} and n is ${count}: every answer that is drawn is returned. Send the same number, or leave best_of out.`;
    report(findings, "value_error", `Value error, ${message}`, "best_of");
  }
}

/** Adds faults if a list has prompts of different kinds, or a prompt that is an empty list. */
function checkPrompts(prompt: unknown, findings: Findings): void {
  if (!Array.isArray(prompt)) return;
  const kinds = new Set(prompt.map((item) => (Array.isArray(item) ? "list" : typeof item)));
  if (kinds.size > 1) {
    const message =
      "A list of prompts holds texts, token ids of one prompt, or lists of token ids, not several of these.";
    report(findings, "value_error", `Value error, ${message}`, "prompt");
  }
  prompt.forEach((item, index) => {
    if (!Array.isArray(item) || item.length > 0) return;
    report(
      findings,
      "too_short",
      "The prompt is empty; send at least one token id.",
      "prompt",
      String(index),
    );
  });
}
