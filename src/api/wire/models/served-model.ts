// Models that a chat request may name, in the form of OpenAI's list of models.
import { Type } from "typebox";
import type { TokenPrices } from "../../../base/domain/costs/prices.ts";
import type { AdapterWish, ComputingPlace } from "../../../base/domain/model.ts";
import { answerOf } from "../fields/resource.ts";
import { adapterRows } from "./model.ts";
import { orNull } from "../nullable.ts";

/** A base model in a list of models. Values are null if the model's files could not be read. */
export interface ListedBase {
  readonly name: string;
  /** Maximum number of tokens in prompt and answer together. */
  readonly contextLength: number | null;
  /** Number of token ids; all ids are less than this. */
  readonly vocabularySize: number | null;
  /** True if a request always gets the same tokens, regardless of concurrent requests. */
  readonly isExact: boolean | null;
  readonly device: ComputingPlace | null;
  /** How the server recognizes tool calls and thoughts in answers, each with the reason. */
  readonly replies: {
    /** Format of tool calls, or `off` if they are not recognized. */
    readonly calls: { readonly format: string; readonly reason: string };
    readonly thoughts: { readonly areRead: boolean; readonly reason: string };
  } | null;
  /** Loading state. `reason` is a sentence about why the model is not loaded; empty if it is loaded. */
  readonly presence: {
    readonly status: "loaded" | "loading" | "unloaded" | "failed";
    readonly reason: string;
  };
  /** Maximum memory in bytes that the loaded model takes. */
  readonly memoryBytes: number;
  /** The part of `memoryBytes` that KV caches of running requests may take, in bytes. */
  readonly keyValueBytes: number;
  readonly files: {
    /** Size in bytes of the model's weights on disk. */
    readonly weightBytes: number;
    /** License from the model card or license file; null if neither names one. */
    readonly license: string | null;
    /** Format of the weights; null if they are not on this machine. */
    readonly format: "gguf" | "safetensors" | null;
    /** Name of the architecture in config.json, such as `llama`. */
    readonly architecture: string;
    /** Number of parameters, and length of the hidden states; null for models that only vLLM can compute. */
    readonly size: { readonly parameterCount: number; readonly width: number } | null;
    /** Precision in which the weights are computed, such as `float32`. */
    readonly precision: string;
  } | null;
  /** SHA-256 of the weights in hexadecimal form; null if unknown. */
  readonly weightsHash: string | null;
}

/** A name that requests may use as their model, with its properties. */
export interface ServedModel {
  readonly id: string;
  readonly createdAt: Date;
  readonly owner: string;
  readonly root: string;
  readonly parent: string | null;
  /** Adapter settings of new versions. */
  readonly adapter: AdapterWish;
  /** Base model of the named model; null if this server does not have it. */
  readonly base: ListedBase | null;
  /** Prices of a million tokens with their currency; null if the model has no prices. */
  readonly prices: (TokenPrices & { readonly currency: string }) | null;
}

const price = (of: string) =>
  orNull(Type.Number({ minimum: 0 }), { description: `Price of a million ${of}; null if there is none.` });

export const servedModelAnswer = answerOf<ServedModel>()("ServedModel", {
  id: Type.String({ description: "Name to send as `model` in requests." }),
  object: [Type.Enum(["model"]), () => "model" as const],
  created: [
    Type.Integer({ description: "Unix time in seconds." }),
    ({ createdAt }) => Math.floor(createdAt.getTime() / 1000),
  ],
  owned_by: [
    Type.String({ description: "Entity of a trained model; `hone` for a base model." }),
    ({ owner }) => owner,
  ],
  root: Type.String({ description: "For a version, the name of its model; otherwise the same as `id`." }),
  parent: orNull(Type.String(), {
    description: "Name of the base model of a trained model; null for a base model.",
  }),
  max_model_len: [
    orNull(Type.Integer({ minimum: 1 }), {
      description:
        "Maximum number of tokens of prompt and answer together; null if the server does not serve the base model.",
    }),
    ({ base }) => base?.contextLength ?? null,
  ],
  ...adapterRows,
  exact: [
    orNull(Type.Boolean(), {
      description:
        "True if a request with a seed always gets the same tokens and bit-identical log-probabilities, regardless of concurrent requests. Null if the base model is not served.",
    }),
    ({ base }) => base?.isExact ?? null,
  ],
  device: [
    orNull(
      Type.Object({
        value: Type.Enum(["cpu", "webgpu", "vllm"]),
        reason: Type.String({
          description:
            "Why the server does not use the device that the setting `server.device` names; empty if it does.",
        }),
      }),
      {
        description:
          "Hardware or servers that run the base model: this machine's processor (`cpu`), its graphics processor (`webgpu`), or vLLM servers (`vllm`). Null if the base model is not served.",
      },
    ),
    ({ base }) => (base?.device ? { value: base.device.device, reason: base.device.reason } : null),
  ],
  tool_calls: [
    orNull(
      Type.Object({
        format: Type.String({
          description:
            "Format in which the model writes tool calls; `off` if the server does not look for tool calls in its answers.",
        }),
        reason: Type.String({ description: "Sentence that says why the server chose the format." }),
      }),
      { description: "Support for tool calls; null if the base model is not served." },
    ),
    ({ base }) => base?.replies?.calls ?? null,
  ],
  thoughts: [
    orNull(
      Type.Object({
        read: Type.Boolean({
          description: "True if the server separates the model's thoughts from the answer.",
        }),
        reason: Type.String({
          description: "Sentence that says why the server separates thoughts or does not.",
        }),
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
        reason: Type.String({
          description: "Sentence that says why the model is not loaded; empty if it is loaded.",
        }),
        memory_bytes: Type.Integer({
          minimum: 0,
          description:
            "Maximum memory in bytes of the base model while it is loaded, including its running requests.",
        }),
        key_value_bytes: Type.Integer({
          minimum: 0,
          description:
            "Maximum part of `memory_bytes` that the KV cache occupies. The cache starts empty and grows with the running requests; with small models it never reaches the maximum.",
        }),
      }),
      {
        description:
          "Loading state of the base model. An unloaded model is loaded for its next request. Requests for a failed model get 503 with the reason. Null if this server does not have the model.",
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
  prices: orNull(
    Type.Object({
      currency: Type.String(),
      prompt: price("prompt tokens"),
      cached: price(
        "prompt tokens from the prefix cache, which otherwise cost as much as other prompt tokens",
      ),
      answer: price("answer tokens"),
      training: price("tokens that a job trains on, counted once per pass"),
    }),
    { description: "Prices of a million tokens (`costs.prices`); null if the operator has set none." },
  ),
  files: [
    orNull(
      Type.Object({
        weight_bytes: Type.Integer({ minimum: 0, description: "Size of the weights on disk in bytes." }),
        license: orNull(Type.String(), {
          description: "License from the model card or model file; null if neither has one.",
        }),
      }),
      { description: "Files of the base model; null if the base model is not served." },
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

export const modelDeletionSchema = Type.Object({
  id: Type.String({ description: "The name in the request." }),
  object: Type.String(),
  deleted: Type.Boolean(),
});
