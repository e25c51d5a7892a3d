// Schemas that document the answers of Ollama's chats and completions. Only tests validate answers against them.
import { Type } from "typebox";
import { ollamaErrorSchema } from "./error.ts";

const count = (description: string) => Type.Integer({ minimum: 0, description });
const text = Type.String();

const toolCall = Type.Object({
  id: Type.String({ description: "Id of the call; repeat it as `tool_call_id` in the result." }),
  function: Type.Object({
    index: count("Index of the call in the answer."),
    name: text,
    arguments: Type.Object(
      {},
      {
        additionalProperties: true,
        description:
          "The arguments. If the model's text is not a JSON object, for example because the answer ended within the call, the member `INVALID_JSON` contains the text.",
      },
    ),
  }),
});

const token = {
  token: Type.String({ description: "Text of the token." }),
  logprob: Type.Number({ description: "Natural logarithm of the token's probability." }),
  bytes: Type.Array(Type.Integer(), { description: "Bytes of the token's text." }),
};

const more = {
  thinking: Type.Optional(Type.String({ description: "Thoughts of the model; absent if empty." })),
  tool_calls: Type.Optional(Type.Array(toolCall, { description: "Tool calls; absent if there are none." })),
};

const common = {
  model: Type.String({ description: "Name of the model as the request gave it." }),
  created_at: Type.String({ description: "Time in ISO 8601." }),
  done: Type.Boolean({ description: "False for lines of a stream before the last." }),
  done_reason: Type.Optional(
    Type.Enum(["stop", "length", "load"], {
      description: "Why the answer ended; `load` if the request only loaded the model.",
    }),
  ),
  logprobs: Type.Optional(
    Type.Array(Type.Object({ ...token, top_logprobs: Type.Array(Type.Object(token)) }), {
      description: "Log-probabilities of the tokens, before penalties and temperature.",
    }),
  ),
  total_duration: Type.Optional(count("Time for the whole request in nanoseconds.")),
  load_duration: Type.Optional(count("Time until the model was found and loaded, in nanoseconds.")),
  prompt_eval_count: Type.Optional(count("Number of prompt tokens, including cached ones.")),
  prompt_eval_duration: Type.Optional(count("Time for computing the prompt in nanoseconds.")),
  eval_count: Type.Optional(count("Number of answer tokens, including thoughts.")),
  eval_duration: Type.Optional(count("Time for generating the answer in nanoseconds.")),
};

export const chatAnswerSchema = Type.Object(
  {
    ...common,
    message: Type.Object({ role: text, content: text, ...more }),
  },
  { title: "OllamaChatAnswer" },
);

export const generateAnswerSchema = Type.Object(
  { ...common, response: text, ...more },
  { title: "OllamaGenerateAnswer" },
);

export const chatLineSchema = Type.Union([chatAnswerSchema, ollamaErrorSchema]);
export const generateLineSchema = Type.Union([generateAnswerSchema, ollamaErrorSchema]);
