// Schemas of the answers to a text completion, used for documentation and tests.
import { Type } from "typebox";
import { finish, header, promptLogprobsSchema, tokenIds, usageSchema } from "../chat/chat-answer-schema.ts";
import { nullable, orNull } from "../nullable.ts";

const logprobsSchema = Type.Object({
  tokens: Type.Array(Type.String(), { description: "Each token's text, or `token_id:<N>`." }),
  token_logprobs: Type.Array(orNull(Type.Number()), {
    description: "Natural logarithms; null for the first token of a prompt.",
  }),
  top_logprobs: Type.Array(orNull(Type.Object({}, { additionalProperties: Type.Number() })), {
    description: "Keyed by text: the token itself, then the alternatives, most probable first.",
  }),
  text_offset: Type.Array(Type.Integer({ minimum: 0 }), {
    description: "Offset of each token's text in the choice's text, in characters.",
  }),
});

const choice = {
  index: Type.Integer({ minimum: 0, description: "The prompt's index times n, plus the answer's index." }),
  text: Type.String(),
  logprobs: orNull(logprobsSchema),
};
const finishReason = Type.Enum(["stop", "length"]);
const completionHeader = {
  ...header,
  id: Type.String({ description: "`cmpl-` and the request's id." }),
  object: Type.Enum(["text_completion"]),
};

/** Answer that is not streamed. */
export const completionAnswerSchema = Type.Object(
  {
    ...completionHeader,
    choices: Type.Array(
      Type.Object({
        ...choice,
        finish_reason: finishReason,
        ...finish,
        token_ids: orNull(tokenIds, { description: "Present with return_token_ids." }),
        prompt_token_ids: orNull(tokenIds, { description: "Present with return_token_ids." }),
        prompt_logprobs: promptLogprobsSchema,
      }),
    ),
    usage: usageSchema,
    kv_transfer_params: orNull(Type.Object({}, { additionalProperties: true })),
  },
  { title: "Completion" },
);

/** One event of a stream. `[DONE]` follows the last one; an error during the stream is an event with the error body. */
export const completionChunkSchema = Type.Object(
  {
    ...completionHeader,
    choices: Type.Array(
      Type.Object({
        ...choice,
        finish_reason: orNull(finishReason, {
          description: "In the last chunk of the choice, which has an empty text.",
        }),
        stop_reason: Type.Optional(finish.stop_reason),
        matched_stop: Type.Optional(finish.matched_stop),
        token_ids: orNull(tokenIds),
        prompt_token_ids: nullable(tokenIds, {
          description: "In the first chunk of the choice, with return_token_ids.",
        }),
      }),
      { description: "One choice per chunk; empty in the chunk with the usage." },
    ),
    usage: Type.Optional(usageSchema),
  },
  { title: "CompletionChunk" },
);
