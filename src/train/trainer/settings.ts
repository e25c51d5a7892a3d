// Settings of training: those of the operator, those that are equal on every server, and those that a job is pinned
// to. The settings that a job may choose are in base/domain/training-config.ts.
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
   * Nats per token by which a job may move its policy, unless it sets max_kl_update. With 0, each job publishes, with
   * a warning above 1.
   */
  klUpdateMax: 0,
  weightDecay: reinforcementLearningAdamW.weightDecay,
  /** Global norm that larger gradients are scaled down to. */
  gradientNormMax: reinforcementLearningAdamW.gradientNormMax,
  /**
   * Tokens per microbatch if memory allows it; a longer sequence gets its own microbatch. Changes results only by
   * rounding, and larger products are not faster.
   */
  microbatchTokens: 2048,
  /** Share of a job's time for snapshots of its steps. A lost process then costs only the steps since the last one. */
  snapshotShare: 0.1,
  /** Share of a job's tokens that the base model also computes, for the metric of the distance to it. */
  baseComparisonShare: 0.15,
  /** Number of compute threads; the inference engine has the same number. */
  threads: 1,
  /** Maximum time without progress before a job is started again; ten times the longest possible step. */
  stallDeadlineMs: 900_000,
  /**
   * How long an idle process keeps its model loaded for the next job: roughly the time an agent needs for its next
   * rollouts.
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
 * job would compute something else; a job that continues under another number logs a warning.
 */
export const trainerAlgorithm = 6;

/** Settings that decide a job's steps, fixed at its first attempt. The others decide only how they are computed. */
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

/** Returns the pinned settings of a job that begins now, with the adapter shape that its model asks for. */
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

/** Returns the server's settings, overridden by those that a job was pinned to. */
export function settingsOfJob(settings: TrainingSettings, pinned: JsonObject): JobSettings {
  // Safe cast: `pinnedSettings` made them when the job began.
  const loraAlpha = alphaOfRank * settings.loraRank;
  return { ...settings, loraAlpha, ...(pinned as Partial<PinnedSettings>) };
}
