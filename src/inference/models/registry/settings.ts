// The settings of base models and trained ones.
import { section, type SettingsIn, type SettingsSchema } from "../../../base/domain/settings.ts";

const schema = {
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
      "How long a base model other than the default stays loaded that no request asks for; 0 keeps it until `models.memoryBytes` is needed for others.",
  },
} as const satisfies SettingsSchema;

const fixed = {
  /** How long a request waits for memory for its base model. Clients often give up sooner. */
  roomWaitMs: 120_000,
  /** Minimum time that a busy base model stays loaded before another one may replace it: loading takes seconds. */
  turnMs: 10_000,
  /** A base model counts as busy during gaps shorter than this, as a client leaves between two requests. */
  pauseMs: 250,
  /** Maximum rank of an imported adapter, the same as for one trained here: each row of a model computes with it. */
  importRankMax: 256,
  /**
   * Maximum bytes of an imported archive, and of its unpacked files together: twice the size of such a rank for 1 B
   * parameters.
   */
  importBytesMax: 2 * 1024 ** 3,
  /** Concurrent imports; further ones are answered 429. */
  importCountMax: 4,
};

export const modelSettings = section(schema, fixed);

export type ModelSettings = SettingsIn<typeof modelSettings>;
