// What the API's own description says of a chat request and its answer: every field in a sentence, with its default, and
// whether it is served. Checks nothing.
import type { ChatRequestBody } from "./chat-request.ts";
import { chatRequestSchema } from "./chat-request.ts";
import { chatForm } from "./chat-fields.ts";

interface FieldAbout {
  /** One sentence. */
  readonly about: string;
  /** What leaving the field out means, where that is a value. */
  readonly default?: boolean | number | string | readonly never[];
  /** An engine may lack it. */
  readonly isEngines?: true;
}

const fields: { readonly [Field in keyof ChatRequestBody]-?: FieldAbout } = {
  messages: { about: "The conversation so far, oldest first; the chat template decides about roles." },
  model: {
    about:
      "A base model, or a trained one by id, name, project/name or entity/project/name, each with :stepN or :latest where wanted; the server's default model unless given.",
  },
  frequency_penalty: {
    about: "Subtracted from a token's logit for each time the answer has it.",
    default: 0,
    isEngines: true,
  },
  logit_bias: { about: "Added to the logits of these token ids.", isEngines: true },
  logprobs: { about: "Returns each token's log-probability; a trained model does unless told not to." },
  top_logprobs: { about: "How many alternatives each token carries; needs logprobs.", default: 0 },
  max_tokens: { about: "Most tokens of an answer; cut to the room that is left, and by default all of it." },
  max_completion_tokens: { about: "The same by its newer name, which wins." },
  n: { about: "How many answers.", default: 1 },
  presence_penalty: {
    about: "Subtracted from the logit of each token that the answer has.",
    default: 0,
    isEngines: true,
  },
  response_format: {
    about:
      "The form that the answer must have: JSON, JSON of a schema, or a structural tag; `text` asks for none.",
    isEngines: true,
  },
  seed: { about: "Makes the answer reproducible, whatever else is being answered." },
  stop: {
    about:
      "One text or several that end the answer, and are not part of it; the one that is completed first wins.",
  },
  stream: { about: "Answers as server-sent events.", default: false },
  stream_options: { about: "Whether a stream ends with the usage, and carries it in every chunk." },
  temperature: { about: "Divides the logits; 0 is greedy. The model's own default, else 1." },
  top_p: {
    about: "Draws among the most probable tokens of this much together. The model's own default, else 1.",
  },
  tools: { about: "Functions that the chat template shows to the model." },
  tool_choice: {
    about:
      "Whether the answer may call tools (auto), must (required, or a function by name) or must not (none). Unless given, auto where the model calls tools, else none; anything else is refused there.",
  },
  reasoning_effort: { about: "How much the model is to think." },
  include_reasoning: { about: "Whether what the model thought is returned.", default: true },
  parallel_tool_calls: { about: "Whether an answer may call more than one tool.", default: true },
  user: { about: "Whom the request is for, in the client's words; accepted without use." },
  use_beam_search: { about: "Searches n beams instead of drawing.", default: false, isEngines: true },
  top_k: { about: "Draws among so many most probable tokens; 0 and -1 among all." },
  min_p: {
    about: "Leaves out tokens less probable than this part of the most probable one.",
    default: 0,
    isEngines: true,
  },
  repetition_penalty: {
    about: "Divides the positive logits of tokens that are there already, and multiplies negative ones.",
    default: 1,
    isEngines: true,
  },
  length_penalty: { about: "How beam search weighs length.", default: 1, isEngines: true },
  stop_token_ids: { about: "Token ids that end the answer." },
  include_stop_str_in_output: {
    about:
      "Shows the text that ended the answer: the stop string, or that of the stop token unless it is special and these are skipped.",
    default: false,
  },
  ignore_eos: { about: "The model's own end does not end the answer.", default: false },
  min_tokens: { about: "Fewest tokens of an answer.", default: 0, isEngines: true },
  skip_special_tokens: { about: "Leaves special tokens out of the text.", default: true },
  spaces_between_special_tokens: {
    about:
      "Accepted without use: the tokenizers served here put no blanks between special tokens, so both values mean the same.",
    default: true,
  },
  truncate_prompt_tokens: { about: "Keeps the last so many tokens of the prompt." },
  prompt_logprobs: {
    about: "Returns the prompt's log-probabilities with so many alternatives.",
    isEngines: true,
  },
  allowed_token_ids: { about: "Only these token ids may be drawn.", isEngines: true },
  bad_words: { about: "Texts that the answer must not hold.", default: [], isEngines: true },
  echo: {
    about:
      "Puts the last message's text before the answer's where both have one role, as with continue_final_message; else it changes nothing.",
    default: false,
  },
  add_generation_prompt: { about: "Ends the prompt with what opens the assistant's turn.", default: true },
  continue_final_message: { about: "Goes on with the last message instead.", default: false },
  add_special_tokens: {
    about: "Adds the tokenizer's special tokens to those of the template.",
    default: false,
  },
  documents: { about: "Documents that the chat template shows to the model." },
  chat_template: { about: "A template instead of the model's own." },
  chat_template_kwargs: { about: "Further variables for the chat template." },
  mm_processor_kwargs: { about: "Accepted without use: the models read text." },
  structured_outputs: {
    about:
      "The one constraint that the answer must keep, which response_format may hold instead, and how JSON is written.",
    isEngines: true,
  },
  priority: { about: "Lower is answered earlier.", default: 0, isEngines: true },
  request_id: { about: "The id of the answer; one that is running is refused. A fresh one unless given." },
  logits_processors: { about: "Steps on the logits that the operator has registered.", isEngines: true },
  return_tokens_as_token_ids: {
    about: "Spells tokens of log-probabilities as token_id:<N>.",
    default: false,
  },
  return_token_ids: {
    about: "Returns the ids of prompt and answer; in the choices of a trained model they are anyway.",
  },
  cache_salt: {
    about: "Keeps what is computed of the prompt from requests with another salt.",
    isEngines: true,
  },
  kv_transfer_params: { about: "Parameters of disaggregated serving.", isEngines: true },
  vendor_xargs: { about: "Arguments for logits processors." },
  vllm_xargs: { about: "The same by another name." },
};

/** The schema of a request with what is said of its fields; `x-refused` marks those that are refused when they ask for anything. */
export const documentedChatRequest = {
  ...chatRequestSchema,
  properties: Object.fromEntries(
    Object.entries(chatRequestSchema.properties).map(([name, schema]) => {
      // The record has the schema's own names.
      const { about, isEngines, ...rest } = fields[name as keyof ChatRequestBody];
      const rule = chatForm.fields[name as keyof ChatRequestBody];
      const isRefused = typeof rule === "object" && rule.read === undefined;
      const served = isRefused
        ? " Not served: refused unless left out or at its default."
        : isEngines
          ? " Refused where the model's engine lacks it."
          : "";
      const marks = isRefused ? { "x-refused": true } : {};
      return [name, { ...schema, description: about + served, ...rest, ...marks }];
    }),
  ),
};

const text = { type: "string" } as const;
const count = { type: "integer" } as const;

const choice = {
  type: "object",
  properties: {
    index: count,
    message: {
      type: "object",
      properties: { role: text, content: { type: ["string", "null"] } },
    },
    logprobs: { type: ["object", "null"], description: "`content`: one entry a token." },
    finish_reason: { ...text, description: "`stop` or `length`." },
    stop_reason: { type: ["integer", "null"], description: "The id of the stop token that ended it." },
    token_ids: {
      type: ["array", "null"],
      items: count,
      description: "With return_token_ids, and of trained models.",
    },
  },
} as const;

/** The answer that is no stream. */
export const documentedChatAnswer = {
  description:
    "A completion. With `stream`, server-sent events of `chat.completion.chunk` objects, then `[DONE]`; an error on the way is one event with the error body.",
  type: "object",
  properties: {
    id: text,
    request_id: text,
    object: { const: "chat.completion" },
    created: { ...count, description: "Seconds since 1970." },
    model: { ...text, description: "The name asked for." },
    system_fingerprint: { ...text, description: "Names base, version and engine build." },
    choices: { type: "array", items: choice },
    usage: {
      type: "object",
      properties: { prompt_tokens: count, completion_tokens: count, total_tokens: count },
    },
    prompt_token_ids: { type: ["array", "null"], items: count },
  },
} as const;
