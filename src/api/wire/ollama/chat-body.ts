// Converts requests of Ollama's API to equivalent chat requests and text completions.
import { omitUndefined } from "../chat/shared-fields.ts";
import type { ChatBody } from "./chat-request.ts";
import type { GenerateBody } from "./generate-request.ts";
import { continuesLast, inputMessages } from "./input-messages.ts";
import { optionFields } from "./options.ts";

type CommonBody = Pick<ChatBody & GenerateBody, keyof ChatBody & keyof GenerateBody>;

/** Prompt of a request that only loads a model. The answer has one token, which is not sent to the client. */
const loadingPrompt = ".";

/** Returns the body of the equivalent chat request. */
export function chatBodyOf(body: ChatBody): object {
  const messages = body.messages ?? [];
  return {
    ...sharedBody(body),
    ...thinkingBody(body),
    ...logprobsBody(body),
    messages: inputMessages(messages),
    ...(continuesLast(messages) ? { continue_final_message: true } : {}),
    ...((body.tools ?? []).length === 0 ? {} : { tools: body.tools }),
  };
}

/** Converts a completion with a chat template to the body of the equivalent chat request. */
export function promptedBodyOf(body: GenerateBody): object {
  const { system, prompt } = body;
  const messages = [
    ...(isEmptyText(system) ? [] : [{ role: "system", content: system }]),
    { role: "user", content: prompt },
  ];
  return { ...sharedBody(body), ...thinkingBody(body), ...logprobsBody(body), messages };
}

/** Converts a completion without a chat template to the body of the equivalent text completion. */
export function rawBodyOf(body: GenerateBody): object {
  const { prompt, logprobs, top_logprobs: count } = body;
  return {
    max_tokens: -1,
    ...sharedBody(body),
    prompt,
    logprobs: logprobs === true ? (count ?? 0) : null,
  };
}

/** Returns the body of the text completion that loads a model. */
export function loadingBodyOf({ model }: CommonBody): object {
  return {
    model: model ?? null,
    prompt: loadingPrompt,
    max_tokens: 1,
    store: false,
    return_token_ids: false,
  };
}

export function isEmptyText(text: string | null | undefined): boolean {
  return (text ?? "") === "";
}

function sharedBody({ model, format, options }: CommonBody): object {
  return {
    model: model ?? null,
    ...optionFields({ ...options }),
    ...(format === undefined || format === null || format === ""
      ? {}
      : { response_format: formatOf(format) }),
    // Token ids are always off, because Ollama's answers have no field for them.
    return_token_ids: false,
  };
}

function formatOf(format: string | object): object {
  return typeof format === "string"
    ? { type: "json_object" }
    : { type: "json_schema", json_schema: { name: "output", schema: format } };
}

/** Returns the fields that turn thinking on or off; empty to let the chat template decide. */
function thinkingBody({ think }: CommonBody): object {
  if (think === null || think === undefined) return {};
  if (typeof think === "string") return { reasoning_effort: think };
  return think ? { chat_template_kwargs: { enable_thinking: true } } : { reasoning_effort: "none" };
}

/** Returns the fields for log-probabilities. They are off for every model unless requested. */
function logprobsBody({ logprobs, top_logprobs: count }: CommonBody): object {
  return omitUndefined({
    logprobs: logprobs ?? false,
    top_logprobs: logprobs === true ? (count ?? undefined) : undefined,
  });
}
