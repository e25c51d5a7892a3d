// API format of trained models and their checkpoints.
import { Type } from "typebox";
import type { ValueOf } from "../body.ts";
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
import type { ChosenType } from "../../../lib/model-files/gguf/writing/written-types.ts";
import { nullable, orNull } from "../nullable.ts";
import { pageQueryFields } from "../page.ts";

export const modelQuerySchema = Type.Object({
  ...pageQueryFields,
  entity: Type.Optional(Type.String({ description: "Only models of this entity." })),
  project: Type.Optional(Type.String({ description: "Only models of this project." })),
  name: Type.Optional(Type.String({ description: "Only models with this name." })),
  search: Type.Optional(
    Type.String({
      maxLength: 400,
      description:
        "Only models whose full name, `entity/project/name`, contains this text. The letters A to Z match in either case.",
    }),
  ),
  learning: Type.Optional(
    Type.Enum(["on"], { description: "With `on`, only models that learn while they are used." }),
  ),
});

const returnFields = {
  returnExisting: flag({
    default: false,
    about:
      "Answer if the project already has a model with this name: true returns that model unchanged, false refuses the request with 409.",
  }),
};

export const modelCreateForm = creation("ModelCreate", {
  entity: nullable(Type.String({ maxLength: 128 }), {
    description: "Entity that owns the model.",
    "x-default": "the entity of the key",
  }),
  project: Type.String({
    minLength: 1,
    maxLength: 128,
    description: "Project of the model; created at first use.",
  }),
  name: Type.String({
    minLength: 1,
    maxLength: 128,
    description: "Name of the model; unique in its project.",
  }),
  base_model: Type.String({ minLength: 1, description: "Name of the base model to train." }),
  lora_rank: nullable(Type.Integer({ minimum: 1, maximum: 256 }), {
    description: "LoRA rank of the model's adapters.",
    "x-default": "the server setting training.loraRank",
  }),
  lora_alpha: nullable(Type.Number({ minimum: 0.001, maximum: 65_536 }), {
    description: "LoRA alpha: adapters are scaled by alpha divided by the rank.",
    "x-default": "twice the rank",
  }),
  target_modules: readBy(
    nullable(Type.Array(Type.Enum(projectionNames), { minItems: 1, maxItems: projectionNames.length }), {
      description: "Projections that get adapters in each layer, by their names in PEFT.",
      "x-default": "all that the model has",
    }),
    orderedProjections,
    null,
  ),
  from: readBy(
    nullable(
      Type.Object({
        model: Type.String({
          minLength: 1,
          description:
            "Name or id of the model to start from, in any form that a chat request accepts. It must have the same base model as the new model.",
        }),
        step: nullable(Type.Integer({ minimum: 0 }), {
          description: "Number (step) of the version to start from.",
          "x-default": "the version that `model` names, otherwise the newest version",
        }),
      }),
      {
        description:
          "Version of another model to start from. The server copies it as version 1 of the new model, with its optimizer state if that is stored. Null: the model starts as its base model.",
      },
    ),
    ({ model, step = null }) => ({ model, step }),
    null,
  ),
  ...creationRows(returnFields),
});

/** Locations of the adapter settings in the request that registers a model. */
export const registrationPaths: FieldPaths = {
  "adapter.rank": ["body", "lora_rank"],
  "adapter.alpha": ["body", "lora_alpha"],
  "adapter.targets": ["body", "target_modules"],
};

/**
 * Faults in the file `adapter_config.json` of an imported PEFT folder have this path. The body is an archive of the
 * folder, so this is the file's path in the archive.
 */
export const importPaths: FieldPaths = { "adapter_config.json": ["body", "adapter_config.json"] };

export const checkpointDeleteForm = creation("CheckpointDelete", {
  steps: Type.Array(Type.Integer({ minimum: 0 }), {
    maxItems: 100_000,
    description:
      "Numbers (steps) of the versions to delete. Afterwards, the model's name stands for the newest remaining version. If the list contains 0 (the base model), the answer counts it as deleted, but the server still serves it.",
  }),
});

type WithAdapter = { readonly adapter: AdapterWish };

/** Rows that describe a model's adapter settings in an answer. */
export const adapterRows = {
  lora_rank: [
    orNull(Type.Integer(), { description: "LoRA rank of new adapters; null if it is the server's default." }),
    ({ adapter }: WithAdapter) => adapter.rank,
  ],
  lora_alpha: [
    orNull(Type.Number(), {
      description:
        "LoRA alpha of new adapters, which are scaled by alpha divided by the rank; null if alpha is twice the rank.",
    }),
    ({ adapter }: WithAdapter) => adapter.alpha,
  ],
  target_modules: [
    orNull(Type.Array(Type.Enum(projectionNames)), {
      description: "Projections that get adapters; null if all projections of the model do.",
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
  run_id: [Type.Null({ description: "Always null; some clients expect the field." }), () => null],
  created_at: Type.String({ format: "date-time" }),
});

export const modelDeletionSchema = Type.Object({
  model_id: Type.String({ format: "uuid" }),
  deleted_checkpoints: Type.Integer({ minimum: 0, description: "Number of versions deleted." }),
  deleted_run: Type.Boolean({ description: "Always false; some clients expect the field." }),
});

export const checkpointAnswer = answerOf<ModelVersion>()("Checkpoint", {
  id: Type.String(),
  step: Type.Integer({
    minimum: 0,
    description:
      "Number of the version; version 0 is the base model. Other fields call this number `step`, `version` or `policy_version`.",
  }),
  metrics: Type.Object(
    {},
    {
      additionalProperties: Type.Number(),
      description: "Metrics of the version's training and logs, by name.",
    },
  ),
  created_at: Type.String({ format: "date-time" }),
  job_id: orNull(Type.String({ format: "uuid" }), {
    description: "Id of the training job that made the version; null for step 0 and for imported versions.",
  }),
  has_optimizer_state: [
    Type.Boolean({
      description: "True if the optimizer state is stored, so that the next job continues from it.",
    }),
    ({ trainerState }) => trainerState !== null,
  ],
  pinned: [
    Type.Boolean({
      description: "True if the version is pinned, which protects it from automatic deletion.",
    }),
    ({ isPinned }) => isPinned,
  ],
  base_hash: [
    orNull(Type.String(), {
      description:
        "SHA-256 of the base model's weights that the version was trained on. If the base model now has other weights, requests for the version get 409. A hash with the prefix `files:` covers all files of the base model. Null for step 0, and if the hash is unknown.",
    }),
    ({ base }) => base,
  ],
  adapter_hash: orNull(Type.String(), {
    description:
      "SHA-256 of the adapter's two files, which the server verifies whenever it loads or exports the version. Null for step 0, and until the server has recorded it.",
  }),
  held: [
    orNull(
      Type.Object({ state: Type.Enum(["candidate", "refused", "rolled_back"]), reason: Type.String() }),
      {
        description:
          "For a version that a learning cycle made, but for which the model's name does not stand: its state, and the reason. Only requests that name the version itself get it. Null for other versions.",
      },
    ),
    ({ held }) => held ?? null,
  ],
});

export const checkpointExportQuerySchema = Type.Object({
  format: Type.Enum(["peft", "merged", "gguf", "gguf-adapter"], {
    description:
      "With `peft`, the adapter as a PEFT folder, with adapter_config.json and adapter_model.safetensors. With `merged`, a whole model: the base model's folder with the adapter merged into its weights. With `gguf`, a whole model as model.gguf for llama.cpp, and a Modelfile for Ollama. With `gguf-adapter`, the adapter as adapter.gguf, and a Modelfile.",
  }),
  quantize: Type.Optional(
    Type.Enum(["f32", "f16", "bf16", "q8_0", "q4_0"], {
      description:
        "Number type of the matrices in model.gguf, only with the format `gguf`. Default: the base model's types; quantized weights that the adapter changes become `f16`.",
    }),
  ),
});

type WrittenQuantization = NonNullable<ValueOf<typeof checkpointExportQuerySchema>["quantize"]>;

/** Number types by their names in requests. */
export const quantizations: Readonly<Record<WrittenQuantization, ChosenType>> = {
  f32: "F32",
  f16: "F16",
  bf16: "BF16",
  q8_0: "Q8_0",
  q4_0: "Q4_0",
};

export const checkpointDeletionAnswer = answerOf<VersionDeletion>()(null, {
  deleted_count: [
    Type.Integer({ minimum: 0, description: "Number of versions deleted." }),
    ({ deleted }) => deleted.length,
  ],
  not_found_steps: [
    Type.Array(Type.Integer(), { description: "Requested numbers (steps) that no version has." }),
    ({ notFound }) => notFound,
  ],
  pinned_steps: [
    Type.Array(Type.Integer(), {
      description: "Numbers (steps) of versions that were kept because they are pinned.",
    }),
    ({ pinned }) => pinned,
  ],
  in_use_steps: [
    Type.Array(Type.Integer(), {
      description:
        "Numbers (steps) of versions that were kept because a training job starts from them, or a learning cycle or an open rollout uses them. Delete these versions when the job, the cycle or the rollout has ended.",
    }),
    ({ inUse }) => inUse,
  ],
});

export const acceptedBaseSchema = Type.Object({
  model_id: Type.String({ format: "uuid" }),
  base_model: Type.String(),
  base_hash: Type.String({ description: "SHA-256 of the base model's current weights." }),
  accepted_steps: Type.Array(Type.Integer(), {
    description: "Steps of the versions that were trained on other weights, and are now accepted.",
  }),
});
