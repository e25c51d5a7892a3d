// Models and checkpoints as the training interface spells them.
import { Type } from "typebox";
import type { ModelVersion, TrainedModel } from "../../domain/model.ts";

export const modelCreateSchema = Type.Object(
  {
    entity: Type.Optional(Type.Union([Type.String({ maxLength: 128 }), Type.Null()])),
    project: Type.String({ minLength: 1, maxLength: 128 }),
    name: Type.String({ minLength: 1, maxLength: 128 }),
    base_model: Type.String({ minLength: 1 }),
    return_existing: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
  },
  { title: "ModelCreate" },
);

export const checkpointDeleteSchema = Type.Object(
  { steps: Type.Array(Type.Integer({ minimum: 0 }), { maxItems: 100_000 }) },
  { title: "CheckpointDelete" },
);

export function modelBody(model: TrainedModel): object {
  return {
    id: model.id,
    entity: model.entity,
    project: model.project,
    name: model.name,
    base_model: model.baseModel,
    run_id: null,
    created_at: model.createdAt.toISOString(),
  };
}

export function checkpointBody(version: ModelVersion): object {
  return {
    id: version.id,
    step: version.step,
    metrics: version.metrics,
    created_at: version.createdAt.toISOString(),
    job_id: version.jobId,
  };
}

/** How chat requests name a trained model. */
export function modelName(model: TrainedModel): string {
  return `${model.entity}/${model.project}/${model.name}`;
}
