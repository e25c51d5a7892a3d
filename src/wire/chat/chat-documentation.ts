// What the API's own description and docs/api.md say of a chat request: a row for every field, with its default and an
// example, and whether it is served. Types and ranges are the schema's, which has the fields of objects in these too. After
// a change here `npm run docs` writes the page anew. Checks nothing.
import { chatRequestSchema, type ChatRequestBody } from "./chat-request.ts";
import { chatForm } from "./chat-fields.ts";
import { rowText, type FieldRow } from "./fields/field-row.ts";
import { foreignRows } from "./fields/foreign-fields.ts";

const fields: { readonly [Field in keyof ChatRequestBody]-?: FieldRow } = {
  messages: {
    about: "The conversation so far, oldest first; the chat template decides about roles.",
    range: "at most 4,096, of at most 1,024 parts each, unless configured otherwise",
    example: [{ role: "user", content: "What is the capital of France?" }],
  },
  model: {
    about:
      "A base model, or a trained one by id, name, project/name or entity/project/name, each with :stepN or :latest where wanted.",
    otherwise: "the server's default model",
    example: "hone-tiny",
  },
  frequency_penalty: {
    about: "Subtracted from a token's logit for each time the answer has it.",
    default: 0,
    example: 0.5,
    isEngines: true,
  },
  logit_bias: {
    about: "Added to the logits of these token ids, greedy or not.",
    range:
      "keys are ids of the vocabulary, at most 32,768 unless configured otherwise; values beyond -100 and 100 count as these",
    otherwise: "none",
    example: { "42": -100 },
    isEngines: true,
  },
  logprobs: {
    about: "Returns each token's log-probability, before bias, penalties and temperature.",
    otherwise: "false; true for a trained model",
    example: true,
  },
  top_logprobs: {
    about:
      "How many alternatives each token carries, the most probable first; needs logprobs. All answers together have at most 4,194,304 log-probabilities.",
    default: 0,
    example: 3,
  },
  max_tokens: {
    about: "Most tokens of an answer; cut to the room that is left. max_completion_tokens is its newer name.",
    otherwise: "the model's own, else all the room",
    example: 100,
  },
  max_completion_tokens: {
    about: "The same as max_tokens, and wins over it.",
    otherwise: "max_tokens",
    example: 100,
  },
  n: { about: "How many answers; the width of a beam search.", default: 1, example: 2 },
  presence_penalty: {
    about: "Subtracted from the logit of each token that the answer has.",
    default: 0,
    example: 0.5,
    isEngines: true,
  },
  response_format: {
    about:
      "The form that the answer must have: JSON, JSON of a schema, or a structural tag; `text` asks for none.",
    otherwise: "none",
    example: { type: "json_object" },
    isEngines: true,
  },
  seed: {
    about:
      "Makes the answer reproducible, whatever else is being answered, where the model is `exact` in `/v1/models`; of others the header `x-hone-notice` says that it does not.",
    otherwise: "a fresh one",
    example: 7,
  },
  stop: {
    about:
      "One text or several that end the answer, and are not part of it; the one that is completed first wins.",
    range: "at most 1,024 texts of 4,096 characters each, none empty, unless configured otherwise",
    default: [],
    example: ["\n\n"],
  },
  stream: { about: "Answers as server-sent events.", default: false, example: true },
  stream_options: {
    about: "Whether a stream ends with the usage, and carries it in every chunk; only with stream.",
    otherwise: "neither",
    example: { include_usage: true },
  },
  temperature: {
    about: "Divides the logits; 0 is greedy, and what is between 0 and 0.01 counts as 0.01.",
    otherwise: "the model's own, else 1",
    example: 0.7,
  },
  top_p: {
    about: "Draws among the fewest most probable tokens that have this much together.",
    otherwise: "the model's own, else 1",
    example: 0.9,
  },
  tools: {
    about: "Functions that the chat template shows to the model, and that it may call.",
    range: "at most 1,024 unless configured otherwise",
    otherwise: "none",
    example: [
      {
        type: "function",
        function: {
          name: "weather",
          description: "The weather in a city",
          parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
        },
      },
    ],
  },
  tool_choice: {
    about:
      "Whether the answer may call tools (auto), must (required, or a function by name) or must not (none).",
    range: "where the model calls no tools, `none` alone",
    otherwise: "auto where there are tools and the model calls them, else none",
    example: "auto",
  },
  reasoning_effort: {
    about:
      "How much the model is to think: the chat template sees it as reasoning_effort, and as enable_thinking, which only `none` makes false.",
    otherwise: "the template's own",
    example: "low",
  },
  include_reasoning: {
    about: "Whether what the model thought is returned, as `reasoning`; its tokens count anyway.",
    default: true,
    example: false,
  },
  parallel_tool_calls: {
    about: "Whether an answer may call more than one tool.",
    default: true,
    example: false,
  },
  user: {
    about: "Whom the request is for, in the client's words; accepted without use.",
    otherwise: "nobody",
    example: "somebody",
  },
  use_beam_search: {
    about:
      "Searches the n most probable answers with n beams instead of drawing, and returns them whole, the best first; fewer where a constraint leaves fewer. temperature and seed have no effect; stop, top_p, top_k, min_p, logit_bias, penalties and logits_processors are refused beside it.",
    default: false,
    example: true,
    isEngines: true,
  },
  top_k: {
    about: "Draws among so many most probable tokens; 0 and -1 among all.",
    otherwise: "the model's own, else 0",
    example: 40,
  },
  min_p: {
    about: "Leaves out tokens less probable than this part of the most probable one.",
    otherwise: "the model's own, else 0",
    example: 0.05,
    isEngines: true,
  },
  repetition_penalty: {
    about:
      "Divides the positive logits of tokens that prompt or answer have, and multiplies their negative ones.",
    otherwise: "the model's own, else 1",
    example: 1.1,
    isEngines: true,
  },
  length_penalty: {
    about:
      "How beam search weighs length: an answer's summed log-probability is divided by its length, prompt included and without the token that ended it, to this power. Needs use_beam_search.",
    default: 1,
    example: 0.8,
    isEngines: true,
  },
  stop_token_ids: {
    about: "Token ids that end the answer, beside the model's own; `stop_reason` says which.",
    range: "ids of the vocabulary, at most 65,536 unless configured otherwise",
    default: [],
    example: [2],
  },
  include_stop_str_in_output: {
    about:
      "Shows the text that ended the answer: the stop string, or that of the stop token unless it is special and these are skipped.",
    default: false,
    example: true,
  },
  ignore_eos: {
    about: "The model's own end does not end the answer; stop_token_ids still do.",
    default: false,
    example: true,
  },
  min_tokens: {
    about:
      "Fewest tokens of an answer: what would end it is not drawn before, unless nothing else may come, as where it is complete under its constraint.",
    range: "at most max_tokens",
    default: 0,
    example: 5,
    isEngines: true,
  },
  skip_special_tokens: { about: "Leaves special tokens out of the text.", default: true, example: false },
  spaces_between_special_tokens: {
    about:
      "Accepted without use: the tokenizers served here put no blanks between special tokens, so both values mean the same.",
    default: true,
    example: false,
  },
  truncate_prompt_tokens: {
    about: "Keeps the last so many tokens of the prompt; -1 as many as fit beside max_completion_tokens.",
    range: "not 0, and at most the context length",
    otherwise: "a prompt that does not fit is refused",
    example: 512,
  },
  prompt_logprobs: {
    about:
      "Returns how probable each token of the prompt was after those before it, with its rank and so many alternatives; 0 gives the tokens alone. Not in a stream.",
    otherwise: "none",
    example: 1,
    isEngines: true,
  },
  allowed_token_ids: {
    about: "Only these token ids may be drawn; the model's end is not among them by itself.",
    range: "ids of the vocabulary, at least one and at most 65,536 unless configured otherwise",
    otherwise: "all",
    example: [10, 11, 12],
    isEngines: true,
  },
  bad_words: {
    about:
      "Texts that the answer must not hold, as the model's tokens spell them at its beginning, and after a blank where that takes as many tokens; other spellings get through.",
    range:
      "at most 1,024 texts of 4,096 characters each and 65,536 together, none blank, unless configured otherwise",
    default: [],
    example: ["sorry"],
    isEngines: true,
  },
  echo: {
    about:
      "Puts the last message's text before the answer's where both have one role, as with continue_final_message; else it changes no text. Answers that are no stream then have prompt_logprobs, as many as top_logprobs.",
    default: false,
    example: true,
  },
  add_generation_prompt: {
    about: "Ends the prompt with what opens the assistant's turn.",
    otherwise: "true; false with continue_final_message",
    example: false,
  },
  continue_final_message: {
    about: "Leaves the last message open, and the model goes on with it; excludes add_generation_prompt.",
    default: false,
    example: true,
  },
  add_special_tokens: {
    about: "Adds the tokenizer's special tokens to those of the template.",
    default: false,
    example: true,
  },
  documents: {
    about: "Documents that the chat template shows to the model, if it does; all their values are texts.",
    otherwise: "none",
    example: [{ title: "Cats", text: "A cat has four legs." }],
  },
  chat_template: {
    about:
      "A Jinja template instead of the model's own, rendered within limits of size and time; needed where the model has none.",
    range: "at most 262,144 characters, unless configured otherwise",
    otherwise: "the model's own",
    example: "{% for message in messages %}{{ message.content }}\n{% endfor %}",
  },
  chat_template_kwargs: {
    about:
      "Further variables for the chat template. They hide its own, but neither the messages nor what a field of the request says.",
    range: "neither `chat_template` nor `tokenize`, which are no variables",
    default: {},
    example: { enable_thinking: false },
  },
  mm_processor_kwargs: {
    about: "Accepted without use: the models read text.",
    default: {},
    example: { num_crops: 4 },
  },
  structured_outputs: {
    about:
      "The one constraint that the answer must keep, which response_format may hold instead, and how JSON is written.",
    otherwise: "none",
    example: { choice: ["yes", "no"] },
    isEngines: true,
  },
  priority: {
    about:
      "Lower is answered earlier, and takes room from what is higher; anything but 0 is refused unless the model is scheduled by priority.",
    default: 0,
    example: -1,
    isEngines: true,
  },
  request_id: {
    about: "The id of the answer, after `chatcmpl-`; one that is running is refused.",
    otherwise: "a fresh one",
    example: "request-1",
  },
  logits_processors: {
    about:
      "Steps on the logits that the server has by name, with their arguments; in this order, after the logit bias and before penalties.",
    otherwise: "none",
    example: [{ qualname: "no-repeat-ngram", kwargs: { size: 3 } }],
    isEngines: true,
  },
  return_tokens_as_token_ids: {
    about: "Spells tokens of log-probabilities as token_id:<N>.",
    default: false,
    example: true,
  },
  return_token_ids: {
    about:
      "Returns the ids of prompt and answer; in the choices of a trained model they are unless it is false.",
    otherwise: "false; a trained model's choices have them",
    example: true,
  },
  cache_salt: {
    about:
      "Keeps what is computed of the prompt from requests with another salt; as nothing computed is shared so far, it has no effect yet.",
    otherwise: "none",
    example: "a secret nobody guesses",
    isEngines: true,
  },
  kv_transfer_params: {
    about: "Parameters of disaggregated serving, which no engine here takes part in.",
    default: {},
    example: { do_remote_prefill: true },
  },
  vendor_xargs: {
    about: "Further arguments, which every logits processor of the request is given.",
    range: "values are texts, numbers or lists of them",
    default: {},
    example: { thinking_budget: 200 },
  },
  vllm_xargs: {
    about: "The same as vendor_xargs, by another name.",
    default: {},
    example: { thinking_budget: 200 },
  },
  ...foreignRows,
};

/**
 * The schema of a request with its rows. Words for what is no value of the schema are its `x-default` and `x-range`;
 * `x-refused` marks what is refused when it asks for anything, `x-engine-feature` what is where an engine lacks it.
 */
export const documentedChatRequest = {
  ...chatRequestSchema,
  properties: Object.fromEntries(
    // The record has the schema's own names.
    Object.keys(chatRequestSchema.properties).map((name) => [
      name,
      documentedField(name as keyof ChatRequestBody),
    ]),
  ),
};

/** The schema of one field with its row. */
export function documentedField<Field extends keyof ChatRequestBody>(field: Field) {
  return {
    ...chatRequestSchema.properties[field],
    ...rowText(fields[field]),
    ...servedOf(field),
  };
}

function servedOf(field: keyof ChatRequestBody): object {
  const rule = chatForm.fields[field];
  if (typeof rule === "object" && rule.read === undefined) return { "x-refused": true };
  return fields[field].isEngines === true ? { "x-engine-feature": true } : {};
}
