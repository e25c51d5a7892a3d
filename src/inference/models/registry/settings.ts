// The settings of base models and trained ones.
import type { SettingsOf, SettingsSchema } from "../../../base/domain/settings.ts";

export const modelSettings = {
  checkpointsKept: {
    kind: "integer",
    default: 0,
    min: 0,
    max: 1_000_000,
    about:
      "How many of a model's newest versions are kept; older ones are deleted when a new one is there, but for those that are pinned, in use, or the base. 0 keeps all.",
  },
  memoryBytes: {
    kind: "integer",
    default: 0,
    min: 0,
    max: 2 ** 50,
    about:
      "Memory for base models that are loaded together, in bytes, their running requests' keys and values included; those that do not fit are loaded when a request asks for them, and others let go. 0 keeps all of them loaded.",
  },
  keepAliveSeconds: {
    kind: "integer",
    default: 0,
    min: 0,
    max: 1_000_000,
    about:
      "How long a base model stays loaded that no request asks for; 0 keeps it until `models.memoryBytes` is needed for others.",
  },
  keepDefaultModel: {
    kind: "choice",
    default: "on",
    choices: ["on", "off"],
    about:
      "`on` spares the default model from `models.keepAliveSeconds`, and lets it go for others only where nothing else makes room.",
  },
} as const satisfies SettingsSchema;

export type ModelSettings = SettingsOf<typeof modelSettings>;
