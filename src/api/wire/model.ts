// Models and checkpoints as the training interface spells them.
import { Type } from "typebox";
import type { WirePlaces } from "./places.ts";
import type { BodyForm } from "./body.ts";
import {
  type AdapterWish,
  type ComputingPlace,
  type ModelVersion,
  projectionNames,
  type TrainedModel,
  type VersionDeletion,
} from "../../base/domain/model.ts";
import { nullable, orNull } from "./nullable.ts";
import { pageQueryFields, pageSchema } from "./page.ts";

export const modelQuerySchema = Type.Object({
  ...pageQueryFields,
  entity: Type.Optional(Type.String({ description: "Only this entity's." })),
  project: Type.Optional(Type.String({ description: "Only this project's." })),
  name: Type.Optional(Type.String({ description: "Only those of this name." })),
});

const modelCreateSchema = Type.Object(
  {
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
    target_modules: nullable(Type.Array(Type.Enum(projectionNames), { minItems: 1, maxItems: 7 }), {
      description: "The projections that its adapters are on, in every layer, by PEFT's names.",
      "x-default": "all seven",
    }),
    from: nullable(
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
    return_existing: nullable(Type.Boolean(), {
      default: false,
      description:
        "Answers with the model of this name where there is one, without copying anything; otherwise that is a conflict.",
    }),
  },
  { title: "ModelCreate" },
);

export const modelCreateForm: BodyForm<typeof modelCreateSchema> = {
  schema: modelCreateSchema,
};

/** Where the fields of a domain registration stand in the body. */
export const registrationPlaces: WirePlaces = {
  entity: ["body", "entity"],
  project: ["body", "project"],
  name: ["body", "name"],
  baseModel: ["body", "base_model"],
  "adapter.rank": ["body", "lora_rank"],
  "adapter.alpha": ["body", "lora_alpha"],
  "adapter.targets": ["body", "target_modules"],
  from: ["body", "from"],
  "from.model": ["body", "from", "model"],
  "from.step": ["body", "from", "step"],
  returnExisting: ["body", "return_existing"],
};

/** The file of a PEFT folder whose fields are found wrong: it came in the archive, which is the body. */
export const importPlaces: WirePlaces = { "adapter_config.json": ["body", "adapter_config.json"] };

const checkpointDeleteSchema = Type.Object(
  {
    steps: Type.Array(Type.Integer({ minimum: 0 }), {
      maxItems: 100_000,
      description:
        "The versions to delete. Step 0 counts as deleted and stays servable; the model's name stands for the newest that is left.",
    }),
  },
  { title: "CheckpointDelete" },
);

export const checkpointDeleteForm: BodyForm<typeof checkpointDeleteSchema> = {
  schema: checkpointDeleteSchema,
};

const adapterWishFields = {
  lora_rank: orNull(Type.Integer(), {
    description: "Rank of its new adapters; null leaves that to the server.",
  }),
  lora_alpha: orNull(Type.Number(), {
    description: "What they are scaled by, divided by their rank; null leaves that to the server.",
  }),
  target_modules: orNull(Type.Array(Type.Enum(projectionNames)), {
    description: "The projections that they are on; null stands for all seven.",
  }),
};

/** What a model asks of its adapters. */
export function adapterWishBody({ rank, alpha, targets }: AdapterWish): object {
  return { lora_rank: rank, lora_alpha: alpha, target_modules: targets };
}

export const modelSchema = Type.Object(
  {
    id: Type.String({ format: "uuid" }),
    entity: Type.String(),
    project: Type.String(),
    name: Type.String(),
    base_model: Type.String(),
    ...adapterWishFields,
    run_id: Type.Null(),
    created_at: Type.String({ format: "date-time" }),
  },
  { title: "Model" },
);
export const modelPageSchema = pageSchema(modelSchema);

export const modelDeletionSchema = Type.Object({
  model_id: Type.String({ format: "uuid" }),
  deleted_checkpoints: Type.Integer({ minimum: 0 }),
  deleted_run: Type.Boolean(),
});

export function modelBody(model: TrainedModel): object {
  return {
    id: model.id,
    entity: model.entity,
    project: model.project,
    name: model.name,
    base_model: model.baseModel,
    ...adapterWishBody(model.adapter),
    run_id: null,
    created_at: model.createdAt.toISOString(),
  };
}

export const checkpointSchema = Type.Object(
  {
    id: Type.String(),
    step: Type.Integer({ minimum: 0, description: "Version, policy version and step are one number." }),
    metrics: Type.Object({}, { additionalProperties: Type.Number() }),
    created_at: Type.String({ format: "date-time" }),
    job_id: orNull(Type.String({ format: "uuid" }), {
      description: "The job that made it; null for step 0, and for what was imported.",
    }),
    has_optimizer_state: Type.Boolean({ description: "Whether training goes on from where it was." }),
    pinned: Type.Boolean({ description: "Whether it stays until it is unpinned." }),
    base_hash: orNull(Type.String(), {
      description:
        "SHA-256 of the base model's weights that it was trained over; over others it is refused with 409. `files:` stands before a hash of all files, of which it is known alone; null for step 0, and where nothing is known.",
    }),
    adapter_hash: orNull(Type.String(), {
      description:
        "SHA-256 over the adapter's two files, which is compared whenever they are loaded or exported; null for step 0, and until it is recorded.",
    }),
  },
  { title: "Checkpoint" },
);
export const checkpointPageSchema = pageSchema(checkpointSchema);

export const checkpointExportQuerySchema = Type.Object({
  format: Type.Enum(["peft", "merged"], {
    description:
      "`peft`: adapter_config.json and adapter_model.safetensors. `merged`: the base model's folder with the adapter in its weights.",
  }),
});

export const checkpointDeletionSchema = Type.Object({
  deleted_count: Type.Integer({ minimum: 0 }),
  not_found_steps: Type.Array(Type.Integer()),
  pinned_steps: Type.Array(Type.Integer(), { description: "They stay until they are unpinned." }),
  in_use_steps: Type.Array(Type.Integer(), {
    description: "They stay while a training job starts from them; delete them when it has ended.",
  }),
});

export function checkpointDeletionBody({ deleted, notFound, pinned, inUse }: VersionDeletion): object {
  return {
    deleted_count: deleted.length,
    not_found_steps: notFound,
    pinned_steps: pinned,
    in_use_steps: inUse,
  };
}

export const acceptedBaseSchema = Type.Object({
  model_id: Type.String({ format: "uuid" }),
  base_model: Type.String(),
  base_hash: Type.String({ description: "SHA-256 of its weights now." }),
  accepted_steps: Type.Array(Type.Integer(), { description: "The versions that were trained over others." }),
});

export function checkpointBody(version: ModelVersion): object {
  return {
    id: version.id,
    step: version.step,
    metrics: version.metrics,
    created_at: version.createdAt.toISOString(),
    job_id: version.jobId,
    has_optimizer_state: version.trainerState !== null,
    pinned: version.isPinned,
    base_hash: version.base,
    adapter_hash: version.adapterHash,
  };
}

/** What a chat request may name as its model, as OpenAI's clients list it. */
export const servedModelSchema = Type.Object(
  {
    id: Type.String({ description: "What `model` takes." }),
    object: Type.Enum(["model"]),
    created: Type.Integer({ description: "Seconds since 1970." }),
    owned_by: Type.String(),
    root: Type.String({ description: "The model that a version is of; of all others the name itself." }),
    parent: orNull(Type.String(), { description: "The base model of a trained one." }),
    max_model_len: orNull(Type.Integer({ minimum: 1 }), {
      description:
        "Tokens that prompt and answer may have together; null where the base model is not served.",
    }),
    ...adapterWishFields,
    exact: orNull(Type.Boolean(), {
      description:
        "Whether a seeded request has the same tokens and log-probabilities each time, to the last bit, whatever runs beside it; null where the base model is not served.",
    }),
    device: orNull(
      Type.Object({
        value: Type.Enum(["cpu", "webgpu", "vllm"]),
        reason: Type.String({
          description: "Why it is not the one that was asked for, for people; empty when it is.",
        }),
      }),
      {
        description:
          "What computes the base model's tokens: this machine's processor or graphics processor, or vLLM servers; null where it is not served.",
      },
    ),
    tool_calls: orNull(
      Type.Object({
        format: Type.String({ description: "In which calls are read out of answers; `off` where none are." }),
        reason: Type.String({ description: "Why, for people." }),
      }),
      { description: "Whether the model calls tools; null where the base model is not served." },
    ),
    thoughts: orNull(
      Type.Object({
        read: Type.Boolean({ description: "Whether they are told apart from the answer." }),
        reason: Type.String({ description: "Why, for people." }),
      }),
      { description: "What the model thinks before it answers; null where the base model is not served." },
    ),
    status: orNull(
      Type.Object({
        value: Type.Enum(["loaded", "loading", "unloaded", "failed"]),
        reason: Type.String({ description: "Why it is not loaded, for people; empty when it is." }),
        memory_bytes: Type.Integer({
          minimum: 0,
          description:
            "What the base model takes while it is loaded, its running requests included, at most.",
        }),
        key_value_bytes: Type.Integer({
          minimum: 0,
          description:
            "Of `memory_bytes`, the most that keys and values of requests may take. They begin with nothing and grow with what runs; small models never need so much.",
        }),
      }),
      {
        description:
          "Whether the base model is in memory. An unloaded one is loaded for its next request; requests for a failed one are answered 503 with the reason. Null if this server does not have the model.",
      },
    ),
    files: orNull(
      Type.Object({
        weight_bytes: Type.Integer({ minimum: 0, description: "Of the weights, as they lie on the disk." }),
        license: orNull(Type.String(), {
          description: "As the model's card or its file names it; null where neither does.",
        }),
      }),
      { description: "What the base model's files are; null where it is not served." },
    ),
  },
  { title: "ServedModel" },
);
export const servedModelListSchema = Type.Object({
  object: Type.Enum(["list"]),
  data: Type.Array(servedModelSchema),
});

export function servedDeviceBody({ device, reason }: ComputingPlace): object {
  return { value: device, reason };
}

/** @param replies null where the base model is not served */
export function servedRepliesBody(
  replies: {
    readonly calls: { readonly format: string; readonly reason: string };
    readonly thoughts: { readonly areRead: boolean; readonly reason: string };
  } | null,
): object {
  if (replies === null) return { tool_calls: null, thoughts: null };
  const { areRead, reason } = replies.thoughts;
  return { tool_calls: replies.calls, thoughts: { read: areRead, reason } };
}

/** @param base null where it is not served */
export function servedStatusBody(
  base: {
    readonly presence: { readonly status: string; readonly reason: string };
    readonly memoryBytes: number;
    readonly keyValueBytes: number;
    readonly files: { readonly weightBytes: number; readonly license: string | null } | null;
  } | null,
): object {
  if (base === null) return { status: null, files: null };
  const { presence, memoryBytes, keyValueBytes, files } = base;
  return {
    status: {
      value: presence.status,
      reason: presence.reason,
      memory_bytes: memoryBytes,
      key_value_bytes: keyValueBytes,
    },
    files: files && { weight_bytes: files.weightBytes, license: files.license },
  };
}

export const baseModelsSchema = Type.Array(Type.String(), { description: "The default first." });
