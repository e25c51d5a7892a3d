// What a record says of how its prompts were rendered, beside messages and tools. A client that asked for anything of it
// keeps the request's own fields on the Choice, or on the trajectory for all of its Choices.
import type { Json, JsonObject } from "../domain/trajectory.ts";
import type { PromptArguments } from "./conversation-tokenizer.ts";

/** Reads the fields of one record, in the API's own spelling; what is null or absent is not in the result. */
export function promptArgumentsOf(record: JsonObject): PromptArguments {
  const {
    documents,
    chat_template_kwargs: templateArguments,
    add_generation_prompt: addGenerationPrompt,
    continue_final_message: continueFinalMessage,
  } = record;
  return {
    ...(isObjectList(documents) ? { documents } : {}),
    ...(isObject(templateArguments) ? { templateArguments } : {}),
    // As in a request: what goes on with a message opens no turn unless it says so.
    ...(continueFinalMessage === true ? { continueFinalMessage, addGenerationPrompt: false } : {}),
    ...(typeof addGenerationPrompt === "boolean" ? { addGenerationPrompt } : {}),
  };
}

function isObjectList(value: Json | undefined): value is readonly JsonObject[] {
  return Array.isArray(value) && value.length > 0 && value.every(isObject);
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
