// Schemas of the answers to a text completion. They are used only for documentation and tests.
import { Type } from "typebox";
import {
  finish,
  header,
  passingAnswerSchema,
  promptLogprobsSchema,
  tokenIds,
  usageSchema,
} from "../chat/chat-answer-schema.ts";
import { nullable, orNull } from "../nullable.ts";

const logprobsSchema = Type.Object({
  tokens: Type.Array(Type.String(), { description: "Each token's text, or `token_id:<N>`." }),
  token_logprobs: Type.Array(orNull(Type.Number()), {
    description: "Natural logarithm of each token's probability; null for the first token of a prompt.",
  }),
  top_logprobs: Type.Array(orNull(Type.Object({}, { additionalProperties: Type.Number() })), {
    description:
      "For each token, log-probabilities keyed by text: of the token itself, then of the alternatives, most probable first.",
  }),
  text_offset: Type.Array(Type.Integer({ minimum: 0 }), {
    description: "Offset of each token's text in the choice's text, in characters.",
  }),
});

const choice = {
  index: Type.Integer({
    minimum: 0,
    description:
      "Index of the choice: the index of its prompt times n, plus the index of the answer among the answers to that prompt.",
  }),
  text: Type.String({ description: "Text of the answer; in a stream, text to append." }),
  logprobs: orNull(logprobsSchema),
};
const finishReason = Type.Enum(["stop", "length"]);
const completionHeader = {
  ...header,
  id: Type.String({ description: "`cmpl-` followed by the request's id." }),
  object: Type.Enum(["text_completion"]),
};

/** A complete answer, sent without a stream. */
export const completionAnswerSchema = Type.Object(
  {
    ...completionHeader,
    choices: Type.Array(
      Type.Object({
        ...choice,
        finish_reason: finishReason,
        ...finish,
        token_ids: orNull(tokenIds, {
          description: "Token ids of the answer; null without return_token_ids.",
        }),
        prompt_token_ids: orNull(tokenIds, {
          description: "Token ids of the prompt; null without return_token_ids.",
        }),
        prompt_logprobs: promptLogprobsSchema,
      }),
    ),
    usage: usageSchema,
    kv_transfer_params: passingAnswerSchema,
  },
  { title: "Completion" },
);

/**
 * One event of a stream. `[DONE]` follows the last event. An error during the stream is an event with the error body.
 */
export const completionChunkSchema = Type.Object(
  {
    ...completionHeader,
    choices: Type.Array(
      Type.Object({
        ...choice,
        finish_reason: orNull(finishReason, {
          description:
            "Why the choice ended. Set only in the choice's last chunk, whose text is empty; null in earlier chunks.",
        }),
        stop_reason: Type.Optional(finish.stop_reason),
        matched_stop: Type.Optional(finish.matched_stop),
        token_ids: orNull(tokenIds, {
          description: "Ids of the chunk's tokens; null without return_token_ids.",
        }),
        prompt_token_ids: nullable(tokenIds, {
          description:
            "Token ids of the prompt. Present only in the first chunk of the choice, and only with return_token_ids.",
        }),
      }),
      { description: "One choice per chunk; empty in a chunk that only reports the usage." },
    ),
    usage: Type.Optional(usageSchema),
  },
  { title: "CompletionChunk" },
);
