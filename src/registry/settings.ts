// The settings of trained models.
import type { SettingsOf, SettingsSchema } from "../domain/settings.ts";

export const modelSettings = {
  checkpointsKept: {
    kind: "integer",
    default: 0,
    min: 0,
    max: 1_000_000,
    about:
      "How many of a model's newest versions are kept; older ones are deleted when a new one is there, but for those that are pinned, in use, or the base. 0 keeps all.",
  },
} as const satisfies SettingsSchema;

export type ModelSettings = SettingsOf<typeof modelSettings>;
