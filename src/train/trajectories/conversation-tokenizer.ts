// The contract for turning conversations into tokens, and the prompt options that a record asks for. `training/` implements
// the contract for a model folder.
import type { Conversation } from "../../base/domain/chat.ts";
import { type JsonObject, type Json, isJsonObject } from "../../base/domain/text/json.ts";
import type { TokenLookup } from "./recorded-choice.ts";

/** What a request may say of its prompt beside messages and tools; what is absent is as serving has it unasked. */
export type PromptArguments = Partial<
  Pick<
    Conversation,
    "documents" | "templateArguments" | "reasoningEffort" | "addGenerationPrompt" | "continueFinalMessage"
  > & {
    readonly addSpecialTokens: boolean;
    /** A field of the request, in its own spelling, without which its prompt cannot be rendered again. */
    readonly lost: string;
  }
>;

export interface ConversationTokenizer {
  /** Ids are in [0, vocabularySize). */
  readonly vocabularySize: number;
  /** The prompt that asks for the next assistant turn, as serving renders it; throws what the template raises. */
  renderPrompt(
    messages: readonly JsonObject[],
    tools: readonly JsonObject[] | null,
    promptArguments: Omit<PromptArguments, "lost">,
  ): readonly number[];
  /** Plain text, nothing added. */
  encode(text: string): readonly number[];
  readonly idOfToken: TokenLookup;
}

/** Reads the fields of one record, in the API's own spelling; what is null or absent is not in the result. */
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
    // As in a request: what goes on with a message opens no turn unless it says so.
    ...(continueFinalMessage === true ? { continueFinalMessage, addGenerationPrompt: false } : {}),
    ...(typeof addGenerationPrompt === "boolean" ? { addGenerationPrompt } : {}),
    ...(typeof addSpecialTokens === "boolean" ? { addSpecialTokens } : {}),
    ...(lost === undefined ? {} : { lost }),
  };
}

/**
 * What a prompt cannot be rendered again with: templates of others are run in serving alone, and where a prompt was cut
 * is not on record.
 */
const lostFields = ["chat_template", "truncate_prompt_tokens"];

/** Variables of a template that fields of a request set. */
const variableFields: readonly string[] = ["tools", "documents", "add_generation_prompt", "reasoning_effort"];

/** The further variables for a template: a field of the request wins over an argument of its name. */
export function templateArgumentsOf(record: JsonObject): JsonObject {
  const given = record["chat_template_kwargs"];
  if (!isJsonObject(given)) return {};
  const isSent = (name: string): boolean => variableFields.includes(name) && (record[name] ?? null) !== null;
  return Object.fromEntries(Object.entries(given).filter(([name]) => !isSent(name)));
}

function isObjectList(value: Json | undefined): value is readonly JsonObject[] {
  return Array.isArray(value) && value.length > 0 && value.every(isJsonObject);
}
