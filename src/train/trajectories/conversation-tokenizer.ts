// The contract for converting conversations to tokens, and the prompt options that a record specifies. `training/`
// implements the contract for a model folder.
import type { Conversation } from "../../base/domain/chat.ts";
import { type JsonObject, type Json, isJsonObject } from "../../base/domain/text/json.ts";
import type { TokenLookup } from "./recorded-choice.ts";

/** Prompt options of a request, other than messages and tools; absent options have serving's defaults. */
export type PromptArguments = Partial<
  Pick<
    Conversation,
    "documents" | "templateArguments" | "reasoningEffort" | "addGenerationPrompt" | "continueFinalMessage"
  > & {
    readonly addSpecialTokens: boolean;
    /** Name of a request field, in the API's spelling, without which the prompt cannot be rendered again. */
    readonly lost: string;
  }
>;

export interface ConversationTokenizer {
  /** Size of the vocabulary; token ids are in [0, vocabularySize). */
  readonly vocabularySize: number;
  /** Renders the prompt for the next assistant turn as serving does; throws the chat template's errors. */
  renderPrompt(
    messages: readonly JsonObject[],
    tools: readonly JsonObject[] | null,
    promptArguments: Omit<PromptArguments, "lost">,
  ): readonly number[];
  /** Encodes plain text without special tokens. */
  encode(text: string): readonly number[];
  readonly idOfToken: TokenLookup;
}

/** Reads a record's prompt options, in the API's spelling; omits null and absent fields. */
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
    // As in a request, continuing a message opens no new turn by default.
    ...(continueFinalMessage === true ? { continueFinalMessage, addGenerationPrompt: false } : {}),
    ...(typeof addGenerationPrompt === "boolean" ? { addGenerationPrompt } : {}),
    ...(typeof addSpecialTokens === "boolean" ? { addSpecialTokens } : {}),
    ...(lost === undefined ? {} : { lost }),
  };
}

/**
 * Fields that prevent the prompt from being rendered again: a request's own template runs only in serving, and the
 * effect of truncation is not recorded.
 */
const lostFields = ["chat_template", "truncate_prompt_tokens"];

/** Template variables that request fields set. */
const variableFields: readonly string[] = ["tools", "documents", "add_generation_prompt", "reasoning_effort"];

/**
 * Returns the additional template variables. A request field takes precedence over a template argument with the same
 * name.
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
