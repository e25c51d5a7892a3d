// API format of a fine-tuning job's checkpoints, which are versions of the trained model.
import { Type, type Static } from "typebox";
import { fineTunedCheckpoint } from "../../../base/domain/fine-tuning/fine-tuned-name.ts";
import type { FineTuningJob } from "../../../base/domain/fine-tuning/fine-tuning-job.ts";
import type { ModelVersion } from "../../../base/domain/model.ts";
import { lossesOf } from "./events.ts";
import { seconds } from "./job.ts";

export const checkpointSchema = Type.Object(
  {
    id: Type.String(),
    object: Type.Enum(["fine_tuning.job.checkpoint"]),
    created_at: Type.Integer({ description: "Unix time in seconds." }),
    fine_tuned_model_checkpoint: Type.String({ description: "Name of the version for requests." }),
    fine_tuning_job_id: Type.String(),
    metrics: Type.Object(
      { step: Type.Number() },
      { additionalProperties: true, description: "Metrics of the version." },
    ),
    step_number: Type.Integer({ description: "Number of steps after which the version was made." }),
  },
  { title: "FineTuningJobCheckpoint" },
);

/** @param stepNumber number of steps that the job had taken when the version was made */
export function checkpointBody(
  job: FineTuningJob,
  { id, step, createdAt, metrics }: ModelVersion,
  stepNumber: number,
): Static<typeof checkpointSchema> {
  return {
    id: `ftckpt_${id}`,
    object: "fine_tuning.job.checkpoint",
    created_at: seconds(createdAt),
    fine_tuned_model_checkpoint: fineTunedCheckpoint(job, step),
    fine_tuning_job_id: job.id,
    metrics: {
      ...metrics,
      step: stepNumber,
      ...lossesOf({ train: metrics["loss/train"], held: metrics["loss/valid"] }),
    },
    step_number: stepNumber,
  };
}
