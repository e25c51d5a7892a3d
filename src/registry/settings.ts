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
  adapterRankMax: {
    kind: "integer",
    default: 256,
    min: 1,
    max: 4096,
    about: "Greatest rank of an adapter that is imported; every row of a model computes with it.",
  },
  adapterBytesMax: {
    kind: "integer",
    default: 2 * 1024 * 1024 * 1024,
    min: 1024,
    max: 64 * 1024 * 1024 * 1024,
    about:
      "Most bytes of an archive with an adapter that is imported, and of all that is in it; it is kept on disk as it comes.",
  },
  importsAtOnce: {
    kind: "integer",
    default: 4,
    min: 1,
    max: 1000,
    about: "Adapters that may be imported at the same time; more are answered 429.",
  },
} as const satisfies SettingsSchema;

export type ModelSettings = SettingsOf<typeof modelSettings>;
