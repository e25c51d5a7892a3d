// Settings of a chat, which are part of the page's address: the models that answer, and what each request contains.
import type { ServedModel } from "../../client/api.ts";

export interface ChatSettings {
  /** Names of the models that answer, each in its own column. */
  readonly models: readonly string[];
  readonly system: string;
  /** Texts of the number fields; an empty text leaves the choice to the model's defaults. */
  readonly temperature: string;
  readonly topP: string;
  readonly topK: string;
  readonly minP: string;
  readonly presencePenalty: string;
  readonly frequencyPenalty: string;
  readonly repetitionPenalty: string;
  readonly maxTokens: string;
  readonly seed: string;
  /** Stop strings, one per line. */
  readonly stop: string;
  /** Tools as a JSON list, as in a chat request; empty for none. */
  readonly tools: string;
  /** JSON Schema of the answer; empty for a free answer. */
  readonly schema: string;
  /** True to show tokens coloured by probability instead of formatted text. */
  readonly showsTokens: boolean;
}

/** Maximum number of models that answer side by side. */
export const modelsMax = 4;

/** Names of the text settings in the address, with the default of each. */
const texts = {
  system: ["system", ""],
  temperature: ["temperature", "1"],
  topP: ["top_p", ""],
  topK: ["top_k", ""],
  minP: ["min_p", ""],
  presencePenalty: ["presence_penalty", ""],
  frequencyPenalty: ["frequency_penalty", ""],
  repetitionPenalty: ["repetition_penalty", ""],
  maxTokens: ["max_tokens", "512"],
  seed: ["seed", ""],
  stop: ["stop", ""],
  tools: ["tools", ""],
  schema: ["schema", ""],
} as const;
export type TextSetting = keyof typeof texts;
const textSettings = Object.entries(texts) as readonly (readonly [TextSetting, readonly [string, string]])[];

/** @param usual model that answers if the address names none */
export function chatSettings(query: URLSearchParams, usual: string): ChatSettings {
  const named = [...query.getAll("m"), ...["left", "right"].flatMap((side) => query.get(side) ?? [])];
  const read = textSettings.map(([setting, [name, standard]]) => [setting, query.get(name) ?? standard]);
  return {
    // Safe cast: the entries have every text setting.
    ...(Object.fromEntries(read) as Readonly<Record<TextSetting, string>>),
    models: named.length === 0 ? [usual] : named.slice(0, modelsMax),
    showsTokens: query.get("tokens") === "1",
  };
}

export function putChatSettings(query: URLSearchParams, settings: ChatSettings): void {
  for (const name of ["m", "left", "right", "tokens"]) query.delete(name);
  for (const model of settings.models) query.append("m", model);
  for (const [setting, [name, standard]] of textSettings)
    if (settings[setting] === standard) query.delete(name);
    else query.set(name, settings[setting]);
  if (settings.showsTokens) query.set("tokens", "1");
}

/** Returns the model that a new chat asks: the newest trained model, or else the first base model. */
export function usualModel(served: readonly Pick<ServedModel, "id" | "parent">[]): string {
  return (served.find(({ parent }) => parent !== null) ?? served[0])?.id ?? "";
}
