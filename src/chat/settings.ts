// What the operator may set of chat: how long a prompt may take to be made, and how many may wait for it.
import type { SettingsOf, SettingsSchema } from "../domain/settings.ts";

export const chatSettings = {
  renderSeconds: {
    kind: "number",
    default: 0.8,
    min: 0.01,
    max: 60,
    about: "How long a model's chat template may take to render a conversation.",
  },
  encodeSeconds: {
    kind: "number",
    default: 10,
    min: 0.01,
    max: 600,
    about: "How long a rendered prompt may take to be tokenized.",
  },
  renderedCharacters: {
    kind: "integer",
    default: 16 * 1024 * 1024,
    min: 1024,
    max: 256 * 1024 * 1024,
    about: "Longest text or list that rendering a conversation may make, in characters or items.",
  },
  templateCharacters: {
    kind: "integer",
    default: 256 * 1024,
    min: 1024,
    max: 16 * 1024 * 1024,
    about: "Longest chat template that a request may bring.",
  },
  cutCharacters: {
    kind: "integer",
    default: 1024 * 1024,
    min: 1024,
    max: 256 * 1024 * 1024,
    about:
      "Longest conversation or text of which only the last tokens are kept (truncate_prompt_tokens), in characters: all of it is tokenized first.",
  },
  countedTokens: {
    kind: "integer",
    default: 128 * 1024,
    min: 1,
    max: 16 * 1024 * 1024,
    about:
      "Most tokens that a text or conversation may have that is tokenized without being answered, and most that are turned into text.",
  },
  promptsWaitingMax: {
    kind: "integer",
    default: 1024,
    min: 1,
    max: 1_000_000,
    about: "Prompts of one base model that may wait to be rendered; more are refused as overloaded.",
  },
  promptWaitSeconds: {
    kind: "number",
    default: 30,
    min: 0.01,
    max: 3600,
    about: "How long a prompt may wait for its turn to be rendered.",
  },
  toolCalls: {
    kind: "list",
    default: [],
    about:
      "How base models write calls of tools, as `model=format`: one of the formats that docs/tools.md lists or `chat.toolFormats` describes, or `off`; `generic` shows the tools of a request in the system message, for models whose template knows none. By default, and with `auto`, it is found in a model's chat template; the built-in model is `off` by default.",
  },
  toolFormats: {
    kind: "list",
    default: [],
    about: "JSON files that describe further formats of tool calls; docs/tools.md says how.",
  },
  reasoning: {
    kind: "list",
    default: [],
    about:
      "Whether base models think between `<think>` and `</think>` before they answer, as `model=on` or `model=off`. By default it is found in a model's chat template.",
  },
} as const satisfies SettingsSchema;

export type ChatSettings = SettingsOf<typeof chatSettings>;
