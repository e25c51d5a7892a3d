// Interface for converting conversations to tokens, which `trainer/` implements for a model folder. Also reads the
// prompt options that a record specifies.
import type { Conversation } from "../../base/domain/chat.ts";
import { type JsonObject, type Json, isJsonObject } from "../../base/domain/text/json.ts";
import type { TokenLookup } from "./recorded-choice.ts";

/** Prompt options of a request, without messages and tools. An absent option has the same default as in serving. */
export type PromptArguments = Partial<
  Pick<
    Conversation,
    "documents" | "templateArguments" | "reasoningEffort" | "addGenerationPrompt" | "continueFinalMessage"
  > & {
    readonly addSpecialTokens: boolean;
    /**
     * API name of a request field that training cannot apply. With such a field, the prompt cannot be rendered again.
     */
    readonly lost: string;
  }
>;

export interface ConversationTokenizer {
  /** Number of token ids in the vocabulary; ids are in [0, vocabularySize). */
  readonly vocabularySize: number;
  /** Renders the prompt for the next assistant turn as serving does. Throws the chat template's errors. */
  renderPrompt(
    messages: readonly JsonObject[],
    tools: readonly JsonObject[] | null,
    promptArguments: Omit<PromptArguments, "lost">,
  ): readonly number[];
  /** Encodes plain text without special tokens. */
  encode(text: string): readonly number[];
  readonly idOfToken: TokenLookup;
}

/** Reads the prompt options from a record with the API's field names. Omits null and absent fields. */
export function promptArgumentsOf(record: JsonObject): PromptArguments {
  const {
    documents,
    reasoning_effort: reasoningEffort,
    add_generation_prompt: addGenerationPrompt,
    continue_final_message: continueFinalMessage,
    add_special_tokens: addSpecialTokens,
  } = record;
  const lost = lostFields.find((name) => (record[name] ?? null) !== null);
  return {
    ...(isObjectList(documents) ? { documents } : {}),
    ...(isJsonObject(record["chat_template_kwargs"])
      ? { templateArguments: templateArgumentsOf(record) }
      : {}),
    ...(typeof reasoningEffort === "string" ? { reasoningEffort } : {}),
    // By default, continuing a message opens no new turn, as in a request.
    ...(continueFinalMessage === true ? { continueFinalMessage, addGenerationPrompt: false } : {}),
    ...(typeof addGenerationPrompt === "boolean" ? { addGenerationPrompt } : {}),
    ...(typeof addSpecialTokens === "boolean" ? { addSpecialTokens } : {}),
    ...(lost === undefined ? {} : { lost }),
  };
}

/**
 * Request fields with which the prompt cannot be rendered again. Training does not run a request's own chat template,
 * and the record does not say how much of a prompt was truncated.
 */
const lostFields = ["chat_template", "truncate_prompt_tokens"];

/** Names of template variables that request fields set. */
const variableFields: readonly string[] = ["tools", "documents", "add_generation_prompt", "reasoning_effort"];

/**
 * Returns the additional template variables of a request. Leaves out those that a request field sets, because the field
 * takes precedence.
 */
export function templateArgumentsOf(record: JsonObject): JsonObject {
  const given = record["chat_template_kwargs"];
  if (!isJsonObject(given)) return {};
  const isSent = (name: string): boolean => variableFields.includes(name) && (record[name] ?? null) !== null;
  return Object.fromEntries(Object.entries(given).filter(([name]) => !isSent(name)));
}

function isObjectList(value: Json | undefined): value is readonly JsonObject[] {
  return Array.isArray(value) && value.length > 0 && value.every(isJsonObject);
}
