// Settings of live training sessions, which clients of the Tinker API open.
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";

const schema = {
  modelsMax: {
    kind: "integer",
    default: 3,
    min: 0,
    max: 64,
    about:
      "Maximum number of models that clients of the Tinker API train at the same time; further models wait. If the maximum is above 1, each entity may train at most one model less than the maximum. `training.memoryBytes` is divided into equal shares: one for the training process of each model, and one for all jobs together. 0 turns training sessions off.",
  },
} as const satisfies SettingsSchema;

const fixed = {
  /** Maximum number of models of one entity that wait for a training process. */
  waitingPerEntityMax: 16,
  /** Maximum number of open sessions of one entity. A session is a program that uses the API. */
  sessionsPerEntityMax: 256,
  /** Maximum number of sampling clients of one session. */
  samplersPerSessionMax: 4096,
  /** Time in milliseconds without a heartbeat after which a session ends. Clients send one every 10 seconds. */
  sessionMs: 300_000,
  /** Like `sessionMs`, for sessions with models in training while other models wait for a training process. */
  awaitedSessionMs: 60_000,
  /** Time in milliseconds without an operation after which a model leaves its training process to a waiting model. */
  parkMs: 10_000,
  /** Time in milliseconds without an operation after which the training of a model ends. */
  idleMs: 3_600_000,
  /** Interval in milliseconds between sweeps, which end silent sessions and idle models and delete expired versions. */
  sweepMs: 10_000,
  /** Maximum number of operations of a model that wait for their turn. A client sends a batch in several operations. */
  operationsMax: 1024,
  /**
   * Time in milliseconds without a new operation after which a model's waiting operations no longer wait for missing
   * ones. A program that continues after an error of its client waits this long, and slow uploads arrive within it.
   */
  gapMs: 20_000,
  /** Time in milliseconds during which the result of an operation can be fetched. */
  resultMs: 1_800_000,
  /** Maximum number of an entity's operations that are in progress or have a result. */
  futuresPerEntityMax: 8192,
  /** Maximum size in bytes of an entity's results in memory. Beyond it, the oldest results are forgotten. */
  resultBytesPerEntity: 256 * 1024 ** 2,
  /** Maximum time in milliseconds that a request for a result waits. Clients give up after 45 seconds. */
  pollMs: 25_000,
  /** Number of versions without a name that a model keeps; older ones are deleted. Programs sample from the newest. */
  unnamedKept: 4,
  /** LoRA alpha of new adapters of any rank. The learning rates in the recipes of clients assume this value. */
  loraAlpha: 32,
};

export const sessionSettings = section(schema, fixed);

export type SessionSettings = SettingsIn<typeof sessionSettings>;
