// Settings of training: those that the operator sets, constants that are equal on every server, and those to which a
// job is pinned. The settings that a job may choose are in base/domain/training-config.ts.
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
      "Number of tokens per optimizer step, for jobs that set neither `steps` nor `batch_size`. A prefix that sequences share counts once. 0 takes one optimizer step per sequence, as ART does.",
  },
  sequenceLengthMax: {
    kind: "integer",
    default: 4096,
    min: 2,
    max: 1_048_576,
    about:
      "Maximum sequence length in tokens; longer sequences, and those longer than the model's context, are skipped.",
  },
  memoryBytes: {
    kind: "integer",
    default: 0,
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    about:
      "Memory limit of a training process in bytes, including the weights. If memory is short, the process computes fewer tokens at the same time. A job whose estimated memory exceeds the limit is refused before its first step. 0 allows three quarters of the machine's memory.",
    byMachine: ({ memoryBytes }) => Math.floor(0.75 * memoryBytes),
  },
} as const satisfies SettingsSchema;

/** LoRA alpha divided by the rank. */
const alphaOfRank = 2;

const fixed = {
  /** Precision of the products with the base model's weights, for jobs without a base_precision. */
  basePrecision: "float32" as BasePrecision,
  /**
   * Maximum divergence, in nats per token, by which a job may move its policy, unless the job sets max_kl_update. With
   * 0, a job of any divergence is published; above 1, it gets a warning.
   */
  klUpdateMax: 0,
  weightDecay: reinforcementLearningAdamW.weightDecay,
  /** Global norm that larger gradients are scaled down to. */
  gradientNormMax: reinforcementLearningAdamW.gradientNormMax,
  /**
   * Number of tokens per microbatch. It is lowered if memory requires it; a longer sequence gets its own microbatch.
   * It changes results only by rounding, and larger products would not be faster.
   */
  microbatchTokens: 2048,
  /**
   * Share of a job's time that snapshots of its steps may take. If a process is lost, only the steps since the last
   * snapshot are computed again.
   */
  snapshotShare: 0.1,
  /**
   * Share of a job's tokens that are also computed with the base model, for the metric of the policy's distance from
   * it.
   */
  baseComparisonShare: 0.15,
  /** Number of compute threads; the inference engine has the same number. */
  threads: 1,
  /**
   * Maximum time in milliseconds without progress before an attempt counts as stalled and the job is tried again. It
   * is ten times the longest possible step.
   */
  stallDeadlineMs: 900_000,
  /**
   * Time in milliseconds for which an idle process keeps its model loaded for the next job. It is roughly the time
   * that an agent needs for its next rollouts.
   */
  idleMs: 60_000,
};

export const trainingSettings = section(schema, fixed);

export type TrainingSettings = SettingsIn<typeof trainingSettings>;

/** The training settings, the job's pins, and the adapter shape of its model. */
export type JobSettings = TrainingSettings &
  Pick<PinnedSettings, "loraAlpha" | "loraTargets" | "servedPrecision">;

/**
 * Version number of the training algorithm: data preparation, batching, losses and steps. Increase it when the same
 * job would give another result. If a job continues with another version of the algorithm than it began with, a
 * warning is logged.
 */
export const trainerAlgorithm = 6;

/**
 * Settings that determine the result of a job's steps. They are fixed at the job's first attempt. All other settings
 * only determine how the steps are computed.
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
  /** LoRA alpha of new adapters: the scale times the rank. */
  readonly loraAlpha: number;
  /** The projections that new adapters cover; all if absent. */
  readonly loraTargets?: readonly ProjectionName[];
  /** Serving precision of the base, as in its fingerprint; absent for float32, which training computes in. */
  readonly servedPrecision?: string;
};

/** Returns the settings to which a job that begins now is pinned, with the adapter shape that its model asks for. */
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
  // Safe cast: exactly the names of the type.
  return pinned as PinnedSettings;
}

/** Returns the server's settings, overridden by the settings to which a job is pinned. */
export function settingsOfJob(settings: TrainingSettings, pinned: JsonObject): JobSettings {
  // Safe cast: `pinnedSettings` made them when the job began.
  const loraAlpha = alphaOfRank * settings.loraRank;
  return { ...settings, loraAlpha, ...(pinned as Partial<PinnedSettings>) };
}
