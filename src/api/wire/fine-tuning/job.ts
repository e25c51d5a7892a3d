// API format of a fine-tuning job in answers.
import { Type, type Static } from "typebox";
import { fineTunedName } from "../../../base/domain/fine-tuning/fine-tuned-name.ts";
import type { FineTuningJob } from "../../../base/domain/fine-tuning/fine-tuning-job.ts";
import { type JobState, trainedTokens, type TrainingJob } from "../../../base/domain/job.ts";
import { nullable, orNull } from "../nullable.ts";
import { pageQueryFields } from "../page.ts";

const anyObject = Type.Object({}, { additionalProperties: true });
const unixTime = Type.Integer({ description: "Unix time in seconds." });

export const fineTuningQuerySchema = Type.Object({
  ...pageQueryFields,
  metadata: Type.Optional(
    Type.String({
      description: "`null` for jobs without metadata. `metadata[key]=value` selects jobs with this pair.",
    }),
  ),
});

export const fineTuningJobSchema = Type.Object(
  {
    id: Type.String(),
    object: Type.Enum(["fine_tuning.job"]),
    created_at: unixTime,
    finished_at: orNull(unixTime, { description: "Time at which the job succeeded; null before." }),
    estimated_finish: orNull(unixTime, { description: "Estimated end of the training; null if unknown." }),
    status: Type.Enum(["queued", "running", "paused", "succeeded", "failed", "cancelled"]),
    error: orNull(
      Type.Object({ code: Type.String(), message: Type.String(), param: orNull(Type.String()) }),
      { description: "Reason why the job failed; null if it did not." },
    ),
    model: Type.String({ description: "Model of the request." }),
    fine_tuned_model: orNull(Type.String(), {
      description: "Name of the trained model for requests; null until the job has succeeded.",
    }),
    organization_id: Type.String({ description: "Entity to which the job belongs." }),
    training_file: Type.String(),
    validation_file: orNull(Type.String()),
    result_files: Type.Array(Type.String(), { description: "Always empty; the events have the metrics." }),
    seed: Type.Integer(),
    hyperparameters: anyObject,
    method: anyObject,
    integrations: Type.Array(anyObject),
    metadata: orNull(anyObject),
    trained_tokens: orNull(
      Type.Integer({ description: "Tokens on which the job trained; null until it ends." }),
    ),
    model_id: Type.String({ description: "Id of the trained model in Hone's API." }),
    training_job_id: nullable(Type.String(), {
      description: "Newest training job of this job in Hone's API; null if there is none.",
    }),
  },
  { title: "FineTuningJob" },
);

export type FineTuningJobBody = Static<typeof fineTuningJobSchema>;

const statusOfState = {
  queued: "queued",
  running: "running",
  succeeded: "succeeded",
  failed: "failed",
  cancelled: "cancelled",
} as const satisfies { readonly [State in JobState]: FineTuningJobBody["status"] };

/**
 * Returns the status of a job. A supervised or DPO job has the status of its training job.
 *
 * @param training the training job; null if there is none
 */
export function statusOf(
  { order, state }: FineTuningJob,
  training: TrainingJob | null,
): FineTuningJobBody["status"] {
  if (order.method === "reinforcement") return state;
  return training === null ? "failed" : statusOfState[training.state];
}

export function fineTuningJobBody(job: FineTuningJob, training: TrainingJob | null): FineTuningJobBody {
  const { order } = job;
  const status = statusOf(job, training);
  const isLoop = order.method === "reinforcement";
  const endedAt = isLoop ? job.endedAt : (training?.endedAt ?? null);
  const message = isLoop ? job.errorMessage : (training?.errorMessage ?? "The training job was deleted.");
  const estimate = status === "running" ? (training?.progress?.endsAt ?? null) : null;
  return {
    id: job.id,
    object: "fine_tuning.job",
    created_at: seconds(job.createdAt),
    finished_at: status === "succeeded" && endedAt !== null ? seconds(endedAt) : null,
    estimated_finish: isLoop || estimate === null ? null : seconds(estimate),
    status,
    error: status === "failed" ? { code: "training_failed", message: message ?? "", param: null } : null,
    model: order.model,
    fine_tuned_model: status === "succeeded" ? fineTunedName(job) : null,
    organization_id: job.entity,
    training_file: order.trainingFile,
    validation_file: order.validationFile,
    result_files: [],
    seed: order.seed,
    hyperparameters: { ...order.hyperparameters },
    method: methodBody(job),
    integrations: [],
    metadata: order.metadata === null ? null : { ...order.metadata },
    trained_tokens: tokensOf(job, training, status),
    model_id: job.modelId,
    training_job_id: job.trainingJobId ?? (job.progress?.steps.at(-1)?.trainingJobId || null),
  };
}

function methodBody({ order }: FineTuningJob): object {
  const { method, hyperparameters, grader, responseFormat } = order;
  const settings = {
    ...(grader === null ? {} : { grader }),
    ...(responseFormat === null ? {} : { response_format: responseFormat }),
    hyperparameters: { ...hyperparameters },
  };
  return { type: method, [method]: settings };
}

function tokensOf(job: FineTuningJob, training: TrainingJob | null, status: string): number | null {
  if (["queued", "running", "paused"].includes(status)) return null;
  const counts = training?.counts ?? null;
  if (job.order.method !== "reinforcement") return counts === null ? null : trainedTokens(counts);
  return (job.progress?.steps ?? []).reduce((sum, { metrics }) => sum + (metrics["trained_tokens"] ?? 0), 0);
}

export function seconds(at: Date): number {
  return Math.floor(at.getTime() / 1000);
}
