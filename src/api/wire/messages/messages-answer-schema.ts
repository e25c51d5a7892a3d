// Schemas that document the answers of the Messages API: the message, the events of a stream, and a token count. Only
// tests validate answers against them.
import { Type, type TSchema } from "typebox";
import { anyObject } from "../fields/any-object.ts";
import { orNull } from "../nullable.ts";

const count = Type.Integer({ minimum: 0 });
const never = Type.Null();

const text = { type: Type.Enum(["text"]), text: Type.String(), citations: never };
const thinking = {
  type: Type.Enum(["thinking"]),
  thinking: Type.String({ description: "The model's thoughts." }),
  signature: Type.String({
    description: "SHA-256 of the thoughts. If you send the block back, the server does not check this value.",
  }),
};
const call = {
  type: Type.Enum(["tool_use"]),
  id: Type.String({ description: "Id of the call; repeat it as `tool_use_id` in the result." }),
  name: Type.String(),
  caller: Type.Object({ type: Type.Enum(["direct"]) }),
};

const block = Type.Union([
  Type.Object(text, { title: "AnthropicText" }),
  Type.Object(thinking, { title: "AnthropicThinking" }),
  Type.Object(
    {
      ...call,
      input: Type.Object(
        {},
        {
          additionalProperties: true,
          description:
            "The arguments. If the model's text is not a JSON object, for example because the call was truncated, the member `INVALID_JSON` contains the text.",
        },
      ),
    },
    { title: "AnthropicToolUse" },
  ),
]);

const usage = Type.Object(
  {
    input_tokens: Type.Integer({
      minimum: 0,
      description: "Number of prompt tokens that were not read from the prefix cache.",
    }),
    cache_creation_input_tokens: Type.Integer({
      minimum: 0,
      description: "Always 0: cache writes are not counted separately.",
    }),
    cache_read_input_tokens: Type.Integer({
      minimum: 0,
      description:
        "Number of prompt tokens that were read from the prefix cache. The whole prompt has this number plus `input_tokens` tokens.",
    }),
    cache_creation: never,
    output_tokens: Type.Integer({
      minimum: 0,
      description: "Number of tokens of the answer, including thinking.",
    }),
    output_tokens_details: Type.Object({
      thinking_tokens: Type.Integer({
        minimum: 0,
        description: "Number of answer tokens up to and including the last thinking token.",
      }),
    }),
    server_tool_use: never,
    service_tier: Type.Enum(["standard"]),
    inference_geo: never,
    speed: never,
  },
  { title: "AnthropicUsage" },
);

const stopped = {
  stop_reason: orNull(
    Type.Enum(["end_turn", "max_tokens", "stop_sequence", "tool_use", "model_context_window_exceeded"]),
    { description: "Why the answer ended; null while it has not ended." },
  ),
  stop_sequence: orNull(Type.String(), {
    description: "The stop string that ended the answer; null if no stop string did.",
  }),
  stop_details: never,
  container: never,
};

export const messageSchema = Type.Object(
  {
    id: Type.String({ description: "`msg_` followed by the request's id." }),
    type: Type.Enum(["message"]),
    role: Type.Enum(["assistant"]),
    model: Type.String({
      description: "Name of the model as the request gave it; without one, the name of the default model.",
    }),
    content: Type.Array(block, {
      description: "The model's thoughts, texts and tool calls, in the order in which it generated them.",
    }),
    ...stopped,
    diagnostics: never,
    usage,
  },
  { title: "AnthropicMessage" },
);

function event(type: string, members: Readonly<Record<string, TSchema>> = {}) {
  return Type.Object({ type: Type.Enum([type]), ...members });
}

function delta(type: string, member: string) {
  return Type.Object({ type: Type.Enum([type]), [member]: Type.String() });
}

/** An event of a stream. Its name is the same as its type. */
export const messageEventSchema = Type.Union(
  [
    event("message_start", { message: messageSchema }),
    event("ping"),
    event("content_block_start", { index: count, content_block: block }),
    event("content_block_delta", {
      index: count,
      delta: Type.Union([
        delta("text_delta", "text"),
        delta("thinking_delta", "thinking"),
        delta("signature_delta", "signature"),
        delta("input_json_delta", "partial_json"),
      ]),
    }),
    event("content_block_stop", { index: count }),
    event("message_delta", { delta: Type.Object(stopped), usage }),
    event("message_stop"),
    event("error", { error: anyObject, detail: Type.Array(anyObject), request_id: Type.String() }),
  ],
  { title: "AnthropicEvent" },
);

export const tokenCountSchema = Type.Object(
  {
    input_tokens: Type.Integer({
      minimum: 0,
      description: "Number of tokens of the prompt, including cached tokens.",
    }),
  },
  { title: "AnthropicTokenCount" },
);
