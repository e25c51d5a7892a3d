// What an operator may set of training: defaults, ranges, one sentence each. What a job may set is
// domain/training-config.ts.
import { totalmem } from "node:os";
import { adapterOfServer, type AdapterWish, type ProjectionName } from "../domain/model.ts";
import type { JsonObject } from "../domain/trajectory.ts";
import type { SettingsOf, SettingsSchema } from "../domain/settings.ts";

export const trainingSettings = {
  loraRank: {
    kind: "integer",
    default: 8,
    min: 1,
    max: 256,
    about: "Rank of new adapters; a model that has one keeps its own.",
  },
  loraAlpha: {
    kind: "number",
    default: 16,
    min: 0.001,
    max: 4096,
    about: "What new adapters are scaled by, divided by their rank.",
  },
  batchTokens: {
    kind: "integer",
    default: 0,
    min: 0,
    max: 1_048_576,
    about:
      "Tokens of one optimizer step of a job that says neither steps nor batch_size, those that sequences begin with alike counted once; 0 takes a step for every sequence, as ART does.",
  },
  microbatchTokens: {
    kind: "integer",
    default: 2048,
    min: 1,
    max: 1_048_576,
    about:
      "Tokens computed at once; a longer sequence is computed alone, and fewer need less memory and change no step but by rounding.",
  },
  memoryBytes: {
    kind: "integer",
    default: 0,
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    about:
      "Resident memory that a training process may need, its weights included: a job that is estimated above it is refused before its first step; 0 allows three quarters of the machine's.",
  },
  sequenceLengthMax: {
    kind: "integer",
    default: 4096,
    min: 2,
    max: 1_048_576,
    about: "A longer sequence is left out, as is one longer than the model's context.",
  },
  weightDecay: { kind: "number", default: 0.1, min: 0, max: 10, about: "Weight decay of AdamW." },
  gradientNormMax: {
    kind: "number",
    default: 0.1,
    min: 0,
    max: 1e9,
    about: "Gradients are scaled down to this global norm; 0 never scales.",
  },
  snapshotShare: {
    kind: "number",
    default: 0.1,
    min: 0,
    max: 1,
    about:
      "Which part of a job's time may go into keeping its steps, so that a job goes on behind the last one kept when its process dies; 1 keeps every step, 0 none.",
  },
  baseComparisonShare: {
    kind: "number",
    default: 0.15,
    min: 0,
    max: 1,
    about:
      "Share of a job's tokens that the base model computes too, for the metric of how far training went from it; at the default a step takes up to a tenth longer.",
  },
  threads: {
    kind: "integer",
    default: 0,
    min: 0,
    max: 1024,
    about: "Threads that compute; 0 takes one for every core.",
  },
  niceness: {
    kind: "integer",
    default: 10,
    min: 0,
    max: 19,
    about: "How far training steps back behind serving, from 0 (not at all) to 19.",
  },
  stallDeadlineMs: {
    kind: "integer",
    default: 900_000,
    min: 1_000,
    max: 86_400_000,
    about: "A job without a sign of progress for longer is started again.",
  },
  idleMs: {
    kind: "integer",
    default: 60_000,
    min: 0,
    max: 86_400_000,
    about: "How long a training process keeps its model loaded for the next job; 0 ends it at once.",
  },
} as const satisfies SettingsSchema;

/** The limit in bytes: what the operator set, else a share of what the machine or the process's control group has. */
export function memoryLimit({ memoryBytes }: Pick<TrainingSettings, "memoryBytes">): number {
  if (memoryBytes > 0) return memoryBytes;
  // 0 or more than the machine has where nothing constrains the process.
  const constrained = process.constrainedMemory();
  const available = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  return Math.floor(0.75 * available);
}

export type TrainingSettings = SettingsOf<typeof trainingSettings>;

/** What the operator set, with what a job is pinned to and what its model asks for. */
export type JobSettings = TrainingSettings & Pick<PinnedSettings, "loraTargets">;

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
  "sequenceLengthMax",
  "weightDecay",
  "gradientNormMax",
  "baseComparisonShare",
] as const;

export type PinnedSettings = Pick<TrainingSettings, (typeof pinnedNames)[number]> & {
  /** The projections that new adapters are on; without it all seven. */
  readonly loraTargets?: readonly ProjectionName[];
};

/** What a job that begins now is pinned to, with the shape of adapters that its model asks for. */
export function pinnedSettings(
  settings: TrainingSettings,
  { rank, alpha, targets }: AdapterWish = adapterOfServer,
): PinnedSettings {
  const loraRank = rank ?? settings.loraRank;
  const loraAlpha = alpha ?? (settings.loraAlpha * loraRank) / settings.loraRank;
  const decided = { ...settings, loraRank, loraAlpha };
  const pinned: Partial<Record<keyof PinnedSettings, unknown>> = Object.fromEntries(
    pinnedNames.map((name) => [name, decided[name]]),
  );
  if (targets !== null) pinned["loraTargets"] = targets;
  // Exactly the names of the type.
  return pinned as PinnedSettings;
}

/** The server's settings with those that a job was pinned to in their place. */
export function settingsOfJob(settings: TrainingSettings, pinned: JsonObject): JobSettings {
  // What `pinnedSettings` gave when the job began.
  return { ...settings, ...(pinned as Partial<PinnedSettings>) };
}
