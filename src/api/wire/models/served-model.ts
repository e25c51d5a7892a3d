// What a chat request may name as its model, as OpenAI's clients list it.
import { Type } from "typebox";
import type { AdapterWish, ComputingPlace } from "../../../base/domain/model.ts";
import { answerOf } from "../fields/resource.ts";
import { adapterRows } from "./model.ts";
import { orNull } from "../nullable.ts";

/** A base model as lists of models show it; null for what is not known of one whose files could not be read. */
export interface ListedBase {
  readonly name: string;
  /** Tokens that prompt and answer may have together. */
  readonly contextLength: number | null;
  /** Token ids are below it. */
  readonly vocabularySize: number | null;
  /** As the engine's capabilities say. */
  readonly isExact: boolean | null;
  readonly device: ComputingPlace | null;
  /** How its answers are read, each with why. */
  readonly replies: {
    /** `off` where no calls are read. */
    readonly calls: { readonly format: string; readonly reason: string };
    readonly thoughts: { readonly areRead: boolean; readonly reason: string };
  } | null;
  /** Whether it is in memory; `reason` says why not, for people. */
  readonly presence: {
    readonly status: "loaded" | "loading" | "unloaded" | "failed";
    readonly reason: string;
  };
  /** What it takes while it is, at most. */
  readonly memoryBytes: number;
  /** Of that, what keys and values take, which grow with what runs. */
  readonly keyValueBytes: number;
  readonly files: {
    /** Of its weights, as they lie on the disk. */
    readonly weightBytes: number;
    /** As its card or its file names it; null where neither does. */
    readonly license: string | null;
  } | null;
}

/** A name that requests may give as their model. */
export interface ServedModel {
  readonly id: string;
  readonly createdAt: Date;
  readonly owner: string;
  readonly root: string;
  readonly parent: string | null;
  /** What new versions of it are to be like. */
  readonly adapter: AdapterWish;
  /** Null if this server does not have the base model. */
  readonly base: ListedBase | null;
}

export const servedModelAnswer = answerOf<ServedModel>()("ServedModel", {
  id: Type.String({ description: "What `model` takes." }),
  object: [Type.Enum(["model"]), () => "model" as const],
  created: [
    Type.Integer({ description: "Seconds since 1970." }),
    ({ createdAt }) => Math.floor(createdAt.getTime() / 1000),
  ],
  owned_by: [Type.String(), ({ owner }) => owner],
  root: Type.String({ description: "The model that a version is of; of all others the name itself." }),
  parent: orNull(Type.String(), { description: "The base model of a trained one." }),
  max_model_len: [
    orNull(Type.Integer({ minimum: 1 }), {
      description:
        "Tokens that prompt and answer may have together; null where the base model is not served.",
    }),
    ({ base }) => base?.contextLength ?? null,
  ],
  ...adapterRows,
  exact: [
    orNull(Type.Boolean(), {
      description:
        "Whether a seeded request has the same tokens and log-probabilities each time, to the last bit, whatever runs beside it; null where the base model is not served.",
    }),
    ({ base }) => base?.isExact ?? null,
  ],
  device: [
    orNull(
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
    ({ base }) => (base?.device ? { value: base.device.device, reason: base.device.reason } : null),
  ],
  tool_calls: [
    orNull(
      Type.Object({
        format: Type.String({ description: "In which calls are read out of answers; `off` where none are." }),
        reason: Type.String({ description: "Why, for people." }),
      }),
      { description: "Whether the model calls tools; null where the base model is not served." },
    ),
    ({ base }) => base?.replies?.calls ?? null,
  ],
  thoughts: [
    orNull(
      Type.Object({
        read: Type.Boolean({ description: "Whether they are told apart from the answer." }),
        reason: Type.String({ description: "Why, for people." }),
      }),
      { description: "What the model thinks before it answers; null where the base model is not served." },
    ),
    ({ base }) =>
      base?.replies ? { read: base.replies.thoughts.areRead, reason: base.replies.thoughts.reason } : null,
  ],
  status: [
    orNull(
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
    ({ base }) =>
      base && {
        value: base.presence.status,
        reason: base.presence.reason,
        memory_bytes: base.memoryBytes,
        key_value_bytes: base.keyValueBytes,
      },
  ],
  files: [
    orNull(
      Type.Object({
        weight_bytes: Type.Integer({ minimum: 0, description: "Of the weights, as they lie on the disk." }),
        license: orNull(Type.String(), {
          description: "As the model's card or its file names it; null where neither does.",
        }),
      }),
      { description: "What the base model's files are; null where it is not served." },
    ),
    ({ base }) =>
      base?.files ? { weight_bytes: base.files.weightBytes, license: base.files.license } : null,
  ],
});
export const servedModelListSchema = Type.Object({
  object: Type.Enum(["list"]),
  data: Type.Array(servedModelAnswer.schema),
});

export const baseModelsSchema = Type.Array(Type.String(), { description: "The default first." });
