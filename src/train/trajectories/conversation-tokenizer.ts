// The contract for turning conversations into tokens, and the prompt options that a record asks for. `training/` implements
// the contract for a model folder.
import type { Conversation } from "../../base/domain/chat.ts";
import { type JsonObject, type Json, isJsonObject } from "../../base/domain/text/json.ts";
import type { TokenLookup } from "./recorded-choice.ts";

/** A request's prompt options other than messages and tools; absent ones have serving's defaults. */
export type PromptArguments = Partial<
  Pick<
    Conversation,
    "documents" | "templateArguments" | "reasoningEffort" | "addGenerationPrompt" | "continueFinalMessage"
  > & {
    readonly addSpecialTokens: boolean;
    /** A request field, in its own spelling, without which the prompt cannot be rendered again. */
    readonly lost: string;
  }
>;

export interface ConversationTokenizer {
  /** Ids are in [0, vocabularySize). */
  readonly vocabularySize: number;
  /** Renders the prompt for the next assistant turn as serving does; throws the template's errors. */
  renderPrompt(
    messages: readonly JsonObject[],
    tools: readonly JsonObject[] | null,
    promptArguments: Omit<PromptArguments, "lost">,
  ): readonly number[];
  /** Encodes plain text, without adding anything. */
  encode(text: string): readonly number[];
  readonly idOfToken: TokenLookup;
}

/** Reads the fields of one record, in the API's own spelling; omits null and absent ones. */
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
    // As in a request: continuing a message opens no new turn by default.
    ...(continueFinalMessage === true ? { continueFinalMessage, addGenerationPrompt: false } : {}),
    ...(typeof addGenerationPrompt === "boolean" ? { addGenerationPrompt } : {}),
    ...(typeof addSpecialTokens === "boolean" ? { addSpecialTokens } : {}),
    ...(lost === undefined ? {} : { lost }),
  };
}

/**
 * Fields that prevent rendering a prompt again: a request's own template runs only in serving, and truncation is not
 * recorded.
 */
const lostFields = ["chat_template", "truncate_prompt_tokens"];

/** Template variables that request fields set. */
const variableFields: readonly string[] = ["tools", "documents", "add_generation_prompt", "reasoning_effort"];

/** Returns the other variables for a template: a request field takes precedence over an argument of its name. */
export function templateArgumentsOf(record: JsonObject): JsonObject {
  const given = record["chat_template_kwargs"];
  if (!isJsonObject(given)) return {};
  const isSent = (name: string): boolean => variableFields.includes(name) && (record[name] ?? null) !== null;
  return Object.fromEntries(Object.entries(given).filter(([name]) => !isSent(name)));
}

function isObjectList(value: Json | undefined): value is readonly JsonObject[] {
  return Array.isArray(value) && value.length > 0 && value.every(isJsonObject);
}
