// Models and checkpoints as the training interface spells them.
import { Type } from "typebox";
import type { WirePlaces } from "../field-paths.ts";
import { answerOf, asked, creation, readBy } from "../fields/resource.ts";
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
  entity: Type.Optional(Type.String({ description: "Only this entity's." })),
  project: Type.Optional(Type.String({ description: "Only this project's." })),
  name: Type.Optional(Type.String({ description: "Only those of this name." })),
});

const returnFields = {
  returnExisting: flag({
    default: false,
    about:
      "Answers with the model of this name where there is one, without copying anything; otherwise that is a conflict.",
  }),
};

export const modelCreateForm = creation("ModelCreate", {
  entity: nullable(Type.String({ maxLength: 128 }), {
    description: "Whose it is.",
    "x-default": "the caller's own",
  }),
  project: Type.String({ minLength: 1, maxLength: 128, description: "Comes into being at first use." }),
  name: Type.String({ minLength: 1, maxLength: 128, description: "Unique in its project." }),
  base_model: Type.String({ minLength: 1, description: "The name of the base model that is trained." }),
  lora_rank: nullable(Type.Integer({ minimum: 1, maximum: 256 }), {
    description: "Rank of the model's adapters.",
    "x-default": "training.loraRank",
  }),
  lora_alpha: nullable(Type.Number({ minimum: 0.001, maximum: 65_536 }), {
    description: "What its adapters are scaled by, divided by their rank.",
    "x-default": "twice the rank",
  }),
  target_modules: readBy(
    nullable(Type.Array(Type.Enum(projectionNames), { minItems: 1, maxItems: 7 }), {
      description: "The projections that its adapters are on, in every layer, by PEFT's names.",
      "x-default": "all seven",
    }),
    orderedProjections,
    null,
  ),
  from: readBy(
    nullable(
      Type.Object({
        model: Type.String({
          minLength: 1,
          description: "Any name that a chat takes as its model, its id too; over the same base model.",
        }),
        step: nullable(Type.Integer({ minimum: 0 }), {
          description: "The version.",
          "x-default": "the one that the name says, or its newest",
        }),
      }),
      {
        description:
          "A version of another model to start from: it is copied, with the state of its optimizer where that is kept, and is version 1 of this one.",
      },
    ),
    ({ model, step = null }) => ({ model, step }),
    null,
  ),
  ...asked(returnFields),
});

/** Where a client sent what a registration asks of adapters. */
export const registrationPlaces: WirePlaces = {
  "adapter.rank": ["body", "lora_rank"],
  "adapter.alpha": ["body", "lora_alpha"],
  "adapter.targets": ["body", "target_modules"],
};

/** The file of a PEFT folder whose fields are found wrong: it came in the archive, which is the body. */
export const importPlaces: WirePlaces = { "adapter_config.json": ["body", "adapter_config.json"] };

export const checkpointDeleteForm = creation("CheckpointDelete", {
  steps: Type.Array(Type.Integer({ minimum: 0 }), {
    maxItems: 100_000,
    description:
      "The versions to delete. Step 0 counts as deleted and stays servable; the model's name stands for the newest that is left.",
  }),
});

type WithAdapter = { readonly adapter: AdapterWish };

/** What a model asks of its adapters. */
export const adapterRows = {
  lora_rank: [
    orNull(Type.Integer(), { description: "Rank of its new adapters; null leaves that to the server." }),
    ({ adapter }: WithAdapter) => adapter.rank,
  ],
  lora_alpha: [
    orNull(Type.Number(), {
      description: "What they are scaled by, divided by their rank; null leaves that to the server.",
    }),
    ({ adapter }: WithAdapter) => adapter.alpha,
  ],
  target_modules: [
    orNull(Type.Array(Type.Enum(projectionNames)), {
      description: "The projections that they are on; null stands for all seven.",
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
  step: Type.Integer({ minimum: 0, description: "Version, policy version and step are one number." }),
  metrics: Type.Object({}, { additionalProperties: Type.Number() }),
  created_at: Type.String({ format: "date-time" }),
  job_id: orNull(Type.String({ format: "uuid" }), {
    description: "The job that made it; null for step 0, and for what was imported.",
  }),
  has_optimizer_state: [
    Type.Boolean({ description: "Whether training goes on from where it was." }),
    ({ trainerState }) => trainerState !== null,
  ],
  pinned: [
    Type.Boolean({ description: "Whether it stays until it is unpinned." }),
    ({ isPinned }) => isPinned,
  ],
  base_hash: [
    orNull(Type.String(), {
      description:
        "SHA-256 of the base model's weights that it was trained over; over others it is refused with 409. `files:` stands before a hash of all files, of which it is known alone; null for step 0, and where nothing is known.",
    }),
    ({ base }) => base,
  ],
  adapter_hash: orNull(Type.String(), {
    description:
      "SHA-256 over the adapter's two files, which is compared whenever they are loaded or exported; null for step 0, and until it is recorded.",
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
    Type.Array(Type.Integer(), { description: "They stay until they are unpinned." }),
    ({ pinned }) => pinned,
  ],
  in_use_steps: [
    Type.Array(Type.Integer(), {
      description: "They stay while a training job starts from them; delete them when it has ended.",
    }),
    ({ inUse }) => inUse,
  ],
});

export const acceptedBaseSchema = Type.Object({
  model_id: Type.String({ format: "uuid" }),
  base_model: Type.String(),
  base_hash: Type.String({ description: "SHA-256 of its weights now." }),
  accepted_steps: Type.Array(Type.Integer(), { description: "The versions that were trained over others." }),
});
