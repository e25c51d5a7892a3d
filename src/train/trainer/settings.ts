// Settings of training: those that the operator sets, constants that are equal on every server, and those that are
// fixed when a job begins (pinned). Settings that a job can choose are in base/domain/training-config.ts.
import type { BasePrecision } from "../../base/domain/trainer/base-precision.ts";
import { adapterOfServer, type AdapterWish, type ProjectionName } from "../../base/domain/model.ts";
import type { JsonObject } from "../../base/domain/text/json.ts";
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";
import { reinforcementLearningAdamW } from "./adamw.ts";

const schema = {
  loraRank: {
    kind: "integer",
    default: 8,
    min: 1,
    max: 256,
    about:
      "LoRA rank of new adapters; alpha is twice the rank. Does not apply to models that were registered with a rank.",
  },
  batchTokens: {
    kind: "integer",
    default: 0,
    min: 0,
    max: 1_048_576,
    about:
      "Number of tokens per optimizer step, for jobs that set neither `steps` nor `batch_size`. The tokens of a prefix that several sequences share count once. With 0, there is one optimizer step per sequence, as in the library ART.",
  },
  sequenceLengthMax: {
    kind: "integer",
    default: 4096,
    min: 2,
    max: 1_048_576,
    about:
      "Maximum length of a training sequence in tokens. Longer sequences, and sequences longer than the model's context, are skipped.",
  },
  memoryBytes: {
    kind: "integer",
    default: 0,
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    about:
      "Memory limit of a training process in bytes, including the weights. If memory is short, the process computes fewer tokens at the same time, then computes more values twice, and in float32 finally reads the weights a few at a time. A job whose estimated memory still exceeds the limit is refused before its first step. 0 allows three quarters of the machine's memory.",
    byMachine: ({ memoryBytes }) => Math.floor(0.75 * memoryBytes),
  },
} as const satisfies SettingsSchema;

/** Default LoRA alpha, as a multiple of the rank. */
const alphaOfRank = 2;

const fixed = {
  /** Precision in which products with the base model's weights are computed, for jobs that set no base_precision. */
  basePrecision: "float32" as BasePrecision,
  /**
   * Maximum divergence, in nats per token, by which a job may move its policy, unless the job sets max_kl_update; 0 for
   * no limit. A job that moves its policy by more than 1 gets a warning.
   */
  klUpdateMax: 0,
  weightDecay: reinforcementLearningAdamW.weightDecay,
  /** Global norm to which larger gradients are scaled down. */
  gradientNormMax: reinforcementLearningAdamW.gradientNormMax,
  /**
   * Maximum number of tokens in a microbatch. A job that would need much memory, or exceed the memory limit, uses
   * fewer, and a longer sequence gets a microbatch of its own. The number changes results only by rounding, and larger
   * products would not be faster.
   */
  microbatchTokens: 2048,
  /**
   * Maximum share of a job's time that saving snapshots may take. If a process is lost, the next attempt repeats only
   * the steps since the last snapshot.
   */
  snapshotShare: 0.1,
  /** Share of a job's tokens that the base model computes too, to measure the policy's distance from it. */
  baseComparisonShare: 0.15,
  /** Number of compute threads for training. The inference engine uses the same number. */
  threads: 1,
  /**
   * Maximum time in milliseconds without progress. After this time, the attempt counts as stalled, and the job is tried
   * again. The time is ten times as long as the longest possible step.
   */
  stallDeadlineMs: 900_000,
  /**
   * Time in milliseconds that an idle training process keeps its model loaded for the next job. An agent needs
   * roughly that long for its next rollouts.
   */
  idleMs: 60_000,
};

export const trainingSettings = section(schema, fixed);

export type TrainingSettings = SettingsIn<typeof trainingSettings>;

/**
 * All settings of a job: the training settings (some of them fixed when the job began), and the adapter shape and
 * serving precision of its model.
 */
export type JobSettings = TrainingSettings &
  Pick<PinnedSettings, "loraAlpha" | "loraTargets" | "servedPrecision">;

/**
 * Version number of the training algorithm: data preparation, batching, losses and steps. Increase it when the same job
 * would give another result. A job that continues with another version than it began with logs a warning.
 */
export const trainerAlgorithm = 8;

/**
 * Settings that determine the result of a job's steps. The job's first attempt fixes them. All other settings determine
 * only how the steps are computed.
 */
const pinnedNames = [
  "loraRank",
  "loraAlpha",
  "batchTokens",
  "basePrecision",
  "sequenceLengthMax",
  "weightDecay",
  "gradientNormMax",
  "baseComparisonShare",
  "klUpdateMax",
] as const;

export type PinnedSettings = Pick<TrainingSettings, Exclude<(typeof pinnedNames)[number], "loraAlpha">> & {
  /** LoRA alpha of new adapters, which is the adapter's scale times its rank. */
  readonly loraAlpha: number;
  /** The projections that new adapters cover; all projections if absent. */
  readonly loraTargets?: readonly ProjectionName[];
  /** Serving precision of the base model, as in its fingerprint; absent for float32. */
  readonly servedPrecision?: string;
};

/**
 * Returns the settings that are fixed for a job that begins now (its pins). They include the adapter shape that the
 * job's model requests.
 */
export function pinnedSettings(
  settings: TrainingSettings & Pick<PinnedSettings, "servedPrecision">,
  { rank, alpha, targets }: AdapterWish = adapterOfServer,
): PinnedSettings {
  const loraRank = rank ?? settings.loraRank;
  const loraAlpha = alpha ?? alphaOfRank * loraRank;
  const decided = { ...settings, loraRank, loraAlpha };
  const pinned: Partial<Record<keyof PinnedSettings, unknown>> = Object.fromEntries(
    pinnedNames.map((name) => [name, decided[name]]),
  );
  if (targets !== null) pinned["loraTargets"] = targets;
  if (settings.servedPrecision !== undefined) pinned["servedPrecision"] = settings.servedPrecision;
  // Safe cast: the object has exactly the names of the type.
  return pinned as PinnedSettings;
}

/** Returns the settings for a job: the server's, except those that were fixed when the job began (`pinned`). */
export function settingsOfJob(settings: TrainingSettings, pinned: JsonObject): JobSettings {
  // Safe cast: `pinnedSettings` made this object when the job began.
  const loraAlpha = alphaOfRank * settings.loraRank;
  return { ...settings, loraAlpha, ...(pinned as Partial<PinnedSettings>) };
}
