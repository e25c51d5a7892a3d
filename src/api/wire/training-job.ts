// API format of training jobs: requests that create them, jobs as answers, and their events.
import { Type } from "typebox";
import { type JobReward, rewardMetrics } from "../../base/domain/rewards/job-rewards.ts";
import { type JobEvent, jobKinds, type ReplayComparison, type TrainingJob } from "../../base/domain/job.ts";
import { type BasePrecision, basePrecisions } from "../../base/domain/trainer/base-precision.ts";
import type { TrainingConfig } from "../../base/domain/training-config.ts";
import type { Cost } from "../../base/domain/costs/prices.ts";
import type { BodyLimits } from "./body-limits.ts";
import type { PackedLines } from "./packed-lines.ts";
import type { BodyForm } from "./body.ts";
import { changedSettings } from "./changed-settings.ts";
import { isUuid } from "../../base/domain/random.ts";
import { textMemberAtHead } from "../../base/validation/list-body.ts";
import { readGroupBody, trajectoryGroupSchema } from "./trajectory.ts";
import { costRows } from "./costs/cost-rows.ts";
import { nullable, orNull } from "./nullable.ts";
import { preferenceConfigBody, preferenceConfigSchema } from "./preferences/preference-config.ts";
import { supervisedConfigBody, supervisedConfigSchema } from "./supervised/supervised-config.ts";
import {
  checkRolloutFields,
  type ReadRolloutSelection,
  rolloutJobFields,
  rolloutSelectionOf,
} from "./rollouts/rollout-job.ts";
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
  model_id: Type.Optional(Type.String({ description: "Only jobs of the model with this id." })),
  model: Type.Optional(
    Type.String({
      description:
        "Only jobs of the model with this name, which may be any name that a chat request accepts. Not together with `model_id`.",
    }),
  ),
  search: Type.Optional(
    Type.String({
      maxLength: 400,
      description:
        "Only jobs of models whose full name, `entity/project/name`, contains this text. The letters A to Z match in either case.",
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
        "Id of the model to train. Send this field first, so that the server can check the model before it reads the data.",
    }),
    trajectory_groups: nullable(Type.Array(trajectoryGroupSchema), {
      description:
        "Training data. Each group contains attempts at one problem; the rewards of these attempts are compared with each other. Required unless the job trains on rollouts.",
    }),
    ...rolloutJobFields,
    experimental_config: nullable(trainingConfigSchema, {
      description: "Settings of the job. The job's `config_not_applied` lists settings that have no effect.",
    }),
  },
  { title: "TrainingJobCreate" },
);

export const trainingJobForm: BodyForm<typeof creationSchema> = {
  schema: creationSchema,
  more: (body, findings) => {
    checkRolloutFields(body, findings);
    checkTrainingConfig(body["experimental_config"], findings);
  },
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
  /** Rollouts to train on; null if the job trains on the groups. */
  readonly rollouts: ReadRolloutSelection | null;
  /**
   * Largest token id that the body records; null if it records no tokens. It is compared with the vocabulary later,
   * because the model may be unknown while the body is read.
   */
  readonly greatestTokenId: GreatestTokenId | null;
}

/** Returns the model id in the first bytes of a job's request body; null if these bytes contain no valid id. */
export function modelIdAtHead(head: Buffer): string | null {
  const id = textMemberAtHead(head, "model_id");
  return id !== null && isUuid(id) ? id : null;
}

/**
 * Reads the body of a request that creates a training job.
 *
 * @param vocabularySize number of token ids of the model to train; null if not yet known
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
    rollouts: rolloutSelectionOf(body),
    greatestTokenId: tokens.greatestTokenId,
    ignored: [...new Set([...ignored, ...configNotApplied.map((key) => `experimental_config.${key}`)])],
  };
}

export const createdJobSchema = Type.Object({
  id: Type.String({ format: "uuid", description: "Id of the job." }),
});

const dateTime = Type.String({ format: "date-time" });
const count = Type.Integer({ minimum: 0 });
const counted = (description: string) => Type.Integer({ minimum: 0, description });
const countsByReason = (description: string) => Type.Object({}, { additionalProperties: count, description });

const replaySchema = Type.Object(
  {
    is_equal: Type.Boolean({
      description: "True if the replay's result equals the original version byte for byte.",
    }),
    files: Type.Array(Type.String(), {
      description: "Names of the compared files: all files of the version.",
    }),
    matrices: Type.Integer({ minimum: 0, description: "Number of matrices in the files." }),
    different: Type.Integer({
      minimum: 0,
      description:
        "Number of differing matrices, plus the number of differing files that contain no matrices.",
    }),
    differences: Type.Array(
      Type.Object({
        file: Type.String(),
        matrix: orNull(Type.String(), {
          description: "Name of the differing matrix; null for a file without matrices.",
        }),
        values: orNull(count, {
          description: "Number of differing values; null if single values cannot be compared.",
        }),
        greatest: orNull(Type.Number(), {
          description: "Greatest absolute difference between two values; null if it cannot be computed.",
        }),
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
      description: "Kind of the job: reinforcement learning, supervised fine-tuning, or preference training.",
    }),
    state: Type.Enum([...jobStates], { description: "State of the job; the last three are final." }),
    created_at: dateTime,
    started_at: orNull(dateTime),
    ended_at: orNull(dateTime),
    duration_seconds: orNull(Type.Number({ minimum: 0 }), {
      description:
        "Seconds from the job's start to its end, or to now if it is running. Null if the job has not started.",
    }),
    error_message: orNull(Type.String(), {
      description: "Why the job failed, or that it was cancelled; null for other jobs.",
    }),
    attempts: Type.Integer({
      minimum: 0,
      description:
        "Number of attempts started. A job needs more than one attempt if its process or server dies.",
    }),
    attempts_lost: Type.Integer({
      minimum: 0,
      description:
        "Number of consecutive attempts whose training process died before it saved a further step.",
    }),
    attempts_lost_max: Type.Integer({
      minimum: 0,
      description: "Value of `attempts_lost` at which the job fails.",
    }),
    restarts: Type.Integer({
      minimum: 0,
      description: "Number of consecutive attempts whose server died before it saved a further step.",
    }),
    restarts_max: Type.Integer({ minimum: 0, description: "Value of `restarts` at which the job fails." }),
    waiting_for: orNull(Type.String(), {
      description:
        "Reason why a queued job waits: a base model that no server has, or a resource that a server lacked at the last attempt. For a running job, the reason of its last wait, until the job makes progress. Null if the job does not wait for such a reason.",
    }),
    warnings: Type.Array(Type.String(), {
      description: "Sentences about parts of the job that are valid, but that you may not have intended.",
    }),
    cancel_requested: Type.Boolean({
      description: "True if cancellation was requested. A running job stops soon after that.",
    }),
    phase: orNull(Type.Enum([...jobPhases]), {
      description:
        "Current phase: tokenizing the data, training, or publishing the new version. Null unless the job is running.",
    }),
    progress: orNull(
      Type.Object({
        prepared: orNull(count, {
          description:
            "Number of conversations, trajectory groups or preferences that are tokenized; null in jobs from older releases.",
        }),
        prepared_total: orNull(count, {
          description:
            "Total number of conversations, trajectory groups or preferences to tokenize; null in jobs from older releases.",
        }),
        gradient_steps: Type.Integer({ minimum: 0, description: "Number of optimizer steps completed." }),
        gradient_steps_total: orNull(count, {
          description: "Total number of optimizer steps; null until all data is tokenized.",
        }),
        gradient_steps_saved: Type.Integer({
          minimum: 0,
          description:
            "Number of optimizer steps that are saved, and thus not repeated if the process or server dies.",
        }),
      }),
    ),
    seconds_left: orNull(Type.Number({ minimum: 0 }), {
      description:
        "Estimated seconds until the current phase, preparation or training, is complete. Null unless the job is running and has measured the speed of two steps.",
    }),
    experimental_config: orNull(
      Type.Object(
        {},
        {
          additionalProperties: Type.Union([Type.Number(), Type.Boolean(), Type.String(), Type.Null()]),
        },
      ),
      { description: "Settings in effect for reinforcement learning; null for jobs of other kinds." },
    ),
    config: orNull(supervisedConfigSchema, {
      description: "Settings in effect for supervised fine-tuning; null for jobs of other kinds.",
    }),
    preference_config: orNull(preferenceConfigSchema, {
      description: "Settings in effect for preference training; null for jobs of other kinds.",
    }),
    config_changed: Type.Array(Type.String(), {
      description: "Names of requested settings whose values differ from the defaults.",
    }),
    config_not_applied: Type.Array(Type.String(), {
      description: "Names of settings that were sent but have no effect.",
    }),
    counts: orNull(
      Type.Object({
        groups_submitted: counted("Number of groups (or conversations or preferences) in the data."),
        groups_trainable: counted(
          "Number of these groups (or conversations or preferences) that are trained on.",
        ),
        trajectories: counted("Number of trajectories in the data."),
        sequences: counted("Number of token sequences that are trained on."),
        trainable_tokens: counted("Number of answer tokens that are trained on, in one pass."),
        skipped: countsByReason("Number of trajectories that are skipped at least in part, by reason."),
        skipped_groups: countsByReason(
          "Number of groups with at least one trajectory that is skipped at least in part, by reason.",
        ),
        steps: orNull(
          Type.Object({
            count: Type.Integer({ minimum: 0, description: "Number of optimizer steps, over all passes." }),
            passes: Type.Integer({ minimum: 1, description: "Number of passes over the sequences." }),
            sequences_max: Type.Integer({
              minimum: 0,
              description: "Number of sequences in the largest step.",
            }),
          }),
          { description: "Plan of the optimizer steps; null in jobs from older releases." },
        ),
      }),
      { description: "Size of the training data; null until it is known." },
    ),
    ...costRows(
      "the trainable tokens of all passes, which is known once the data is tokenized; null for a job that failed or was cancelled",
    ),
    result_step: orNull(count, {
      description: "Step of the version that the job made; null if it made none.",
    }),
    rewards: Type.Array(
      Type.Object({
        metric: Type.Enum([...rewardMetrics]),
        before: orNull(Type.Number(), {
          description: "Mean reward of the version that the job started from.",
        }),
        after: orNull(Type.Number(), { description: "Mean reward of the version that the job made." }),
      }),
      {
        description:
          "Mean rewards of the version that the job started from and of the version that it made, with one entry per metric that has a value. The metrics `val/reward` and `train/reward` come from trajectories that clients logged for the version. The metric `data/reward` is the mean reward of a job's own training data, which the job's start version sampled. So the `after` of `data/reward` is null until the next job has trained.",
      },
    ),
    replay_of: orNull(Type.String({ format: "uuid" }), {
      description:
        "For a replay: id of the original job, which the replay repeats. The replay compares its result with the original job's version, and makes no version itself. Null for other jobs.",
    }),
    retry_of: orNull(Type.String({ format: "uuid" }), {
      description:
        "For a retry: id of the failed or cancelled job whose data this job trains on. Null for other jobs.",
    }),
    replay: orNull(replaySchema, {
      description: "For a replay that succeeded: result of the comparison. Null for other jobs.",
    }),
    data_removed_at: orNull(dateTime, {
      description:
        "Time at which the server's retention limits removed the job's training data; null while the data is stored.",
    }),
  },
  { title: "TrainingJob" },
);

/** Data about a job that answers show, but that are stored in other tables. */
export interface JobSurroundings extends Cost {
  /** Full name of the job's model; null if the model was deleted. */
  readonly model: string | null;
  readonly rewards: readonly JobReward[];
}

/**
 * Converts a job to an answer.
 *
 * @param limits maximum number of attempts that a job may lose, and of its restarts
 */
export function trainingJobBody(
  job: TrainingJob,
  limits: { readonly attemptsMax: number; readonly startsMax: number },
  now: Date,
  { model, rewards, cost, currency }: JobSurroundings,
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
    config_changed: changedSettings(task),
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
    cost,
    currency,
    result_step: job.resultStep,
    rewards,
    replay_of: job.replayOf,
    retry_of: job.retryOf,
    replay: job.comparison === null ? null : replayBody(job.comparison),
    data_removed_at: job.dataRemovedAt?.toISOString() ?? null,
  };
}

/**
 * Returns the settings with which the job trains: the request's settings, completed by the server's settings that were
 * fixed in the job's first attempt.
 */
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
    type: Type.Enum(["preparing", "training_started", "gradient_step", "training_ended", "training_failed"], {
      description: "Type of the event. After each optimizer step, there is one event `gradient_step`.",
    }),
    data: Type.Object(
      {},
      {
        additionalProperties: Type.Union([Type.Number(), Type.String()]),
        description:
          "Numbers that the event reports, by name. A `training_failed` event also has the text `error_message`.",
      },
    ),
  },
  { title: "TrainingEvent" },
);

export function jobEventBody(event: JobEvent): object {
  return { id: event.id, type: event.type, data: event.data };
}
