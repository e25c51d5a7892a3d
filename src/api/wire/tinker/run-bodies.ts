// Answers of the Tinker API's routes about training runs and saved weights (checkpoints).
import { Type, type Static } from "typebox";
import type { TrainedModel } from "../../../base/domain/model.ts";
import { pathOf, type RunKey, runIdOf } from "../../../train/sessions/run-names.ts";
import type { SavedVersion } from "../../../train/sessions/saved-weights.ts";
import type { BodyForm } from "../body.ts";
import { anyObject } from "../fields/any-object.ts";
import { orNull } from "../nullable.ts";
import { cursorOf, pageQuery } from "./page-bodies.ts";
import { lifeField } from "./save-bodies.ts";

const time = Type.String({ format: "date-time", description: "Time, in UTC." });

const checkpointSchema = Type.Object({
  checkpoint_id: Type.String({ description: "Id within the run, such as `weights/<name>`." }),
  checkpoint_type: Type.Enum(["training", "sampler", "external"], { description: "Kind of the weights." }),
  time,
  tinker_path: Type.String({ description: "Path of the weights." }),
  public: Type.Boolean({ description: "Always false." }),
  user_metadata: orNull(anyObject, { description: "Texts that were stored with the weights." }),
  expires_at: orNull(time, { description: "Time from which the weights are deleted; null for never." }),
});
export const checkpointsSchema = Type.Object({
  checkpoints: Type.Array(checkpointSchema, { description: "Saved weights, the oldest first." }),
});
export const savedPageSchema = Type.Object({
  checkpoints: Type.Array(checkpointSchema, { description: "Saved weights, the newest first." }),
  cursor: cursorOf("saved weights"),
});
export const savedQuerySchema = pageQuery("saved weights", { usual: 100, most: 1000 });
export const externalUrlsSchema = Type.Object({
  urls: Type.Object(
    {},
    { additionalProperties: Type.String(), description: "Link to each file, by the file's name." },
  ),
  expires: Type.String({ format: "date-time", description: "Time at which the links stop working, in UTC." }),
});

const runSchema = Type.Object({
  training_run_id: Type.String({ description: "Id of the run." }),
  base_model: Type.String({ description: "Name of the base model." }),
  model_owner: Type.String({ description: "Entity that owns the model." }),
  is_lora: Type.Boolean(),
  lora_rank: orNull(Type.Integer(), { description: "Rank of the adapter." }),
  last_request_time: time,
  last_checkpoint: orNull(checkpointSchema, { description: "Newest weights for training." }),
  last_sampler_checkpoint: orNull(checkpointSchema, { description: "Newest weights for sampling." }),
});
export const runAnswerSchema = runSchema;
export const runsSchema = Type.Object({
  training_runs: Type.Array(runSchema, { description: "Runs, the newest first." }),
  cursor: cursorOf("runs"),
});
export const runsQuerySchema = pageQuery("runs", { usual: 20, most: 100 });

const expirySchema = Type.Object({ ttl_seconds: lifeField }, { title: "TinkerCheckpointTtl" });
export const expiryForm: BodyForm<typeof expirySchema> = { schema: expirySchema };

export function checkpointBody(
  run: RunKey,
  { saved, createdAt }: SavedVersion,
): Static<typeof checkpointSchema> {
  return {
    checkpoint_id: saved.id,
    checkpoint_type: typeOf(saved.id),
    time: createdAt.toISOString(),
    tinker_path: pathOf(run, saved.id),
    public: false,
    user_metadata: saved.metadata,
    expires_at: saved.expiresAt?.toISOString() ?? null,
  };
}

function typeOf(savedId: string): Static<typeof checkpointSchema>["checkpoint_type"] {
  if (savedId.startsWith("weights/")) return "training";
  return savedId.startsWith("sampler_weights/") ? "sampler" : "external";
}

export function runBody(
  run: RunKey,
  { baseModel, entity, adapter, createdAt }: TrainedModel,
  saved: readonly SavedVersion[],
): Static<typeof runSchema> {
  const newest = (kind: string) => saved.findLast(({ saved: { id } }) => id.startsWith(`${kind}/`));
  const body = (version: SavedVersion | undefined) =>
    version === undefined ? null : checkpointBody(run, version);
  return {
    training_run_id: runIdOf(run),
    base_model: baseModel,
    model_owner: entity,
    is_lora: true,
    lora_rank: adapter.rank,
    last_request_time: (saved.at(-1)?.createdAt ?? createdAt).toISOString(),
    last_checkpoint: body(newest("weights")),
    last_sampler_checkpoint: body(newest("sampler_weights")),
  };
}
