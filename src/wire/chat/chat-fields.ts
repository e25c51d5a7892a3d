// What becomes of every field of a chat request: read as a field of the domain's request, read into how the answer is
// written, accepted without use, or refused because chat cannot do it. What only an engine cannot do is read; chat
// refuses it by what the engine says of itself.
import type { ChatField } from "../../domain/chat.ts";
import { isEmpty, useOf, type BodyForm, type FieldRule } from "../body.ts";
import type { WirePlaces } from "../places.ts";
import { checkCombinations } from "./chat-combinations.ts";
import { unservedConstraint } from "./chat-constraint.ts";
import { chatRequestSchema } from "./chat-request.ts";
import { foreignRules } from "./fields/foreign-fields.ts";

/** Of the fields that are read as one the first that was sent is the one that counts. */
export const chatForm: BodyForm<typeof chatRequestSchema, ChatField | "answer form"> = {
  schema: chatRequestSchema,
  more: checkCombinations,
  moreUnserved: unservedConstraint,
  fields: {
    request_id: "identity.requestId",
    model: "identity.model",
    user: "identity.user",
    priority: "identity.priority",
    cache_salt: "identity.cacheSalt",
    // No engine here takes part in disaggregated serving.
    kv_transfer_params: { refusedUnless: isEmpty },

    messages: "prompt.messages",
    tools: "prompt.tools",
    tool_choice: "calls.choice",
    parallel_tool_calls: "calls.areParallel",
    documents: "prompt.documents",
    chat_template: "prompt.template",
    chat_template_kwargs: "prompt.templateArguments",
    add_generation_prompt: "prompt.addGenerationPrompt",
    continue_final_message: "prompt.continueFinalMessage",
    add_special_tokens: "prompt.addSpecialTokens",
    truncate_prompt_tokens: "prompt.truncation",
    echo: "prompt.echo",
    reasoning_effort: "prompt.reasoningEffort",
    // A text model has no input to process.
    mm_processor_kwargs: "accepted",

    temperature: "sampling.temperature",
    top_p: "sampling.topP",
    top_k: "sampling.topK",
    min_p: "sampling.minP",
    repetition_penalty: "sampling.repetitionPenalty",
    frequency_penalty: "sampling.frequencyPenalty",
    presence_penalty: "sampling.presencePenalty",
    logit_bias: "sampling.logitBias",
    allowed_token_ids: "sampling.allowedTokenIds",
    bad_words: "sampling.badWords",
    logits_processors: "sampling.processors",
    vendor_xargs: "sampling.extraArguments",
    vllm_xargs: "sampling.extraArguments",
    seed: "sampling.seed",

    structured_outputs: "constraint",
    // Where it is the constraint, calls are exempt from it (`calls.areExempt`).
    response_format: "constraint",

    max_completion_tokens: "stopping.maxTokens",
    max_tokens: "stopping.maxTokens",
    min_tokens: "stopping.minTokens",
    stop: "stopping.stop",
    stop_token_ids: "stopping.stopTokenIds",
    ignore_eos: "stopping.ignoreEndTokens",
    include_stop_str_in_output: "stopping.includeStopText",

    use_beam_search: "output.choices",
    n: "output.choices",
    length_penalty: "output.choices",
    logprobs: "output.logprobs",
    top_logprobs: "output.logprobs",
    prompt_logprobs: "output.promptLogprobCount",
    return_token_ids: "output.returnTokenIds",
    skip_special_tokens: "output.skipSpecialTokens",
    // No tokenizer that is read puts blanks there: what a token adds to a text does not depend on its neighbours.
    spaces_between_special_tokens: "accepted",
    include_reasoning: "output.includeReasoning",
    stream: "answer form",
    stream_options: "answer form",
    return_tokens_as_token_ids: "answer form",

    ...foreignRules,
  },
};

/** Where the fields of a domain request stand in the body that it was read from by these rules. */
export function placesOf(rules: Readonly<Record<string, FieldRule<string>>>, body: object): WirePlaces {
  // Whoever resolves a model's name knows nothing of chat requests and their groups.
  const places: Record<string, readonly string[]> = { model: ["body", "model"] };
  const names = Object.entries(rules);
  const sent = new Map(Object.entries(body));
  const wasSent = ([name]: readonly [string, unknown]): boolean => (sent.get(name) ?? null) !== null;
  for (const [name, rule] of [...names.filter(wasSent), ...names]) {
    const field = useOf(rule);
    if (field !== null) places[field] ??= ["body", name];
  }
  return places;
}
