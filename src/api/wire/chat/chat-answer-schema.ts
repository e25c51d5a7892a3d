// Schemas that document the answer to a chat request: the whole answer, and the chunks of a stream. Only tests
// validate answers against them.
import { Type } from "typebox";
import { nullable, orNull } from "../nullable.ts";

const count = (description: string) => Type.Integer({ minimum: 0, description });
export const tokenIds = Type.Array(Type.Integer({ minimum: 0 }));

export const usageSchema = Type.Object({
  prompt_tokens: count("Tokens of the prompt, counted once regardless of n."),
  completion_tokens: count("Tokens of all choices."),
  total_tokens: count("Sum of both."),
  prompt_tokens_details: Type.Object({
    cached_tokens: count("Leading tokens of the prompt that were cached by an earlier request."),
  }),
});

const logprobEntry = {
  token: Type.String({ description: "The token's text, or `token_id:<N>`." }),
  logprob: Type.Number({ description: "Natural logarithm; -9999 for an impossible token." }),
  bytes: Type.Array(Type.Integer({ minimum: 0, maximum: 255 }), {
    description: "The text's bytes; concatenated they are the answer's bytes.",
  }),
};

const logprobsSchema = Type.Object({
  content: Type.Array(Type.Object({ ...logprobEntry, top_logprobs: Type.Array(Type.Object(logprobEntry)) }), {
    description: "One entry per token.",
  }),
  refusal: Type.Null(),
});

const promptLogprob = Type.Object({
  logprob: Type.Number(),
  rank: Type.Integer({ minimum: 1 }),
  decoded_token: orNull(Type.String()),
});

export const promptLogprobsSchema = orNull(
  Type.Array(orNull(Type.Object({}, { additionalProperties: promptLogprob }))),
  {
    description:
      "One object per prompt token, keyed by token id: the token itself, then the alternatives; null for the first token.",
  },
);

export const finish = {
  stop_reason: orNull(Type.Integer(), { description: "The stop token that ended the choice." }),
  matched_stop: orNull(Type.String(), { description: "The stop string that ended the choice." }),
};
const finishReason = Type.Enum(["stop", "length", "tool_calls"]);

const toolCallSchema = Type.Object(
  {
    id: Type.String(),
    type: Type.Enum(["function", "custom"]),
    function: Type.Optional(
      Type.Object({ name: Type.String(), arguments: Type.String({ description: "JSON." }) }),
    ),
    custom: Type.Optional(
      Type.Object({
        name: Type.String(),
        input: Type.String({ description: "Input text of a custom tool call." }),
      }),
    ),
  },
  { title: "ToolCall" },
);

const reasoning = "The model's thoughts, under both names.";

const messageSchema = Type.Object(
  {
    role: Type.String(),
    content: orNull(Type.String(), {
      description: "Null if the message only calls tools or only thinks.",
    }),
    reasoning: orNull(Type.String(), { description: reasoning }),
    reasoning_content: orNull(Type.String(), { description: reasoning }),
    tool_calls: Type.Array(toolCallSchema),
    refusal: Type.Null(),
    annotations: Type.Null(),
    audio: Type.Null(),
    function_call: Type.Null(),
  },
  { title: "AssistantMessage" },
);

export const choiceSchema = Type.Object(
  {
    index: Type.Integer({ minimum: 0 }),
    message: messageSchema,
    logprobs: orNull(logprobsSchema),
    finish_reason: finishReason,
    ...finish,
    token_ids: orNull(tokenIds, { description: "Present with return_token_ids, and for trained models." }),
    prompt_token_ids: Type.Optional(tokenIds),
  },
  { title: "Choice" },
);

export const header = {
  id: Type.String({ description: "`chatcmpl-` and the request's id." }),
  request_id: Type.String(),
  created: Type.Integer({ description: "Seconds since 1970." }),
  model: Type.String({ description: "The requested name, or the name of the default model." }),
  service_tier: Type.Enum(["default"]),
  system_fingerprint: Type.String({ description: "Identifies base, version and engine build." }),
};

/** Answer that is not streamed. */
export const chatAnswerSchema = Type.Object(
  {
    ...header,
    object: Type.Enum(["chat.completion"]),
    choices: Type.Array(choiceSchema),
    usage: usageSchema,
    prompt_logprobs: promptLogprobsSchema,
    prompt_token_ids: orNull(tokenIds, { description: "Present with return_token_ids." }),
    kv_transfer_params: orNull(Type.Object({}, { additionalProperties: true })),
  },
  { title: "ChatCompletion" },
);

const toolCallDelta = Type.Object({
  index: Type.Integer({ minimum: 0 }),
  id: Type.Optional(Type.String()),
  type: Type.Optional(Type.Enum(["function", "custom"])),
  function: Type.Optional(Type.Object({ name: Type.Optional(Type.String()), arguments: Type.String() })),
  custom: Type.Optional(Type.Object({ name: Type.Optional(Type.String()), input: Type.String() })),
});

const chunkChoice = Type.Object({
  index: Type.Integer({ minimum: 0 }),
  delta: Type.Object({
    role: Type.Optional(Type.String({ description: "In the first chunk of the choice, before any text." })),
    content: nullable(Type.String()),
    reasoning: nullable(Type.String()),
    reasoning_content: nullable(Type.String()),
    tool_calls: Type.Optional(Type.Array(toolCallDelta)),
  }),
  logprobs: orNull(logprobsSchema),
  finish_reason: orNull(finishReason, {
    description: "In the last chunk of the choice, which has an empty delta.",
  }),
  stop_reason: Type.Optional(finish.stop_reason),
  matched_stop: Type.Optional(finish.matched_stop),
  token_ids: nullable(tokenIds),
  prompt_token_ids: Type.Optional(tokenIds),
});

/** One event of a stream. `[DONE]` follows the last one; an error during the stream is an event with the error body. */
export const chatChunkSchema = Type.Object(
  {
    ...header,
    object: Type.Enum(["chat.completion.chunk"]),
    choices: Type.Array(chunkChoice, {
      description: "One choice per chunk; empty in the chunk with the usage.",
    }),
    usage: Type.Optional(usageSchema),
    prompt_token_ids: nullable(tokenIds, {
      description: "In the first chunk of each choice, with return_token_ids.",
    }),
  },
  { title: "ChatCompletionChunk" },
);
