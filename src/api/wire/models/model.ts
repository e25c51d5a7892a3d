// Models and checkpoints in the training API.
import { Type } from "typebox";
import type { FieldPaths } from "../field-paths.ts";
import { answerOf, creationRows, creation, readBy } from "../fields/resource.ts";
import {
  type AdapterWish,
  type ModelVersion,
  orderedProjections,
  projectionNames,
  type TrainedModel,
  type VersionDeletion,
} from "../../../base/domain/model.ts";
import { flag } from "../../../base/domain/resources/fields.ts";
import { nullable, orNull } from "../nullable.ts";
import { pageQueryFields } from "../page.ts";

export const modelQuerySchema = Type.Object({
  ...pageQueryFields,
  entity: Type.Optional(Type.String({ description: "Only models of this entity." })),
  project: Type.Optional(Type.String({ description: "Only models of this project." })),
  name: Type.Optional(Type.String({ description: "Only models with this name." })),
});

const returnFields = {
  returnExisting: flag({
    default: false,
    about:
      "If true and a model of this name exists, returns that model and copies nothing. If false, an existing name is a conflict.",
  }),
};

export const modelCreateForm = creation("ModelCreate", {
  entity: nullable(Type.String({ maxLength: 128 }), {
    description: "Entity of the model.",
    "x-default": "the caller's own",
  }),
  project: Type.String({
    minLength: 1,
    maxLength: 128,
    description: "Project of the model; created at first use.",
  }),
  name: Type.String({ minLength: 1, maxLength: 128, description: "Unique in its project." }),
  base_model: Type.String({ minLength: 1, description: "Name of the base model to train." }),
  lora_rank: nullable(Type.Integer({ minimum: 1, maximum: 256 }), {
    description: "Rank of the model's adapters.",
    "x-default": "training.loraRank",
  }),
  lora_alpha: nullable(Type.Number({ minimum: 0.001, maximum: 65_536 }), {
    description: "Scale of the adapters; divided by their rank.",
    "x-default": "twice the rank",
  }),
  target_modules: readBy(
    nullable(Type.Array(Type.Enum(projectionNames), { minItems: 1, maxItems: projectionNames.length }), {
      description: "Projections with adapters, in every layer, by PEFT's names.",
      "x-default": "all",
    }),
    orderedProjections,
    null,
  ),
  from: readBy(
    nullable(
      Type.Object({
        model: Type.String({
          minLength: 1,
          description: "Name or id of the model, as in a chat request; it must have the same base model.",
        }),
        step: nullable(Type.Integer({ minimum: 0 }), {
          description: "Version of that model.",
          "x-default": "the version in the name, or the newest",
        }),
      }),
      {
        description:
          "Version of another model to start from. It is copied as version 1 of this model, with its optimizer state if that is stored.",
      },
    ),
    ({ model, step = null }) => ({ model, step }),
    null,
  ),
  ...creationRows(returnFields),
});

/** Paths in the body of a registration's adapter settings. */
export const registrationPaths: FieldPaths = {
  "adapter.rank": ["body", "lora_rank"],
  "adapter.alpha": ["body", "lora_alpha"],
  "adapter.targets": ["body", "target_modules"],
};

/**
 * For faults in this file of a PEFT folder. The body is an archive of that folder, so the path is that in the archive.
 */
export const importPaths: FieldPaths = { "adapter_config.json": ["body", "adapter_config.json"] };

export const checkpointDeleteForm = creation("CheckpointDelete", {
  steps: Type.Array(Type.Integer({ minimum: 0 }), {
    maxItems: 100_000,
    description:
      "Versions to delete. Step 0 counts as deleted and can still be served; the model's name then stands for the newest remaining version.",
  }),
});

type WithAdapter = { readonly adapter: AdapterWish };

/** Adapter settings of a model. */
export const adapterRows = {
  lora_rank: [
    orNull(Type.Integer(), { description: "Rank of new adapters; null lets the server choose." }),
    ({ adapter }: WithAdapter) => adapter.rank,
  ],
  lora_alpha: [
    orNull(Type.Number(), {
      description: "Scale of the adapters, divided by their rank; null lets the server choose.",
    }),
    ({ adapter }: WithAdapter) => adapter.alpha,
  ],
  target_modules: [
    orNull(Type.Array(Type.Enum(projectionNames)), {
      description: "Projections with adapters; null means all.",
    }),
    ({ adapter }: WithAdapter) => adapter.targets,
  ],
} as const;

export const modelAnswer = answerOf<TrainedModel>()("Model", {
  id: Type.String({ format: "uuid" }),
  entity: Type.String(),
  project: Type.String(),
  name: Type.String(),
  base_model: Type.String(),
  ...adapterRows,
  run_id: [Type.Null(), () => null],
  created_at: Type.String({ format: "date-time" }),
});

export const modelDeletionSchema = Type.Object({
  model_id: Type.String({ format: "uuid" }),
  deleted_checkpoints: Type.Integer({ minimum: 0 }),
  deleted_run: Type.Boolean(),
});

export const checkpointAnswer = answerOf<ModelVersion>()("Checkpoint", {
  id: Type.String(),
  step: Type.Integer({
    minimum: 0,
    description: "Number of the version; version, policy version and step are the same number.",
  }),
  metrics: Type.Object({}, { additionalProperties: Type.Number() }),
  created_at: Type.String({ format: "date-time" }),
  job_id: orNull(Type.String({ format: "uuid" }), {
    description: "Job that made the version; null for step 0 and for imported versions.",
  }),
  has_optimizer_state: [
    Type.Boolean({
      description: "True if the optimizer state is stored, so that training can continue from it.",
    }),
    ({ trainerState }) => trainerState !== null,
  ],
  pinned: [
    Type.Boolean({ description: "True if the version is kept until it is unpinned." }),
    ({ isPinned }) => isPinned,
  ],
  base_hash: [
    orNull(Type.String(), {
      description:
        "SHA-256 of the base model's weights at training; over other weights the version is refused with 409. The prefix `files:` marks a hash of all files, when no other hash is known. Null for step 0, and if no hash is known.",
    }),
    ({ base }) => base,
  ],
  adapter_hash: orNull(Type.String(), {
    description:
      "SHA-256 over the adapter's two files, verified at each load or export; null for step 0, and until it is recorded.",
  }),
});

export const checkpointExportQuerySchema = Type.Object({
  format: Type.Enum(["peft", "merged"], {
    description:
      "`peft`: adapter_config.json and adapter_model.safetensors. `merged`: the base model's folder with the adapter in its weights.",
  }),
});

export const checkpointDeletionAnswer = answerOf<VersionDeletion>()(null, {
  deleted_count: [Type.Integer({ minimum: 0 }), ({ deleted }) => deleted.length],
  not_found_steps: [Type.Array(Type.Integer()), ({ notFound }) => notFound],
  pinned_steps: [
    Type.Array(Type.Integer(), { description: "Versions kept because they are pinned." }),
    ({ pinned }) => pinned,
  ],
  in_use_steps: [
    Type.Array(Type.Integer(), {
      description: "Versions kept because a training job starts from them; delete them when it has ended.",
    }),
    ({ inUse }) => inUse,
  ],
});

export const acceptedBaseSchema = Type.Object({
  model_id: Type.String({ format: "uuid" }),
  base_model: Type.String(),
  base_hash: Type.String({ description: "SHA-256 of the current weights." }),
  accepted_steps: Type.Array(Type.Integer(), {
    description: "The versions that were trained over other weights.",
  }),
});
