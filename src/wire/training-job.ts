// Training jobs as the interface spells them: creation with its eleven options, the job, its events.
import { Type, type Static } from "typebox";
import type { JobEvent, TrainingJob } from "../domain/job.ts";
import {
  importanceSamplingLevels,
  resolveTrainingConfig,
  type TrainingConfig,
} from "../domain/training-config.ts";
import type { BodyLimits } from "./body-limits.ts";
import type { PackedLines } from "./packed-lines.ts";
import type { BodyForm } from "./body.ts";
import { isUuid } from "../domain/ids.ts";
import { isObject, report, type Findings } from "../validation/findings.ts";
import { textMemberAtHead } from "../validation/json-head.ts";
import { readGroupBody, trajectoryGroupSchema } from "./trajectory.ts";
import { nullable, orNull } from "./nullable.ts";
import { pageQueryFields, pageSchema } from "./page.ts";

const jobStates = ["queued", "running", "succeeded", "failed", "cancelled"] as const;

export const jobQuerySchema = Type.Object({
  ...pageQueryFields,
  model_id: Type.Optional(Type.String({ description: "Only this model's." })),
  state: Type.Optional(Type.Enum([...jobStates], { description: "Only those in this state." })),
});

const defaults = resolveTrainingConfig({});
const ppoDefaults = resolveTrainingConfig({ ppo: true });

const trainingConfigSchema = Type.Object(
  {
    advantage_balance: nullable(Type.Number({ minimum: -1, maximum: 1 }), {
      description: "Positive shrinks negative advantages, negative shrinks positive ones.",
      default: defaults.advantageBalance,
    }),
    epsilon: nullable(Type.Number({ minimum: 0 }), {
      description: "The lower bound of clipping is 1 - epsilon.",
      default: defaults.epsilon,
      "x-default": `${defaults.epsilon}; ${ppoDefaults.epsilon} with ppo`,
    }),
    epsilon_high: nullable(Type.Number({ minimum: 0 }), {
      description: "The upper bound of clipping is 1 + epsilon_high.",
      default: defaults.epsilonHigh,
      "x-default": `${defaults.epsilonHigh}; epsilon with ppo`,
    }),
    importance_sampling_level: nullable(Type.Enum([...importanceSamplingLevels]), {
      description: "Over what the ratio of new to old probability is taken.",
      default: defaults.importanceSamplingLevel,
    }),
    vendor_k2_tau: nullable(Type.Number({ minimum: 0 }), {
      description: "Weight of the squared difference from the policy that sampled; 0 is off.",
      default: defaults.k2Tau,
    }),
    kimi_k2_tau: nullable(Type.Number({ minimum: 0 }), {
      description: "The same as vendor_k2_tau, by another name.",
      default: defaults.k2Tau,
    }),
    learning_rate: nullable(Type.Number({ exclusiveMinimum: 0 }), {
      description: "Of AdamW.",
      default: defaults.learningRate,
    }),
    mask_prob_ratio: nullable(Type.Boolean(), {
      description: "Leaves out tokens whose ratio is out of bounds instead of clipping it.",
      default: defaults.maskProbRatio,
    }),
    max_negative_advantage_importance_sampling_weight: nullable(Type.Number({ minimum: 0 }), {
      description: "Caps every ratio; 0 is off.",
      default: defaults.maxNegativeAdvantageImportanceSamplingWeight,
    }),
    ppo: nullable(Type.Boolean(), {
      description: "Clips as PPO does, instead of as CISPO does.",
      default: defaults.ppo,
    }),
    precalculate_logprobs: nullable(Type.Boolean(), {
      description:
        "Computes the old log-probabilities anew before the first step, instead of taking the recorded ones.",
      default: defaults.precalculateLogprobs,
    }),
    scale_rewards: nullable(Type.Boolean(), {
      description: "Divides a group's advantages by the standard deviation of its rewards.",
      default: defaults.scaleRewards,
    }),
  },
  { title: "ExperimentalTrainingConfig" },
);

type ConfigBody = Static<typeof trainingConfigSchema>;

const creationSchema = Type.Object(
  {
    model_id: Type.String({ format: "uuid", description: "The model to train; best sent first." }),
    trajectory_groups: Type.Array(trajectoryGroupSchema, {
      description: "What it is trained on: each group holds answers to one problem, which are compared.",
    }),
    experimental_config: nullable(trainingConfigSchema, {
      description: "How it is trained; keys that are not known are listed in the job.",
    }),
  },
  { title: "TrainingJobCreate" },
);

export const trainingJobForm: BodyForm<typeof creationSchema> = {
  schema: creationSchema,
  fields: { model_id: "read", trajectory_groups: "read", experimental_config: "read" },
  more: (body, findings) => checkTau(body["experimental_config"], findings),
};

/** The fields of a training configuration; the two spellings of one field stand one after the other. */
const configFields = {
  advantage_balance: "advantageBalance",
  epsilon: "epsilon",
  epsilon_high: "epsilonHigh",
  importance_sampling_level: "importanceSamplingLevel",
  kimi_k2_tau: "k2Tau",
  vendor_k2_tau: "k2Tau",
  learning_rate: "learningRate",
  mask_prob_ratio: "maskProbRatio",
  max_negative_advantage_importance_sampling_weight: "maxNegativeAdvantageImportanceSamplingWeight",
  ppo: "ppo",
  precalculate_logprobs: "precalculateLogprobs",
  scale_rewards: "scaleRewards",
} as const satisfies { readonly [Field in keyof ConfigBody]-?: keyof TrainingConfig };

export interface ReadTrainingJob {
  readonly modelId: string;
  /** The groups as they are stored. */
  readonly lines: PackedLines;
  readonly config: TrainingConfig;
  readonly configNotApplied: readonly string[];
  readonly ignored: readonly string[];
}

/** The model that a job's body is for, where its first bytes name one. */
export function modelIdAtHead(head: Buffer): string | null {
  const id = textMemberAtHead(head, "model_id");
  return id !== null && isUuid(id) ? id : null;
}

/** @throws ServiceError `invalid` with every fault */
export function readTrainingJob(bytes: Buffer, limits: BodyLimits): ReadTrainingJob {
  const { value: body, ignored, lines } = readGroupBody(trainingJobForm, bytes, limits);
  const config = body.experimental_config ?? {};
  return {
    modelId: body.model_id.toLowerCase(),
    lines,
    config: toConfig(config),
    configNotApplied: Object.keys(config).filter((key) => !Object.hasOwn(configFields, key)),
    ignored,
  };
}

function checkTau(config: unknown, findings: Findings): void {
  if (!isObject(config)) return;
  const { vendor_k2_tau: vendor, kimi_k2_tau: kimi } = config;
  if (typeof vendor !== "number" || typeof kimi !== "number" || vendor === kimi) return;
  const message = `Value error, vendor_k2_tau is ${vendor} and kimi_k2_tau is ${kimi}; they are two spellings of one field, give one.`;
  report(findings, "value_error", message, "experimental_config", "kimi_k2_tau");
}

function toConfig(body: ConfigBody): TrainingConfig {
  const given = entries(configFields).flatMap(([wire, field]) =>
    (body[wire] ?? null) === null ? [] : [[field, body[wire]]],
  );
  // The schema gives each field the type that its domain field has.
  return resolveTrainingConfig(Object.fromEntries(given) as Partial<TrainingConfig>);
}

function configBody(config: TrainingConfig): object {
  const written = entries(configFields).filter(([wire]) => wire !== "kimi_k2_tau");
  return Object.fromEntries(written.map(([wire, field]) => [wire, config[field]]));
}

/** A record's entries with the types of its keys. */
function entries<Key extends string, Value>(record: Readonly<Record<Key, Value>>): readonly [Key, Value][] {
  return Object.entries(record) as [Key, Value][];
}

export const createdJobSchema = Type.Object({ id: Type.String({ format: "uuid" }) });

const dateTime = Type.String({ format: "date-time" });
const count = Type.Integer({ minimum: 0 });
const countsByReason = Type.Object({}, { additionalProperties: count });

export const trainingJobSchema = Type.Object(
  {
    id: Type.String({ format: "uuid" }),
    model_id: Type.String({ format: "uuid" }),
    state: Type.Enum([...jobStates]),
    created_at: dateTime,
    started_at: orNull(dateTime),
    ended_at: orNull(dateTime),
    error_message: orNull(Type.String(), { description: "Why it failed, or that it was cancelled." }),
    attempts: Type.Integer({ minimum: 0, description: "Attempts begun." }),
    attempts_lost: Type.Integer({ minimum: 0, description: "Of them, lost with their training process." }),
    attempts_lost_max: count,
    restarts: Type.Integer({ minimum: 0, description: "Of them, lost with their server." }),
    restarts_max: count,
    waiting_for: orNull(Type.String(), { description: "What of the machine a queued job waits for." }),
    warnings: Type.Array(Type.String(), {
      description: "What whoever sent it should know, though it works.",
    }),
    cancel_requested: Type.Boolean(),
    progress: orNull(Type.Object({ gradient_steps: count, gradient_steps_total: count })),
    experimental_config: Type.Object(
      {},
      {
        additionalProperties: Type.Union([Type.Number(), Type.Boolean(), Type.String()]),
        description: "As it takes effect.",
      },
    ),
    config_not_applied: Type.Array(Type.String(), { description: "Keys that were sent and are not known." }),
    counts: orNull(
      Type.Object({
        groups_submitted: count,
        groups_trainable: count,
        trajectories: count,
        sequences: count,
        trainable_tokens: count,
        skipped: countsByReason,
        skipped_groups: countsByReason,
      }),
    ),
    result_step: orNull(count, { description: "The version that it made." }),
  },
  { title: "TrainingJob" },
);
export const trainingJobPageSchema = pageSchema(trainingJobSchema);

/** @param limits how many attempts may be lost, each in its way */
export function trainingJobBody(
  job: TrainingJob,
  limits: { readonly attemptsMax: number; readonly startsMax: number },
): object {
  const { counts, progress } = job;
  return {
    id: job.id,
    model_id: job.modelId,
    state: job.state,
    created_at: job.createdAt.toISOString(),
    started_at: job.startedAt?.toISOString() ?? null,
    ended_at: job.endedAt?.toISOString() ?? null,
    error_message: job.errorMessage,
    attempts: job.attemptCount,
    attempts_lost: job.lostCount,
    attempts_lost_max: limits.attemptsMax,
    restarts: job.restartCount,
    restarts_max: limits.startsMax,
    waiting_for: job.waitingFor,
    warnings: job.warnings,
    cancel_requested: job.cancelRequested,
    progress:
      progress === null
        ? null
        : {
            gradient_steps: progress.gradientStepCount,
            gradient_steps_total: progress.gradientStepCountTotal,
          },
    experimental_config: configBody(job.config),
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
          },
    result_step: job.resultStep,
  };
}

export const jobEventSchema = Type.Object(
  {
    id: Type.String(),
    type: Type.Enum(["training_started", "gradient_step", "training_ended", "training_failed"]),
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
export const jobEventPageSchema = pageSchema(jobEventSchema);

export function jobEventBody(event: JobEvent): object {
  return { id: event.id, type: event.type, data: event.data };
}
