// Makes the body of a chat request from the settings of the view. Has no side effects.
import type { ChatSettings } from "./chat-settings.ts";
import type { Message } from "./conversation.ts";

/** Error for a setting with an invalid text. The message contains the reason. */
export class SettingFault extends Error {}

/** @throws SettingFault if a setting is not valid JSON, or not a number */
export function chatBody(model: string, messages: readonly Message[], settings: ChatSettings) {
  const number = (name: string, text: string) => {
    if (text.trim() === "") return {};
    if (Number.isNaN(Number(text))) throw new SettingFault(`${name} is ${text}; enter a number.`);
    return { [name]: Number(text) };
  };
  const stop = settings.stop.split("\n").filter((line) => line !== "");
  const tools = parsed("Tools", settings.tools);
  if (tools !== null && !Array.isArray(tools))
    throw new SettingFault("Tools must be a JSON list, as in a chat request.");
  const schema = parsed("The JSON Schema", settings.schema);
  return {
    model,
    messages,
    ...number("temperature", settings.temperature),
    ...number("top_p", settings.topP),
    ...number("top_k", settings.topK),
    ...number("min_p", settings.minP),
    ...number("presence_penalty", settings.presencePenalty),
    ...number("frequency_penalty", settings.frequencyPenalty),
    ...number("repetition_penalty", settings.repetitionPenalty),
    ...number("max_completion_tokens", settings.maxTokens),
    ...number("seed", settings.seed),
    ...(stop.length > 0 && { stop }),
    ...(tools !== null && { tools }),
    ...(schema !== null && {
      response_format: { type: "json_schema", json_schema: { name: "answer", schema } } as const,
    }),
  };
}

function parsed(name: string, text: string): unknown {
  if (text.trim() === "") return null;
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new SettingFault(`${name}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
