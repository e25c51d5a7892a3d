// Training jobs in the API: their creation, the job as an answer, its events.
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
  model_id: Type.Optional(Type.String({ description: "Only jobs of this model." })),
  model: Type.Optional(
    Type.String({
      description:
        "Only jobs of this model, by any name that a chat request accepts; not together with `model_id`.",
    }),
  ),
  kind: Type.Optional(Type.Enum([...jobKinds], { description: "Only jobs of this kind." })),
  state: Type.Optional(Type.Enum([...jobStates], { description: "Only jobs in this state." })),
});

const creationSchema = Type.Object(
  {
    model_id: Type.String({
      format: "uuid",
      description:
        "The model to train. Send this field first, so that the server can check the model before it reads the data.",
    }),
    trajectory_groups: Type.Array(trajectoryGroupSchema, {
      description: "Training data: each group holds answers to one problem, which are compared.",
    }),
    experimental_config: nullable(trainingConfigSchema, {
      description: "Settings of the training; the job lists settings that are not applied.",
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
  /** Trajectory groups in stored form. */
  readonly lines: PackedLines;
  /** Summaries of the trajectories in the groups. */
  readonly outlines: PackedLines;
  readonly config: TrainingConfig;
  readonly configNotApplied: readonly string[];
  readonly ignored: readonly string[];
  /**
   * Greatest recorded token id, to check it later against a model that was unknown when the body was read; null if the
   * body records no tokens.
   */
  readonly greatestTokenId: GreatestTokenId | null;
}

/** Returns the model id that a job's body names; null if the body's first bytes do not contain a valid one. */
export function modelIdAtHead(head: Buffer): string | null {
  const id = textMemberAtHead(head, "model_id");
  return id !== null && isUuid(id) ? id : null;
}

/**
 * Reads the body that creates a training job.
 *
 * @param vocabularySize number of token ids that the model to train has; null if not yet known
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
    is_equal: Type.Boolean({ description: "True if the result equals the version byte for byte." }),
    files: Type.Array(Type.String(), { description: "Files of the version; all are compared." }),
    matrices: count,
    different: Type.Integer({
      minimum: 0,
      description: "Number of matrices, and of files without matrices, that differ.",
    }),
    differences: Type.Array(
      Type.Object({
        file: Type.String(),
        matrix: orNull(Type.String()),
        values: orNull(count, {
          description: "Number of differing values; null if the values cannot be compared.",
        }),
        greatest: orNull(Type.Number(), { description: "Greatest difference of two values." }),
      }),
      { description: "The first 100 differences." },
    ),
  },
  { title: "Replay" },
);

export const trainingJobSchema = Type.Object(
  {
    id: Type.String({ format: "uuid" }),
    model_id: Type.String({ format: "uuid" }),
    model: orNull(Type.String(), {
      description: "The model as `<entity>/<project>/<name>`; null if it has been deleted.",
    }),
    kind: Type.Enum([...jobKinds], {
      description: "Reinforcement learning, supervised fine-tuning, or preference training.",
    }),
    state: Type.Enum([...jobStates]),
    created_at: dateTime,
    started_at: orNull(dateTime),
    ended_at: orNull(dateTime),
    duration_seconds: orNull(Type.Number({ minimum: 0 }), {
      description: "From start to end, or until now; null if the job never started.",
    }),
    error_message: orNull(Type.String(), { description: "Why the job failed, or that it was cancelled." }),
    attempts: Type.Integer({ minimum: 0, description: "Attempts started." }),
    attempts_lost: Type.Integer({
      minimum: 0,
      description: "Attempts lost with their training process since a step was last saved.",
    }),
    attempts_lost_max: count,
    restarts: Type.Integer({
      minimum: 0,
      description: "Attempts lost with their server since a step was last saved.",
    }),
    restarts_max: count,
    waiting_for: orNull(Type.String(), {
      description:
        "For a queued job, what it waits for: a base model that no server has, or a resource that a machine lacked when it tried. For a running job, what it last waited for, until it makes progress.",
    }),
    warnings: Type.Array(Type.String(), {
      description: "Warnings for the sender about things that work but may not be intended.",
    }),
    cancel_requested: Type.Boolean(),
    phase: orNull(Type.Enum([...jobPhases]), {
      description: "Current phase; null unless the job is running.",
    }),
    progress: orNull(
      Type.Object({
        prepared: orNull(count, {
          description:
            "Conversations, trajectory groups or preferences to tokenize; null in jobs from older versions.",
        }),
        prepared_total: orNull(count),
        gradient_steps: count,
        gradient_steps_total: orNull(count, { description: "Null until preparation is complete." }),
        gradient_steps_saved: Type.Integer({
          minimum: 0,
          description: "Steps that are not repeated if the process or server dies.",
        }),
      }),
    ),
    seconds_left: orNull(Type.Number({ minimum: 0 }), {
      description:
        "Estimated seconds until preparation is complete, or until the last step, by the speed so far. Null unless the job is running and has measured two steps.",
    }),
    experimental_config: orNull(
      Type.Object(
        {},
        {
          additionalProperties: Type.Union([Type.Number(), Type.Boolean(), Type.String(), Type.Null()]),
        },
      ),
      { description: "Effective settings of reinforcement learning; null for jobs of other kinds." },
    ),
    config: orNull(supervisedConfigSchema, {
      description: "Effective settings of supervised fine-tuning; null for jobs of other kinds.",
    }),
    preference_config: orNull(preferenceConfigSchema, {
      description: "Effective settings of preference training; null for jobs of other kinds.",
    }),
    config_not_applied: Type.Array(Type.String(), {
      description: "Settings that were sent and are not applied.",
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
            count: Type.Integer({ minimum: 0, description: "Optimizer steps, over all passes." }),
            passes: Type.Integer({ minimum: 1, description: "Number of times each sequence trains." }),
            sequences_max: Type.Integer({
              minimum: 0,
              description: "Sequences in the largest step.",
            }),
          }),
          { description: "Steps of the job over its sequences; null in jobs from older versions." },
        ),
      }),
    ),
    result_step: orNull(count, { description: "The version that the job made." }),
    rewards: Type.Array(
      Type.Object({
        metric: Type.Enum([...rewardMetrics]),
        before: orNull(Type.Number()),
        after: orNull(Type.Number()),
      }),
      {
        description:
          "Mean rewards of the version that the job started from and of the version that it made, with one entry per metric that has a value. The metrics `val/reward` and `train/reward` were logged for the version. The metric `data/reward` is the reward of the answers that were sampled from the version and then trained on; it has no `after` until the next job has trained.",
      },
    ),
    replay_of: orNull(Type.String({ format: "uuid" }), {
      description:
        "The job that this replay repeats and whose version it compares with; a replay makes no version.",
    }),
    retry_of: orNull(Type.String({ format: "uuid" }), {
      description: "The failed or cancelled job whose data this job trains on.",
    }),
    replay: orNull(replaySchema, { description: "Result of a successful replay." }),
    data_removed_at: orNull(dateTime, {
      description:
        "Time at which the training data was removed by the server's retention; null while it is stored.",
    }),
  },
  { title: "TrainingJob" },
);

/** Data about a job from other tables. */
export interface JobSurroundings {
  /** Full name of the job's model; null if the model was deleted. */
  readonly model: string | null;
  readonly rewards: readonly JobReward[];
}

/**
 * Converts a job to an answer.
 *
 * @param limits maximum numbers of lost attempts and of restarts
 */
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
    experimental_config: task.kind === "rl" ? trainingConfigBody(effectiveConfig(task.config, job)) : null,
    config:
      task.kind === "sft"
        ? supervisedConfigBody({ ...task.config, basePrecision: effectivePrecision(task.config, job.pins) })
        : null,
    preference_config:
      task.kind === "preference"
        ? preferenceConfigBody({ ...task.config, basePrecision: effectivePrecision(task.config, job.pins) })
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

/** Returns the job's settings, completed with the server's settings that the first attempt fixed. */
function effectiveConfig(config: TrainingConfig, { pins }: TrainingJob): TrainingConfig {
  const { weightDecay, gradientNormMax, klUpdateMax, batchTokens } = pins?.settings ?? {};
  const countsTokens = typeof batchTokens === "number" && batchTokens > 0;
  const isLeft = pins !== null && config.batchSize === null && config.stepCount === null;
  return {
    ...config,
    basePrecision: effectivePrecision(config, pins),
    batchSize: isLeft && !countsTokens ? 1 : config.batchSize,
    weightDecay: config.weightDecay ?? (typeof weightDecay === "number" ? weightDecay : null),
    gradientNormMax: config.gradientNormMax ?? (typeof gradientNormMax === "number" ? gradientNormMax : null),
    klUpdateMax: config.klUpdateMax ?? (typeof klUpdateMax === "number" ? klUpdateMax : null),
  };
}

function effectivePrecision(
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
        description: "Numbers, and `error_message` if the step failed.",
      },
    ),
  },
  { title: "TrainingEvent" },
);

export function jobEventBody(event: JobEvent): object {
  return { id: event.id, type: event.type, data: event.data };
}
