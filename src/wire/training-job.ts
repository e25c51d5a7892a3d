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
import { nullable } from "./nullable.ts";
import { pageQueryFields } from "./page.ts";

export const jobQuerySchema = Type.Object({
  ...pageQueryFields,
  model_id: Type.Optional(Type.String()),
  state: Type.Optional(Type.Enum(["queued", "running", "succeeded", "failed", "cancelled"])),
});

const trainingConfigSchema = Type.Object(
  {
    advantage_balance: nullable(Type.Number({ minimum: -1, maximum: 1 })),
    epsilon: nullable(Type.Number({ minimum: 0 })),
    epsilon_high: nullable(Type.Number({ minimum: 0 })),
    importance_sampling_level: nullable(Type.Enum([...importanceSamplingLevels])),
    vendor_k2_tau: nullable(Type.Number({ minimum: 0 })),
    kimi_k2_tau: nullable(Type.Number({ minimum: 0 })),
    learning_rate: nullable(Type.Number({ exclusiveMinimum: 0 })),
    mask_prob_ratio: nullable(Type.Boolean()),
    max_negative_advantage_importance_sampling_weight: nullable(Type.Number({ minimum: 0 })),
    ppo: nullable(Type.Boolean()),
    precalculate_logprobs: nullable(Type.Boolean()),
    scale_rewards: nullable(Type.Boolean()),
  },
  { title: "ExperimentalTrainingConfig" },
);

type ConfigBody = Static<typeof trainingConfigSchema>;

const trainingJobSchema = Type.Object(
  {
    model_id: Type.String({ format: "uuid" }),
    trajectory_groups: Type.Array(trajectoryGroupSchema),
    experimental_config: nullable(trainingConfigSchema),
  },
  { title: "TrainingJobCreate" },
);

export const trainingJobForm: BodyForm<typeof trainingJobSchema> = {
  schema: trainingJobSchema,
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

export function jobEventBody(event: JobEvent): object {
  return { id: event.id, type: event.type, data: event.data };
}
