// Schemas that document the answers of the Responses API: the response, and the events of a stream. Only tests validate
// answers against them.
import { Type, type TSchema } from "typebox";
import { orNull } from "../nullable.ts";

const open = { additionalProperties: true };
const anyObject = Type.Object({}, open);
const count = Type.Integer({ minimum: 0 });
const status = Type.Enum(["in_progress", "completed", "incomplete"]);

const logprob = {
  token: Type.String({ description: "The token's text." }),
  logprob: Type.Number({ description: "Natural logarithm of the token's probability." }),
  bytes: Type.Array(count, { description: "UTF-8 bytes of the token's text." }),
};
const logprobs = Type.Array(
  Type.Object({
    ...logprob,
    top_logprobs: Type.Array(Type.Object(logprob), {
      description: "Most probable tokens at this position, most probable first.",
    }),
  }),
  {
    description:
      "One entry per token of the text, if the request asked for log-probabilities; otherwise empty.",
  },
);

const textPart = Type.Object({
  type: Type.Enum(["output_text"]),
  text: Type.String(),
  annotations: Type.Array(Type.Unknown(), { maxItems: 0, description: "Always empty." }),
  logprobs,
});

const reasoningPart = Type.Object({
  type: Type.Enum(["reasoning_text"]),
  text: Type.String(),
});

const item = Type.Union([
  Type.Object(
    {
      type: Type.Enum(["message"]),
      id: Type.String(),
      role: Type.Enum(["assistant"]),
      content: Type.Array(textPart),
      status,
    },
    { title: "OutputMessage" },
  ),
  Type.Object(
    {
      type: Type.Enum(["function_call"]),
      id: Type.String(),
      call_id: Type.String({ description: "Id of the call; repeat it in the item with the call's output." }),
      name: Type.String(),
      arguments: Type.String({ description: "Arguments, as a string of JSON." }),
      status,
    },
    { title: "OutputFunctionCall" },
  ),
  Type.Object(
    {
      type: Type.Enum(["custom_tool_call"]),
      id: Type.String(),
      call_id: Type.String({ description: "Id of the call; repeat it in the item with the call's output." }),
      name: Type.String(),
      input: Type.String({ description: "Input of the custom tool, as one string." }),
      status,
    },
    { title: "OutputCustomToolCall" },
  ),
  Type.Object(
    {
      type: Type.Enum(["reasoning"]),
      id: Type.String(),
      summary: Type.Array(Type.Unknown(), { maxItems: 0, description: "Always empty." }),
      content: Type.Array(reasoningPart, { description: "The model's thoughts." }),
      status,
    },
    { title: "OutputReasoning" },
  ),
]);

const usage = Type.Object({
  input_tokens: Type.Integer({ minimum: 0, description: "Tokens of the prompt." }),
  input_tokens_details: Type.Object({
    cached_tokens: Type.Integer({
      minimum: 0,
      description: "Number of tokens at the start of the prompt that were read from the prefix cache.",
    }),
  }),
  output_tokens: Type.Integer({
    minimum: 0,
    description: "Number of tokens of the answer, including thoughts.",
  }),
  output_tokens_details: Type.Object({
    reasoning_tokens: Type.Integer({
      minimum: 0,
      description: "Number of answer tokens up to and including the last thinking token.",
    }),
  }),
  total_tokens: Type.Integer({ minimum: 0, description: "Sum of input_tokens and output_tokens." }),
});

export const responseSchema = Type.Object(
  {
    id: Type.String({ description: "`resp_` followed by the request's id." }),
    object: Type.Enum(["response"]),
    created_at: Type.Integer({ description: "Unix time in seconds." }),
    status: Type.Enum(["in_progress", "completed", "incomplete", "failed"]),
    error: orNull(Type.Object({ code: Type.Enum(["server_error"]), message: Type.String() }), {
      description: "Error, if `status` is `failed`; otherwise null.",
    }),
    incomplete_details: orNull(Type.Object({ reason: Type.Enum(["max_output_tokens"]) }), {
      description: "Why the response is incomplete, if `status` is `incomplete`; otherwise null.",
    }),
    model: Type.String({
      description: "Name of the model as the request gave it; without one, the name of the default model.",
    }),
    output: Type.Array(item, {
      description: "The model's thoughts, texts and tool calls, in the order in which it generated them.",
    }),
    usage: orNull(usage, { description: "Numbers of tokens; null until the answer ends." }),
    background: Type.Boolean(),
    previous_response_id: Type.Null(),
    service_tier: Type.Enum(["default"]),
    store: Type.Boolean(),
    instructions: orNull(Type.String()),
    max_output_tokens: orNull(count),
    metadata: Type.Object({}, { additionalProperties: Type.String() }),
    parallel_tool_calls: Type.Boolean(),
    reasoning: Type.Object({ effort: orNull(Type.String()), summary: orNull(Type.String()) }),
    temperature: orNull(Type.Number()),
    text: Type.Object({ format: anyObject, verbosity: Type.Enum(["low", "medium", "high"]) }),
    tool_choice: Type.Union([Type.String(), anyObject]),
    tools: Type.Array(anyObject),
    top_logprobs: count,
    top_p: orNull(Type.Number()),
    truncation: Type.Enum(["auto", "disabled"]),
    user: orNull(Type.String()),
  },
  {
    title: "Response",
    description:
      "The response so far. `instructions` and the fields listed after it repeat those of the request.",
  },
);

function event(types: readonly string[], members: Readonly<Record<string, TSchema>>) {
  return Type.Object({ type: Type.Enum([...types]), sequence_number: sequenceNumber, ...members });
}

const sequenceNumber = Type.Integer({ minimum: 0, description: "Index of the event in the stream." });
const output_index = Type.Integer({
  minimum: 0,
  description: "Index of the item in the response's `output`.",
});
const at = { item_id: Type.String({ description: "Id of the item." }), output_index };
const inPart = {
  ...at,
  content_index: Type.Integer({ minimum: 0, description: "Index of the part in the item's `content`." }),
};
const delta = Type.String({ description: "Text to append." });

/** An event of a stream. Its name is the same as its type. */
export const responseEventSchema = Type.Union(
  [
    event(
      [
        "response.created",
        "response.in_progress",
        "response.completed",
        "response.incomplete",
        "response.failed",
      ],
      { response: responseSchema },
    ),
    event(["response.output_item.added", "response.output_item.done"], { output_index, item }),
    event(["response.content_part.added", "response.content_part.done"], {
      ...inPart,
      part: Type.Union([textPart, reasoningPart]),
    }),
    event(["response.output_text.delta"], { ...inPart, delta, logprobs }),
    event(["response.output_text.done"], { ...inPart, text: Type.String(), logprobs }),
    event(["response.reasoning_text.delta"], { ...inPart, delta }),
    event(["response.reasoning_text.done"], { ...inPart, text: Type.String() }),
    event(["response.function_call_arguments.delta"], { ...at, delta }),
    event(["response.function_call_arguments.done"], {
      ...at,
      name: Type.String(),
      arguments: Type.String(),
    }),
    event(["response.custom_tool_call_input.delta"], { ...at, delta }),
    event(["response.custom_tool_call_input.done"], { ...at, input: Type.String() }),
    event(["error"], {
      code: Type.String(),
      message: Type.String(),
      param: orNull(Type.String()),
      error: anyObject,
      detail: Type.Array(anyObject),
    }),
  ],
  { title: "ResponseEvent" },
);
