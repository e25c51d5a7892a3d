// Models and checkpoints as the training interface spells them.
import { Type } from "typebox";
import type { WirePlaces } from "./places.ts";
import type { BodyForm } from "./body.ts";
import type { ModelVersion, TrainedModel } from "../domain/model.ts";
import { nullable } from "./nullable.ts";
import { pageQueryFields } from "./page.ts";

export const modelQuerySchema = Type.Object({
  ...pageQueryFields,
  entity: Type.Optional(Type.String()),
  project: Type.Optional(Type.String()),
  name: Type.Optional(Type.String()),
});

const modelCreateSchema = Type.Object(
  {
    entity: nullable(Type.String({ maxLength: 128 })),
    project: Type.String({ minLength: 1, maxLength: 128 }),
    name: Type.String({ minLength: 1, maxLength: 128 }),
    base_model: Type.String({ minLength: 1 }),
    return_existing: nullable(Type.Boolean()),
  },
  { title: "ModelCreate" },
);

export const modelCreateForm: BodyForm<typeof modelCreateSchema> = {
  schema: modelCreateSchema,
  fields: { entity: "read", project: "read", name: "read", base_model: "read", return_existing: "read" },
};

/** Where the fields of a domain registration stand in the body. */
export const registrationPlaces: WirePlaces = {
  entity: ["body", "entity"],
  project: ["body", "project"],
  name: ["body", "name"],
  baseModel: ["body", "base_model"],
  returnExisting: ["body", "return_existing"],
};

const checkpointDeleteSchema = Type.Object(
  { steps: Type.Array(Type.Integer({ minimum: 0 }), { maxItems: 100_000 }) },
  { title: "CheckpointDelete" },
);

export const checkpointDeleteForm: BodyForm<typeof checkpointDeleteSchema> = {
  schema: checkpointDeleteSchema,
  fields: { steps: "read" },
};

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
    has_optimizer_state: version.trainerState !== null,
  };
}
