// What becomes of every field of a chat request. A known option that is not served is refused by name, never ignored;
// one that is set to its default asks for nothing and passes.
import { is, isEmpty, never, type BodyForm } from "../input/body.ts";
import { isObject } from "../input/validation.ts";
import { checkCombinations } from "./chat-combinations.ts";
import { chatRequestSchema } from "./chat-request.ts";

export const chatForm: BodyForm<typeof chatRequestSchema> = {
  schema: chatRequestSchema,
  more: checkCombinations,
  fields: {
    messages: "read",
    model: "read",
    frequency_penalty: { refusedUnless: is(0) },
    logit_bias: { refusedUnless: isEmpty },
    logprobs: "read",
    top_logprobs: "read",
    max_tokens: "read",
    max_completion_tokens: "read",
    n: "read",
    presence_penalty: { refusedUnless: is(0) },
    response_format: { refusedUnless: (value) => isObject(value) && value["type"] === "text" },
    seed: "read",
    stop: "read",
    stream: "read",
    stream_options: "read",
    temperature: "read",
    top_p: "read",
    tools: "read",
    // The schema takes `none` alone: tools are shown to the template, calls are not read out of the answer.
    tool_choice: "accepted",
    reasoning_effort: { refusedUnless: never },
    include_reasoning: { refusedUnless: is(true) },
    parallel_tool_calls: "accepted",
    user: "accepted",
    use_beam_search: { refusedUnless: is(false) },
    top_k: "read",
    min_p: { refusedUnless: is(0) },
    repetition_penalty: { refusedUnless: is(1) },
    length_penalty: { refusedUnless: is(1) },
    stop_token_ids: { refusedUnless: isEmpty },
    include_stop_str_in_output: { refusedUnless: is(false) },
    ignore_eos: { refusedUnless: is(false) },
    min_tokens: { refusedUnless: is(0) },
    skip_special_tokens: { refusedUnless: is(true) },
    spaces_between_special_tokens: { refusedUnless: is(true) },
    truncate_prompt_tokens: { refusedUnless: never },
    prompt_logprobs: { refusedUnless: never },
    allowed_token_ids: { refusedUnless: never },
    bad_words: { refusedUnless: isEmpty },
    echo: { refusedUnless: is(false) },
    add_generation_prompt: "read",
    continue_final_message: "read",
    add_special_tokens: { refusedUnless: is(false) },
    documents: { refusedUnless: isEmpty },
    chat_template: { refusedUnless: never },
    chat_template_kwargs: { refusedUnless: isEmpty },
    // A text model has no input to process.
    mm_processor_kwargs: "accepted",
    structured_outputs: { refusedUnless: asksNoConstraint },
    priority: { refusedUnless: is(0) },
    request_id: "read",
    logits_processors: { refusedUnless: isEmpty },
    return_tokens_as_token_ids: "read",
    return_token_ids: "read",
    cache_salt: { refusedUnless: never },
    kv_transfer_params: { refusedUnless: isEmpty },
    vendor_xargs: { refusedUnless: isEmpty },
    vllm_xargs: { refusedUnless: isEmpty },
  },
};

function asksNoConstraint(value: unknown): boolean {
  return isObject(value) && Object.values(value).every((member) => member === null || member === false);
}
