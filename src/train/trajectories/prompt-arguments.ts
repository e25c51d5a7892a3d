// The options of a request, or of a record of one, that change how its prompt is rendered, beside messages and tools. A
// client that asked for anything of it keeps the request's own fields on the Choice, or on the trajectory for all of its
// Choices.
import { isJsonObject, type Json, type JsonObject } from "../../base/domain/text/json.ts";
import type { PromptArguments } from "./conversation-tokenizer.ts";

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
