// What training goes by: what an operator sets, what is the same on every server, and what a job is pinned to of both. What
// a job may set is base/domain/training-config.ts.
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
    about: "Rank of new adapters, which are scaled by 2; a model that has one keeps its own.",
  },
  batchTokens: {
    kind: "integer",
    default: 0,
    min: 0,
    max: 1_048_576,
    about:
      "Tokens of one optimizer step of a job that says neither steps nor batch_size, those that sequences begin with alike counted once; 0 takes a step for every sequence, as ART does.",
  },
  sequenceLengthMax: {
    kind: "integer",
    default: 4096,
    min: 2,
    max: 1_048_576,
    about: "A longer sequence is left out, as is one longer than the model's context.",
  },
  memoryBytes: {
    kind: "integer",
    default: 0,
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    about:
      "Resident memory that a training process may need, its weights included: where it is short, fewer tokens are computed at once, and a job that is estimated above it is refused before its first step; 0 allows three quarters of the machine's.",
    byMachine: ({ memoryBytes }) => Math.floor(0.75 * memoryBytes),
  },
} as const satisfies SettingsSchema;

/** What new adapters are scaled by, divided by their rank, is so many times the rank. */
const alphaOfRank = 2;

const fixed = {
  /** Of the products with the base model's weights in jobs that say no base_precision. */
  basePrecision: "float32" as BasePrecision,
  /**
   * Nats a token by which a job may move its policy, where it does not say so (max_kl_update); 0 publishes all, with a warning
   * above 1.
   */
  klUpdateMax: 0,
  weightDecay: reinforcementLearningAdamW.weightDecay,
  /** Gradients are scaled down to this global norm. */
  gradientNormMax: reinforcementLearningAdamW.gradientNormMax,
  /**
   * Tokens computed at once where memory allows it; a longer sequence is computed alone. Changes no step but by rounding, and
   * larger products are not faster.
   */
  microbatchTokens: 2048,
  /** Part of a job's time that may go into keeping its steps, so that it goes on behind the last one when its process dies. */
  snapshotShare: 0.1,
  /** Part of a job's tokens that the base model computes too, for the metric of how far training went from it. */
  baseComparisonShare: 0.15,
  /** As the engine's. */
  threads: 1,
  /** A job without a sign of progress for longer is started again: ten times what a step of the largest may take. */
  stallDeadlineMs: 900_000,
  /** How long a process keeps its model loaded for the next job; an agent's next rollouts take about so long. */
  idleMs: 60_000,
};

export const trainingSettings = section(schema, fixed);

export type TrainingSettings = SettingsIn<typeof trainingSettings>;

/** What training goes by, with what a job is pinned to and what its model asks for. */
export type JobSettings = TrainingSettings &
  Pick<PinnedSettings, "loraAlpha" | "loraTargets" | "servedPrecision">;

/**
 * Counts the changes of what training computes from the same job: how data is prepared, batches are cut, losses and steps
 * are computed. A job that goes on under another number than it began with is a warning in the log.
 */
export const trainerAlgorithm = 6;

/** The settings that decide what a job's steps are: fixed at its first attempt. The others only decide how they are computed. */
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
  /** What new adapters are scaled by, divided by their rank. */
  readonly loraAlpha: number;
  /** The projections that new adapters are on; without it all seven. */
  readonly loraTargets?: readonly ProjectionName[];
  /** In which precision the base is served, as its fingerprint says; absent for float32, which training computes in. */
  readonly servedPrecision?: string;
};

/** What a job that begins now is pinned to, with the shape of adapters that its model asks for. */
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
  // Exactly the names of the type.
  return pinned as PinnedSettings;
}

/** The server's settings with those that a job was pinned to in their place. */
export function settingsOfJob(settings: TrainingSettings, pinned: JsonObject): JobSettings {
  // What `pinnedSettings` gave when the job began.
  const loraAlpha = alphaOfRank * settings.loraRank;
  return { ...settings, loraAlpha, ...(pinned as Partial<PinnedSettings>) };
}
