// Names that a chat request accepts as its model, listed as in OpenAI's API.
import { Type } from "typebox";
import type { AdapterWish, ComputingPlace } from "../../../base/domain/model.ts";
import { answerOf } from "../fields/resource.ts";
import { adapterRows } from "./model.ts";
import { orNull } from "../nullable.ts";

/** A base model in a list of models. A value is null if it is unknown because the model's files could not be read. */
export interface ListedBase {
  readonly name: string;
  /** Maximum number of tokens in prompt and answer together. */
  readonly contextLength: number | null;
  /** Number of token ids; all ids are less than this. */
  readonly vocabularySize: number | null;
  /** True if a request always gets the same tokens, regardless of concurrent requests. */
  readonly isExact: boolean | null;
  readonly device: ComputingPlace | null;
  /** How tool calls and thoughts are recognized in answers, each with the reason. */
  readonly replies: {
    /** Format of tool calls; `off` if they are not recognized. */
    readonly calls: { readonly format: string; readonly reason: string };
    readonly thoughts: { readonly areRead: boolean; readonly reason: string };
  } | null;
  /** Loading state; `reason` says in a sentence why the model is not loaded. */
  readonly presence: {
    readonly status: "loaded" | "loading" | "unloaded" | "failed";
    readonly reason: string;
  };
  /** Maximum memory that the model takes while it is loaded. */
  readonly memoryBytes: number;
  /** Part of that memory for keys and values, which grow with the running requests. */
  readonly keyValueBytes: number;
  readonly files: {
    /** Size of the model's weights on disk. */
    readonly weightBytes: number;
    /** License from the model card or license file; null if neither names one. */
    readonly license: string | null;
  } | null;
}

/** A name that requests may use as their model. */
export interface ServedModel {
  readonly id: string;
  readonly createdAt: Date;
  readonly owner: string;
  readonly root: string;
  readonly parent: string | null;
  /** Adapter settings of new versions. */
  readonly adapter: AdapterWish;
  /** Base model; null if this server does not have it. */
  readonly base: ListedBase | null;
}

export const servedModelAnswer = answerOf<ServedModel>()("ServedModel", {
  id: Type.String({ description: "A value for `model` in requests." }),
  object: [Type.Enum(["model"]), () => "model" as const],
  created: [
    Type.Integer({ description: "Seconds since 1970." }),
    ({ createdAt }) => Math.floor(createdAt.getTime() / 1000),
  ],
  owned_by: [Type.String(), ({ owner }) => owner],
  root: Type.String({ description: "For a version, the name of its model; otherwise the name itself." }),
  parent: orNull(Type.String(), { description: "Base model of a trained model." }),
  max_model_len: [
    orNull(Type.Integer({ minimum: 1 }), {
      description:
        "Context length in tokens, prompt and answer together; null if the base model is not served.",
    }),
    ({ base }) => base?.contextLength ?? null,
  ],
  ...adapterRows,
  exact: [
    orNull(Type.Boolean(), {
      description:
        "True if a seeded request has the same tokens and log-probabilities each time, to the last bit, regardless of concurrent requests. Null if the base model is not served.",
    }),
    ({ base }) => base?.isExact ?? null,
  ],
  device: [
    orNull(
      Type.Object({
        value: Type.Enum(["cpu", "webgpu", "vllm"]),
        reason: Type.String({
          description: "Why the precision differs from the configured one, for people; empty if it does not.",
        }),
      }),
      {
        description:
          "Hardware or servers that compute the base model's tokens: this machine's processor or graphics processor, or vLLM servers. Null if the base model is not served.",
      },
    ),
    ({ base }) => (base?.device ? { value: base.device.device, reason: base.device.reason } : null),
  ],
  tool_calls: [
    orNull(
      Type.Object({
        format: Type.String({
          description: "Format in which tool calls are read from answers; `off` if none are read.",
        }),
        reason: Type.String({ description: "Reason, for people." }),
      }),
      { description: "Support for tool calls; null if the base model is not served." },
    ),
    ({ base }) => base?.replies?.calls ?? null,
  ],
  thoughts: [
    orNull(
      Type.Object({
        read: Type.Boolean({ description: "True if thoughts are separated from the answer." }),
        reason: Type.String({ description: "Reason, for people." }),
      }),
      { description: "Support for thinking before the answer; null if the base model is not served." },
    ),
    ({ base }) =>
      base?.replies ? { read: base.replies.thoughts.areRead, reason: base.replies.thoughts.reason } : null,
  ],
  status: [
    orNull(
      Type.Object({
        value: Type.Enum(["loaded", "loading", "unloaded", "failed"]),
        reason: Type.String({ description: "Why the model is not loaded, for people; empty if it is." }),
        memory_bytes: Type.Integer({
          minimum: 0,
          description: "Maximum memory of the loaded base model, including its running requests.",
        }),
        key_value_bytes: Type.Integer({
          minimum: 0,
          description:
            "Part of `memory_bytes` for keys and values of requests, at most. The cache starts empty and grows with the running requests; small models never need so much.",
        }),
      }),
      {
        description:
          "True if the base model is in memory. An unloaded model is loaded for its next request; requests for a failed one are answered with 503 and the reason. Null if this server does not have the model.",
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
        weight_bytes: Type.Integer({ minimum: 0, description: "Size of the weights on disk." }),
        license: orNull(Type.String(), {
          description: "License from the model card or model file; null if neither has one.",
        }),
      }),
      { description: "Files of the base model; null if it is not served." },
    ),
    ({ base }) =>
      base?.files ? { weight_bytes: base.files.weightBytes, license: base.files.license } : null,
  ],
});
export const servedModelListSchema = Type.Object({
  object: Type.Enum(["list"]),
  data: Type.Array(servedModelAnswer.schema),
});

export const baseModelsSchema = Type.Array(Type.String(), { description: "Base models, the default first." });
