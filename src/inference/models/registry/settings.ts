// Settings of base models and of trained models.
import { section, type SettingsIn, type SettingsSchema } from "../../../base/domain/settings.ts";

const schema = {
  checkpointsKept: {
    kind: "integer",
    default: 0,
    min: 0,
    max: 1_000_000,
    about:
      "Number of newest versions to keep per model. Whenever a version is created, versions older than these are deleted. Version 0, and versions that are pinned or in use, are not deleted. 0 keeps all versions.",
  },
  memoryBytes: {
    kind: "integer",
    default: 0,
    min: 0,
    max: 2 ** 50,
    about:
      "Maximum memory in bytes for loaded base models and their KV caches. If not all models fit, each is loaded on demand, and other models are unloaded. 0 sets no limit and keeps all models loaded.",
  },
  keepAliveSeconds: {
    kind: "integer",
    default: 0,
    min: 0,
    max: 1_000_000,
    about:
      "Idle time in seconds after which a base model is unloaded, except the default model. With 0, a model is unloaded only to make room for another one within `models.memoryBytes`.",
  },
} as const satisfies SettingsSchema;

const fixed = {
  /**
   * Maximum time in milliseconds that a request waits until there is memory for its base model. Many clients time
   * out sooner.
   */
  roomWaitMs: 120_000,
  /**
   * Minimum time in milliseconds that a busy base model stays loaded before another may replace it. Without it,
   * models would replace each other at every request, although each load takes seconds.
   */
  turnMs: 10_000,
  /**
   * Default in milliseconds for the longest gap between requests during which a base model still counts as busy.
   * Clients leave such short gaps between one request and the next.
   */
  pauseMs: 250,
  /**
   * Maximum rank of an imported adapter, equal to that of adapters trained by Hone. The rank is limited because it adds
   * computation to each token.
   */
  importRankMax: 256,
  /**
   * Maximum size in bytes of an imported archive, and of all its unpacked files. This is twice the size of an adapter
   * with the maximum rank for a model with 1 B parameters.
   */
  importBytesMax: 2 * 1024 ** 3,
  /** Maximum number of concurrent imports. Further imports are refused with status 429. */
  importCountMax: 4,
};

export const modelSettings = section(schema, fixed);

export type ModelSettings = SettingsIn<typeof modelSettings>;
