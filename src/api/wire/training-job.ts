// Training jobs as the interface spells them: creation, the job, its events.
import { Type } from "typebox";
import { type JobReward, rewardMetrics } from "../../base/domain/rewards/job-rewards.ts";
import { type JobEvent, jobKinds, type ReplayComparison, type TrainingJob } from "../../base/domain/job.ts";
import { type BasePrecision, basePrecisions } from "../../base/domain/trainer/base-precision.ts";
import type { TrainingConfig } from "../../base/domain/training-config.ts";
import type { BodyLimits } from "./body-limits.ts";
import type { PackedLines } from "./packed-lines.ts";
import type { BodyForm } from "./body.ts";
import { isUuid } from "../../base/domain/random.ts";
import { textMemberAtHead } from "../../base/validation/list-body.ts";
import { readGroupBody, trajectoryGroupSchema } from "./trajectory.ts";
import { nullable, orNull } from "./nullable.ts";
import { preferenceConfigBody, preferenceConfigSchema } from "./preferences/preference-config.ts";
import { supervisedConfigBody, supervisedConfigSchema } from "./supervised/supervised-config.ts";
import { pageQueryFields } from "./page.ts";
import { type GreatestTokenId, RecordedTokensCheck } from "./training/recorded-tokens.ts";
import {
  checkTrainingConfig,
  keysNotApplied,
  toTrainingConfig,
  trainingConfigBody,
  trainingConfigSchema,
} from "./training/training-config.ts";

const jobStates = ["queued", "running", "succeeded", "failed", "cancelled"] as const;

const jobPhases = ["preparing", "training", "publishing"] as const;

export const jobQuerySchema = Type.Object({
  ...pageQueryFields,
  model_id: Type.Optional(Type.String({ description: "Only this model's." })),
  model: Type.Optional(
    Type.String({ description: "The same by any name that a chat may use; not together with `model_id`." }),
  ),
  kind: Type.Optional(Type.Enum([...jobKinds], { description: "Only those of this kind." })),
  state: Type.Optional(Type.Enum([...jobStates], { description: "Only those in this state." })),
});

const creationSchema = Type.Object(
  {
    model_id: Type.String({ format: "uuid", description: "The model to train; best sent first." }),
    trajectory_groups: Type.Array(trajectoryGroupSchema, {
      description: "What it is trained on: each group holds answers to one problem, which are compared.",
    }),
    experimental_config: nullable(trainingConfigSchema, {
      description: "How it is trained; what is not applied is listed in the job.",
    }),
  },
  { title: "TrainingJobCreate" },
);

export const trainingJobForm: BodyForm<typeof creationSchema> = {
  schema: creationSchema,
  more: (body, findings) => checkTrainingConfig(body["experimental_config"], findings),
};

export interface ReadTrainingJob {
  readonly modelId: string;
  /** The groups as they are stored. */
  readonly lines: PackedLines;
  /** Of the trajectories in the groups. */
  readonly outlines: PackedLines;
  readonly config: TrainingConfig;
  readonly configNotApplied: readonly string[];
  readonly ignored: readonly string[];
  /** For a model that was not known when the body was read. */
  readonly greatestTokenId: GreatestTokenId | null;
}

/** The model that a job's body is for, where its first bytes name one. */
export function modelIdAtHead(head: Buffer): string | null {
  const id = textMemberAtHead(head, "model_id");
  return id !== null && isUuid(id) ? id : null;
}

/**
 * @param vocabularySize how many token ids the model to train has; null where it is not known yet
 * @throws ServiceError `invalid` with every fault
 */
export function readTrainingJob(
  bytes: Buffer,
  limits: BodyLimits,
  vocabularySize: number | null,
): ReadTrainingJob {
  const tokens = new RecordedTokensCheck(vocabularySize);
  const {
    value: body,
    ignored,
    lines,
    outlines,
  } = readGroupBody(trainingJobForm, bytes, limits, {
    checkItem: (item, findings) => tokens.check(item, findings),
  });
  const config = body.experimental_config ?? {};
  const configNotApplied = keysNotApplied(config);
  return {
    modelId: body.model_id.toLowerCase(),
    lines,
    outlines,
    config: toTrainingConfig(config),
    configNotApplied,
    greatestTokenId: tokens.greatestTokenId,
    ignored: [...new Set([...ignored, ...configNotApplied.map((key) => `experimental_config.${key}`)])],
  };
}

export const createdJobSchema = Type.Object({ id: Type.String({ format: "uuid" }) });

const dateTime = Type.String({ format: "date-time" });
const count = Type.Integer({ minimum: 0 });
const countsByReason = Type.Object({}, { additionalProperties: count });

const replaySchema = Type.Object(
  {
    is_equal: Type.Boolean({ description: "Whether it is the version byte for byte." }),
    files: Type.Array(Type.String(), { description: "Of the version; all are compared." }),
    matrices: count,
    different: Type.Integer({
      minimum: 0,
      description: "Matrices, and files without any, that are not the same.",
    }),
    differences: Type.Array(
      Type.Object({
        file: Type.String(),
        matrix: orNull(Type.String()),
        values: orNull(count, { description: "How many differ; null where they cannot be compared." }),
        greatest: orNull(Type.Number(), { description: "The greatest difference of two values." }),
      }),
      { description: "The first 100 of them." },
    ),
  },
  { title: "Replay" },
);

export const trainingJobSchema = Type.Object(
  {
    id: Type.String({ format: "uuid" }),
    model_id: Type.String({ format: "uuid" }),
    model: orNull(Type.String(), {
      description: "The model as `<entity>/<project>/<name>`; null if it was deleted meanwhile.",
    }),
    kind: Type.Enum([...jobKinds], {
      description: "Reinforcement learning, supervised fine-tuning, or preference training.",
    }),
    state: Type.Enum([...jobStates]),
    created_at: dateTime,
    started_at: orNull(dateTime),
    ended_at: orNull(dateTime),
    duration_seconds: orNull(Type.Number({ minimum: 0 }), {
      description: "From its start to its end, or until now; null if it never started.",
    }),
    error_message: orNull(Type.String(), { description: "Why it failed, or that it was cancelled." }),
    attempts: Type.Integer({ minimum: 0, description: "Attempts begun." }),
    attempts_lost: Type.Integer({
      minimum: 0,
      description: "Of them, lost with their training process since one kept further steps.",
    }),
    attempts_lost_max: count,
    restarts: Type.Integer({
      minimum: 0,
      description: "Of them, lost with their server since one kept further steps.",
    }),
    restarts_max: count,
    waiting_for: orNull(Type.String(), {
      description:
        "What a queued job waits for: a base model that no server has, or what a machine lacks that tried it; of a running one, what it waited for the last time, until it has got further.",
    }),
    warnings: Type.Array(Type.String(), {
      description: "What whoever sent it should know, though it works.",
    }),
    cancel_requested: Type.Boolean(),
    phase: orNull(Type.Enum([...jobPhases]), { description: "What it is about; null unless it runs." }),
    progress: orNull(
      Type.Object({
        prepared: orNull(count, {
          description:
            "Conversations, trajectory groups or preferences that are made into tokens; null in jobs from before.",
        }),
        prepared_total: orNull(count),
        gradient_steps: count,
        gradient_steps_total: orNull(count, { description: "Null until all is prepared." }),
        gradient_steps_saved: Type.Integer({
          minimum: 0,
          description: "Of the steps taken, how many are not taken again when its process or server dies.",
        }),
      }),
    ),
    seconds_left: orNull(Type.Number({ minimum: 0 }), {
      description:
        "Until all is prepared, or until its last step, by the speed so far; null unless it runs and that was measured, which takes two steps.",
    }),
    experimental_config: orNull(
      Type.Object(
        {},
        {
          additionalProperties: Type.Union([Type.Number(), Type.Boolean(), Type.String(), Type.Null()]),
        },
      ),
      { description: "Of reinforcement learning, as it takes effect; null of a job of another kind." },
    ),
    config: orNull(supervisedConfigSchema, {
      description: "Of supervised fine-tuning, as it takes effect; null of a job of another kind.",
    }),
    preference_config: orNull(preferenceConfigSchema, {
      description: "Of preference training, as it takes effect; null of a job of another kind.",
    }),
    config_not_applied: Type.Array(Type.String(), {
      description: "Keys that were sent and ask for what is not done.",
    }),
    counts: orNull(
      Type.Object({
        groups_submitted: count,
        groups_trainable: count,
        trajectories: count,
        sequences: count,
        trainable_tokens: count,
        skipped: countsByReason,
        skipped_groups: countsByReason,
        steps: orNull(
          Type.Object({
            count: Type.Integer({ minimum: 0, description: "Optimizer steps, of all passes." }),
            passes: Type.Integer({ minimum: 1, description: "How often each sequence trains." }),
            sequences_max: Type.Integer({
              minimum: 0,
              description: "Sequences of the step that has most.",
            }),
          }),
          { description: "What the job takes over its sequences; null of a job from before." },
        ),
      }),
    ),
    result_step: orNull(count, { description: "The version that it made." }),
    rewards: Type.Array(
      Type.Object({
        metric: Type.Enum([...rewardMetrics]),
        before: orNull(Type.Number()),
        after: orNull(Type.Number()),
      }),
      {
        description:
          "Mean rewards of the version that it started from and of the version that it made, one entry for each metric that has a value. `val/reward` and `train/reward` were logged for the version. `data/reward` is the reward of the answers that were sampled from the version and then trained on: it has no `after` until the next job has trained.",
      },
    ),
    replay_of: orNull(Type.String({ format: "uuid" }), {
      description: "The job that it repeats, to compare with its version; it makes none itself.",
    }),
    retry_of: orNull(Type.String({ format: "uuid" }), {
      description: "The job that failed or was cancelled and whose data it trains on.",
    }),
    replay: orNull(replaySchema, { description: "Of a replay that succeeded." }),
    data_removed_at: orNull(dateTime, {
      description:
        "When what it trained on was removed, as the server's retention says; null while it is there.",
    }),
  },
  { title: "TrainingJob" },
);

/** Facts about a job that other tables hold. */
export interface JobSurroundings {
  /** Full name of its model; null if it was deleted. */
  readonly model: string | null;
  readonly rewards: readonly JobReward[];
}

/** @param limits how many attempts may be lost, each in its way */
export function trainingJobBody(
  job: TrainingJob,
  limits: { readonly attemptsMax: number; readonly startsMax: number },
  now: Date,
  { model, rewards }: JobSurroundings,
): object {
  const { counts, progress, task } = job;
  const isRunning = job.state === "running";
  const endsAt = isRunning ? (progress?.endsAt ?? null) : null;
  return {
    id: job.id,
    model_id: job.modelId,
    model,
    kind: task.kind,
    state: job.state,
    created_at: job.createdAt.toISOString(),
    started_at: job.startedAt?.toISOString() ?? null,
    ended_at: job.endedAt?.toISOString() ?? null,
    duration_seconds:
      job.startedAt === null
        ? null
        : Math.max(0, ((job.endedAt ?? now).getTime() - job.startedAt.getTime()) / 1000),
    error_message: job.errorMessage,
    attempts: job.attemptCount,
    attempts_lost: job.lostCount,
    attempts_lost_max: limits.attemptsMax,
    restarts: job.restartCount,
    restarts_max: limits.startsMax,
    waiting_for: job.waitingFor,
    warnings: job.warnings,
    cancel_requested: job.cancelRequested,
    phase: isRunning ? (progress?.phase ?? "preparing") : null,
    progress:
      progress === null
        ? null
        : {
            prepared: progress.prepared?.count ?? null,
            prepared_total: progress.prepared?.total ?? null,
            gradient_steps: progress.gradientStepCount,
            gradient_steps_total: progress.gradientStepCountTotal,
            gradient_steps_saved: progress.savedStepCount,
          },
    seconds_left: endsAt === null ? null : Math.max(0, (endsAt.getTime() - now.getTime()) / 1000),
    experimental_config: task.kind === "rl" ? trainingConfigBody(inEffect(task.config, job)) : null,
    config:
      task.kind === "sft"
        ? supervisedConfigBody({ ...task.config, basePrecision: precisionInEffect(task.config, job.pins) })
        : null,
    preference_config:
      task.kind === "preference"
        ? preferenceConfigBody({ ...task.config, basePrecision: precisionInEffect(task.config, job.pins) })
        : null,
    config_not_applied: job.configNotApplied,
    counts:
      counts === null
        ? null
        : {
            groups_submitted: counts.groupsSubmitted,
            groups_trainable: counts.groupsTrainable,
            trajectories: counts.trajectories,
            sequences: counts.sequences,
            trainable_tokens: counts.trainableTokens,
            skipped: counts.skipped,
            skipped_groups: counts.skippedGroups,
            steps:
              counts.steps === undefined
                ? null
                : {
                    count: counts.steps.count,
                    passes: counts.steps.passCount,
                    sequences_max: counts.steps.sequencesMax,
                  },
          },
    result_step: job.resultStep,
    rewards,
    replay_of: job.replayOf,
    retry_of: job.retryOf,
    replay: job.comparison === null ? null : replayBody(job.comparison),
    data_removed_at: job.dataRemovedAt?.toISOString() ?? null,
  };
}

/** With the numbers that the server had where the job has none, once its first attempt has fixed them. */
function inEffect(config: TrainingConfig, { pins }: TrainingJob): TrainingConfig {
  const { weightDecay, gradientNormMax, klUpdateMax, batchTokens } = pins?.settings ?? {};
  const countsTokens = typeof batchTokens === "number" && batchTokens > 0;
  const isLeft = pins !== null && config.batchSize === null && config.stepCount === null;
  return {
    ...config,
    basePrecision: precisionInEffect(config, pins),
    batchSize: isLeft && !countsTokens ? 1 : config.batchSize,
    weightDecay: config.weightDecay ?? (typeof weightDecay === "number" ? weightDecay : null),
    gradientNormMax: config.gradientNormMax ?? (typeof gradientNormMax === "number" ? gradientNormMax : null),
    klUpdateMax: config.klUpdateMax ?? (typeof klUpdateMax === "number" ? klUpdateMax : null),
  };
}

function precisionInEffect(
  { basePrecision }: Pick<TrainingConfig, "basePrecision">,
  pins: TrainingJob["pins"],
): BasePrecision | null {
  const pinned = pins?.settings["basePrecision"];
  return basePrecision ?? basePrecisions.find((precision) => precision === pinned) ?? null;
}

function replayBody({ files, matrixCount, differentCount, different }: ReplayComparison): object {
  return {
    is_equal: differentCount === 0,
    files,
    matrices: matrixCount,
    different: differentCount,
    differences: different.map(({ file, matrix, valueCount, greatest }) => ({
      file,
      matrix,
      values: valueCount,
      greatest,
    })),
  };
}

export const jobEventSchema = Type.Object(
  {
    id: Type.String(),
    type: Type.Enum(["preparing", "training_started", "gradient_step", "training_ended", "training_failed"]),
    data: Type.Object(
      {},
      {
        additionalProperties: Type.Union([Type.Number(), Type.String()]),
        description: "Numbers, and `error_message` of a failure.",
      },
    ),
  },
  { title: "TrainingEvent" },
);

export function jobEventBody(event: JobEvent): object {
  return { id: event.id, type: event.type, data: event.data };
}
