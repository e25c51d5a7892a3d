// Finds a model's chat template in its folder: chat_template.jinja, or `chat_template` in tokenizer_config.json, which is
// one template or a list of named ones ("default", "tool_use").
import { systemClock } from "../domain/clock.ts";
import type { Clock } from "../domain/clock.ts";
import { ServiceError } from "../domain/service-error.ts";
import { createChatTemplate } from "./chat-template.ts";
import type { ChatTemplate } from "./chat-template.ts";
import { readJsonObject, readTextFile } from "./load-tokenizer.ts";
import { specialTokensOf } from "./tokenizer.ts";

/**
 * Loads the chat template of a model folder.
 *
 * @throws ServiceError `unsupported` when the folder has none, or its syntax is wrong
 */
export async function loadChatTemplate(folder: string, clock: Clock = systemClock): Promise<ChatTemplate> {
  const config = (await readJsonObject(folder, "tokenizer_config.json")) ?? {};
  const named = namedTemplates(config.chat_template);
  const source = (await readTextFile(folder, "chat_template.jinja")) ?? named.get("default");
  if (source === undefined) {
    throw new ServiceError({
      code: "unsupported",
      message: `The model folder ${folder} has no chat template: neither chat_template.jinja, nor chat_template in tokenizer_config.json.`,
    });
  }
  return createChatTemplate({
    source,
    toolUseSource: named.get("tool_use") ?? null,
    specialTokens: specialTokensOf(config),
    clock,
  });
}

function namedTemplates(value: unknown): ReadonlyMap<string, string> {
  if (typeof value === "string") return new Map([["default", value]]);
  if (!Array.isArray(value)) return new Map();
  const entries = value.flatMap((entry: { name?: unknown; template?: unknown } | null) =>
    typeof entry?.name === "string" && typeof entry.template === "string"
      ? [[entry.name, entry.template] as const]
      : [],
  );
  return new Map(entries);
}
