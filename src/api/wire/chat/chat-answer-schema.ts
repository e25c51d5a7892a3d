// Schemas that document the answer to a chat request: the complete answer, and the chunks of a stream. Only tests
// validate answers against them.
import { Type } from "typebox";
import { nullable, orNull } from "../nullable.ts";

const count = (description: string) => Type.Integer({ minimum: 0, description });
export const tokenIds = Type.Array(Type.Integer({ minimum: 0 }));
const promptTokenIds = Type.Array(Type.Integer({ minimum: 0 }), { description: "Token ids of the prompt." });

export const usageSchema = Type.Object({
  prompt_tokens: count("Number of tokens of the prompt, counted once even if there are several choices."),
  completion_tokens: count("Number of tokens of all choices together."),
  total_tokens: count("Sum of prompt_tokens and completion_tokens."),
  prompt_tokens_details: Type.Object({
    cached_tokens: count("Number of tokens at the start of the prompt that were read from the prefix cache."),
  }),
});

const logprobEntry = {
  token: Type.String({ description: "The token's text, or `token_id:<N>`." }),
  logprob: Type.Number({
    description: "Natural logarithm of the token's probability; -9999 if the probability is 0.",
  }),
  bytes: Type.Array(Type.Integer({ minimum: 0, maximum: 255 }), {
    description: "UTF-8 bytes of the token's text. A character may span several tokens.",
  }),
};

const logprobsSchema = Type.Object({
  content: Type.Array(
    Type.Object({
      ...logprobEntry,
      top_logprobs: Type.Array(Type.Object(logprobEntry), {
        description: "Most probable tokens at this position, most probable first.",
      }),
    }),
    { description: "One entry per answer token." },
  ),
  refusal: Type.Null(),
});

const promptLogprob = Type.Object({
  logprob: Type.Number({ description: "Natural logarithm of the token's probability." }),
  rank: Type.Integer({
    minimum: 1,
    description: "Rank of the token by probability; 1 is the most probable.",
  }),
  decoded_token: orNull(Type.String(), { description: "The token's text." }),
});

export const promptLogprobsSchema = orNull(
  Type.Array(orNull(Type.Object({}, { additionalProperties: promptLogprob }))),
  {
    description:
      "One object per prompt token, but null for the first token. The keys of an object are the ids of the token itself and of its alternatives.",
  },
);

export const finish = {
  stop_reason: orNull(Type.Integer(), {
    description: "Id of the stop token that ended the choice; null if no stop token did.",
  }),
  matched_stop: orNull(Type.String(), {
    description: "The stop string that ended the choice; null if no stop string did.",
  }),
};
const finishReason = Type.Enum(["stop", "length", "tool_calls"]);

const toolCallSchema = Type.Object(
  {
    id: Type.String(),
    type: Type.Enum(["function", "custom"]),
    function: Type.Optional(
      Type.Object({
        name: Type.String(),
        arguments: Type.String({ description: "Arguments, as a string of JSON." }),
      }),
    ),
    custom: Type.Optional(
      Type.Object({
        name: Type.String(),
        input: Type.String({ description: "Input of the custom tool, as one string." }),
      }),
    ),
  },
  { title: "ToolCall" },
);

const reasoning =
  "The model's thoughts; `reasoning` and `reasoning_content` are the same. Null if there are none.";

const messageSchema = Type.Object(
  {
    role: Type.String(),
    content: orNull(Type.String(), {
      description: "Text of the answer; null if the message has only tool calls or only thoughts.",
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
    token_ids: orNull(tokenIds, {
      description: "Token ids of the answer, with return_token_ids and for trained models; otherwise null.",
    }),
    prompt_token_ids: Type.Optional(promptTokenIds),
  },
  { title: "Choice" },
);

export const header = {
  id: Type.String({ description: "`chatcmpl-` followed by the request's id." }),
  request_id: Type.String({ description: "Id of the request." }),
  created: Type.Integer({ description: "Unix time in seconds." }),
  model: Type.String({
    description: "Name of the model as the request gave it; without one, the name of the default model.",
  }),
  service_tier: Type.Enum(["default"]),
  system_fingerprint: Type.String({
    description: "Identifies the base model, the version, and the build of the engine.",
  }),
};

/** Reference to a prompt whose KV cache this server holds for another server. */
export const passingAnswerSchema = orNull(Type.Object({}, { additionalProperties: true }), {
  description:
    "Value to send as `kv_transfer_params` to the server that generates the answer; null if the request had no do_remote_decode.",
});

/** A complete answer, sent without a stream. */
export const chatAnswerSchema = Type.Object(
  {
    ...header,
    object: Type.Enum(["chat.completion"]),
    choices: Type.Array(choiceSchema),
    usage: usageSchema,
    prompt_logprobs: promptLogprobsSchema,
    prompt_token_ids: orNull(tokenIds, {
      description: "Token ids of the prompt; null without return_token_ids.",
    }),
    kv_transfer_params: passingAnswerSchema,
  },
  { title: "ChatCompletion" },
);

const toolCallDelta = Type.Object({
  index: Type.Integer({ minimum: 0, description: "Index of the call in the answer." }),
  id: Type.Optional(Type.String()),
  type: Type.Optional(Type.Enum(["function", "custom"])),
  function: Type.Optional(
    Type.Object({
      name: Type.Optional(Type.String()),
      arguments: Type.String({ description: "Text to append to the arguments." }),
    }),
  ),
  custom: Type.Optional(
    Type.Object({
      name: Type.Optional(Type.String()),
      input: Type.String({ description: "Text to append to the input." }),
    }),
  ),
});

const chunkChoice = Type.Object({
  index: Type.Integer({ minimum: 0 }),
  delta: Type.Object({
    role: Type.Optional(
      Type.String({
        description:
          "`assistant`, or the role of a continued message. Present only in the first chunk of the choice.",
      }),
    ),
    content: nullable(Type.String(), { description: "Text to append to the answer." }),
    reasoning: nullable(Type.String(), { description: "Text to append to the model's thoughts." }),
    reasoning_content: nullable(Type.String(), { description: "The same as `reasoning`." }),
    tool_calls: Type.Optional(
      Type.Array(toolCallDelta, { description: "New tool calls, or text to append to their arguments." }),
    ),
  }),
  logprobs: orNull(logprobsSchema),
  finish_reason: orNull(finishReason, {
    description:
      "Why the choice ended. Set only in the choice's last chunk, whose delta is empty; null in earlier chunks.",
  }),
  stop_reason: Type.Optional(finish.stop_reason),
  matched_stop: Type.Optional(finish.matched_stop),
  token_ids: nullable(tokenIds, {
    description: "Ids of the chunk's tokens. Present with return_token_ids, and for trained models.",
  }),
  prompt_token_ids: Type.Optional(promptTokenIds),
});

/**
 * One event of a stream. `[DONE]` follows the last event. An error during the stream is an event with the error body.
 */
export const chatChunkSchema = Type.Object(
  {
    ...header,
    object: Type.Enum(["chat.completion.chunk"]),
    choices: Type.Array(chunkChoice, {
      description: "One choice per chunk; empty in a chunk that only reports the usage.",
    }),
    usage: Type.Optional(usageSchema),
    prompt_token_ids: nullable(tokenIds, {
      description:
        "Token ids of the prompt. Present only in the first chunk of each choice, and only with return_token_ids.",
    }),
  },
  { title: "ChatCompletionChunk" },
);
