// Finds a model's chat template in its folder: chat_template.jinja, or `chat_template` in tokenizer_config.json, which
// is one template or a list of named ones ("default", "tool_use").
import { systemClock } from "../../base/domain/clock.ts";
import type { Clock } from "../../base/domain/clock.ts";
import { createChatTemplate } from "./chat-template.ts";
import type { ChatTemplate } from "./chat-template.ts";
import { readJsonObject, readTextFile, specialTokensOf } from "../../lib/tokenizer/tokenizer.ts";
import { withToolsAsText } from "./tools-as-text.ts";

export interface TemplateChoices {
  readonly clock: Clock;
  /** True to show tools as text in the system message, even if the template supports tools. */
  readonly toolsAsText: boolean;
}

/**
 * Loads the chat template of a model folder. If the folder has no template, the result can still render requests that
 * bring their own.
 *
 * @throws ServiceError `unsupported` when the template's syntax is wrong
 */
export async function loadChatTemplate(
  folder: string,
  { clock = systemClock, toolsAsText = false }: Partial<TemplateChoices> = {},
): Promise<ChatTemplate> {
  const config = (await readJsonObject(folder, "tokenizer_config.json")) ?? {};
  const named = namedTemplates(config.chat_template);
  const template = createChatTemplate({
    source: (await readTextFile(folder, "chat_template.jinja")) ?? named.get("default") ?? null,
    toolUseSource: named.get("tool_use") ?? null,
    specialTokens: specialTokensOf(config),
    clock,
  });
  return toolsAsText ? withToolsAsText(template, clock) : template;
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
