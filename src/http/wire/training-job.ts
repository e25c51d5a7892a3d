// Training jobs as the interface spells them: creation with its eleven options, the job, its events.
import { Type, type Static } from "typebox";
import type { JobEvent, TrainingJob } from "../../domain/job.ts";
import {
  importanceSamplingLevels,
  resolveTrainingConfig,
  type TrainingConfig,
} from "../../domain/training-config.ts";
import type { TrajectoryGroup } from "../../domain/trajectory.ts";
import { check, isObject, newFindings, refuseFaults, report, type Findings } from "../input/validation.ts";
import { checkGroups, toTrajectoryGroup, trajectoryGroupSchema } from "./trajectory.ts";
import { nullable } from "./nullable.ts";

export const trainingConfigSchema = Type.Object(
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

export const trainingJobCreateSchema = Type.Object(
  {
    model_id: Type.String({ format: "uuid" }),
    trajectory_groups: Type.Array(trajectoryGroupSchema),
    experimental_config: nullable(trainingConfigSchema),
  },
  { title: "TrainingJobCreate" },
);

export interface ReadTrainingJob {
  readonly modelId: string;
  readonly groups: readonly TrajectoryGroup[];
  readonly config: TrainingConfig;
  readonly configNotApplied: readonly string[];
  readonly ignored: readonly string[];
}

/** @throws ServiceError `invalid` with every fault */
export function readTrainingJob(value: unknown): ReadTrainingJob {
  const findings = newFindings("body");
  check(trainingJobCreateSchema, value, findings);
  if (isObject(value)) checkGroups(value["trajectory_groups"], findings);
  if (isObject(value)) checkTau(value["experimental_config"], findings);
  refuseFaults(findings.faults);
  // Nothing differs from the schema.
  const body = value as Static<typeof trainingJobCreateSchema>;
  const config = body.experimental_config ?? {};
  return {
    modelId: body.model_id.toLowerCase(),
    groups: body.trajectory_groups.map(toTrajectoryGroup),
    config: toConfig(config),
    configNotApplied: Object.keys(config).filter(
      (key) => !Object.hasOwn(trainingConfigSchema.properties, key),
    ),
    ignored: [...findings.ignored],
  };
}

function checkTau(config: unknown, findings: Findings): void {
  if (!isObject(config)) return;
  const { vendor_k2_tau: vendor, kimi_k2_tau: kimi } = config;
  if (typeof vendor !== "number" || typeof kimi !== "number" || vendor === kimi) return;
  const message = `Value error, vendor_k2_tau is ${vendor} and kimi_k2_tau is ${kimi}; they are two spellings of one field, give one.`;
  report(findings, "value_error", message, "experimental_config", "kimi_k2_tau");
}

function toConfig(body: Static<typeof trainingConfigSchema>): TrainingConfig {
  return resolveTrainingConfig({
    advantageBalance: body.advantage_balance,
    epsilon: body.epsilon,
    epsilonHigh: body.epsilon_high,
    importanceSamplingLevel: body.importance_sampling_level,
    k2Tau: body.vendor_k2_tau ?? body.kimi_k2_tau,
    learningRate: body.learning_rate,
    maskProbRatio: body.mask_prob_ratio,
    maxNegativeAdvantageImportanceSamplingWeight: body.max_negative_advantage_importance_sampling_weight,
    ppo: body.ppo,
    precalculateLogprobs: body.precalculate_logprobs,
    scaleRewards: body.scale_rewards,
  });
}

function configBody(config: TrainingConfig): object {
  return {
    advantage_balance: config.advantageBalance,
    epsilon: config.epsilon,
    epsilon_high: config.epsilonHigh,
    importance_sampling_level: config.importanceSamplingLevel,
    vendor_k2_tau: config.k2Tau,
    learning_rate: config.learningRate,
    mask_prob_ratio: config.maskProbRatio,
    max_negative_advantage_importance_sampling_weight: config.maxNegativeAdvantageImportanceSamplingWeight,
    ppo: config.ppo,
    precalculate_logprobs: config.precalculateLogprobs,
    scale_rewards: config.scaleRewards,
  };
}

export function trainingJobBody(job: TrainingJob): object {
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
          },
    result_step: job.resultStep,
  };
}

export function jobEventBody(event: JobEvent): object {
  return { id: event.id, type: event.type, data: event.data };
}
