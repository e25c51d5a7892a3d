// Settings of chat: parsing of a model's answers.
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";

const schema = {
  toolCalls: {
    kind: "list",
    default: [],
    about:
      "How base models write calls of tools, as `model=format`: one of the formats that docs/guides/tools.md lists or `chat.toolFormats` describes, or `off`; `generic` shows the tools of a request in the system message, for models whose template knows none. By default, and with `auto`, it is found in a model's chat template; the built-in model is `off` by default.",
  },
  toolFormats: {
    kind: "list",
    default: [],
    about: "JSON files that describe further formats of tool calls; docs/guides/tools.md says how.",
  },
  reasoning: {
    kind: "list",
    default: [],
    about:
      "Whether base models think between `<think>` and `</think>` before they answer, as `model=on` or `model=off`. By default it is found in a model's chat template.",
  },
} as const satisfies SettingsSchema;

export const chatSettings = section(schema);

export type ChatSettings = SettingsIn<typeof chatSettings>;
