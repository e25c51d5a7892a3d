// Settings of chat: how a model's answers are parsed.
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";

const schema = {
  toolCalls: {
    kind: "list",
    default: [],
    about:
      "Tool call format of base models, as `model=format`: a format listed in docs/guides/tools.md or described in `chat.toolFormats`, `generic`, or `off`. Use `generic` for models whose chat template does not support tools: Hone then describes the tools in the system message. The default, `auto`, detects the format from the chat template; for the built-in model the default is `off`.",
  },
  toolFormats: {
    kind: "list",
    default: [],
    about: "JSON files that define additional tool call formats; see docs/guides/tools.md.",
  },
  reasoning: {
    kind: "list",
    default: [],
    about:
      "Separation of thoughts from the answers of base models, as `model=on` or `model=off`. With `on`, the text between `<think>` and `</think>`, or between Gemma 4's marks for thoughts, is returned as `reasoning`. Default: detected from the chat template.",
  },
} as const satisfies SettingsSchema;

export const chatSettings = section(schema);

export type ChatSettings = SettingsIn<typeof chatSettings>;
