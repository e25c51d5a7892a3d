// What the API's own description says of a text completion: a row for each field that is its own, a chat's row for every
// other, and the schemas of its answers. Checks nothing.
import { Type } from "typebox";
import { finish, header, promptLogprobsSchema, tokenIds, usageSchema } from "../chat/chat-answer-schema.ts";
import { documentedField } from "../chat/chat-documentation.ts";
import { rowText, type FieldRow } from "../chat/fields/field-row.ts";
import { generationSchemas } from "../chat/generation-fields.ts";
import { nullable, orNull } from "../nullable.ts";
import { completionSchema, defaultMaxTokens, type CompletionBody } from "./completion-request.ts";

type OwnField = Exclude<keyof CompletionBody, keyof typeof generationSchemas>;

const ownRows: { readonly [Field in OwnField]-?: FieldRow } = {
  prompt: {
    about:
      "What the answer goes on with, as it stands: a text, a list of texts, token ids, or a list of lists of token ids. No chat template is used. Several prompts are answered at once, the choices of each after those of the one before; one that fails fails all.",
    range: "at most 128 prompts unless configured otherwise, none empty",
    example: "The capital of France is",
  },
  max_tokens: {
    about:
      "Most tokens of an answer; cut to the room that is left. With 0 nothing is answered but the prompt: with echo and logprobs that scores it.",
    default: defaultMaxTokens,
    example: 100,
  },
  logprobs: {
    about:
      "Returns each token's log-probability, before bias, penalties and temperature, with so many alternatives; with echo the prompt's too. The answers of a prompt have at most 4,194,304 together.",
    otherwise: "none",
    example: 3,
  },
  echo: { about: "Puts the prompt's text before the answer's.", default: false, example: true },
  add_special_tokens: {
    about: "Adds the tokenizer's special tokens, such as one that begins a text, to a prompt that is a text.",
    default: true,
    example: false,
  },
  best_of: {
    about: "How many answers are drawn: all are returned, so it can only be n.",
    otherwise: "n",
    example: 1,
  },
  suffix: {
    about: "What comes after the answer: refused unless empty.",
    otherwise: "none",
    example: "",
  },
};

/** The schema of a request with its rows. */
export const documentedCompletionRequest = {
  ...completionSchema,
  properties: {
    // The record has the schema's own names.
    ...Object.fromEntries(
      Object.entries(ownRows).map(([name, row]) => [
        name,
        { ...completionSchema.properties[name as OwnField], ...rowText(row) },
      ]),
    ),
    ...Object.fromEntries(
      Object.keys(generationSchemas).map((name) => [
        name,
        documentedField(name as keyof typeof generationSchemas),
      ]),
    ),
  },
};

const logprobsSchema = Type.Object({
  tokens: Type.Array(Type.String(), { description: "Each token's text, or `token_id:<N>`." }),
  token_logprobs: Type.Array(orNull(Type.Number()), {
    description: "Natural logarithms; null for the first token of a prompt.",
  }),
  top_logprobs: Type.Array(orNull(Type.Object({}, { additionalProperties: Type.Number() })), {
    description: "By text: the token itself, then the alternatives, most probable first.",
  }),
  text_offset: Type.Array(Type.Integer({ minimum: 0 }), {
    description: "Where each token's text begins in the choice's, in characters.",
  }),
});

const choice = {
  index: Type.Integer({ minimum: 0, description: "The prompt's index times n, and the answer's." }),
  text: Type.String(),
  logprobs: orNull(logprobsSchema),
};
const finishReason = Type.Enum(["stop", "length"]);
const completionHeader = {
  ...header,
  id: Type.String({ description: "`cmpl-` and the request's id." }),
  object: Type.Enum(["text_completion"]),
};

/** The answer that is no stream. */
export const completionAnswerSchema = Type.Object(
  {
    ...completionHeader,
    choices: Type.Array(
      Type.Object({
        ...choice,
        finish_reason: finishReason,
        ...finish,
        token_ids: orNull(tokenIds, { description: "With return_token_ids." }),
        prompt_token_ids: orNull(tokenIds, { description: "With return_token_ids." }),
        prompt_logprobs: promptLogprobsSchema,
      }),
    ),
    usage: usageSchema,
    kv_transfer_params: Type.Null(),
  },
  { title: "Completion" },
);

/** One event of a stream; `[DONE]` comes after the last, and an error on the way is an event with the error's body. */
export const completionChunkSchema = Type.Object(
  {
    ...completionHeader,
    choices: Type.Array(
      Type.Object({
        ...choice,
        finish_reason: orNull(finishReason, { description: "In the last chunk of the choice." }),
        stop_reason: Type.Optional(finish.stop_reason),
        matched_stop: Type.Optional(finish.matched_stop),
        token_ids: orNull(tokenIds),
        prompt_token_ids: nullable(tokenIds, {
          description: "In the first chunk of the choice, with return_token_ids.",
        }),
      }),
      { description: "One at a time; none in the chunk with the usage." },
    ),
    usage: Type.Optional(usageSchema),
  },
  { title: "CompletionChunk" },
);
