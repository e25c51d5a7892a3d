// Bodies and answers of the Tinker API's routes about models in training.
import { Type } from "typebox";
import { type AdapterWish, projectionNames, type ProjectionName } from "../../../base/domain/model.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { OptimizerStep } from "../../../train/trainer/trainer.ts";
import type { BodyForm, ValueOf } from "../body.ts";
import { anyObject } from "../fields/any-object.ts";
import { nullable, orNull } from "../nullable.ts";
import { typeField } from "./session-bodies.ts";

export const modelIdField = Type.String({ description: "Id of the model in training." });
/** Number of an operation on a model. Clients count from 1. */
export const seqIdField = nullable(Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 }), {
  description: "Number of the operation on the model, from 1 without gaps; 0 to run after all others.",
});
const placeField = (what: string) =>
  Type.Integer({ minimum: 0, maximum: 999_999_999, description: `Number of the ${what} in its session.` });
export const modelSeqField = placeField("model");
export const samplerSeqField = placeField("sampling client");

/** Choice of an optimizer. */
export const optimizerSchema = Type.Object({ type: Type.String({ description: "Name of the optimizer." }) });
const optimizerField = nullable(optimizerSchema, {
  description: "Optimizer; only `adamw` is supported.",
});

const loraSchema = Type.Object({
  rank: Type.Integer({ minimum: 1, maximum: 256, description: "Rank of the adapter." }),
  seed: nullable(Type.Integer(), { description: "Seed of the adapter's first values." }),
  train_unembed: Type.Optional(
    Type.Boolean({ description: "Accepted, but no adapter of the output layer is trained." }),
  ),
  train_mlp: Type.Optional(Type.Boolean({ description: "True to train feed-forward layers." })),
  train_attn: Type.Optional(Type.Boolean({ description: "True to train attention." })),
});

const createSchema = Type.Object(
  {
    session_id: Type.String({ description: "Id of the session." }),
    model_seq_id: modelSeqField,
    base_model: Type.String({ minLength: 1, maxLength: 256, description: "Name of the base model." }),
    user_metadata: nullable(anyObject, { description: "Metadata; not stored." }),
    lora_config: nullable(loraSchema, { description: "Shape of the adapter." }),
    optimizer_config: optimizerField,
    type: typeField,
  },
  { title: "TinkerCreateModel" },
);
export const createModelForm: BodyForm<typeof createSchema> = {
  schema: createSchema,
  moreUnserved: ({ optimizer_config: optimizer }) => refuseOptimizer(optimizer, "optimizer_config"),
};

function refuseOptimizer(optimizer: unknown, field: string) {
  const type = (optimizer as { readonly type?: unknown } | null | undefined)?.type;
  if (type === undefined || type === "adamw") return [];
  const message = `The optimizer is ${JSON.stringify(type)}; this server has only adamw.`;
  return [{ location: ["body", field], message, type: "unsupported" }];
}

/** Rank of adapters if the request has none; the client has the same default. */
const defaultRank = 32;

/** Projections of feed-forward layers; all others count as attention. */
const feedForward: readonly ProjectionName[] = ["gate_proj", "up_proj", "down_proj"];

/**
 * Converts a request's LoRA settings to the domain's form.
 *
 * @throws ServiceError `unsupported` if neither attention nor feed-forward layers are trained
 */
export function adapterOf(lora: ValueOf<typeof createSchema>["lora_config"], alpha: number): AdapterWish {
  const { rank = defaultRank, train_mlp: mlp = true, train_attn: attention = true } = lora ?? {};
  if (!mlp && !attention)
    throw new ServiceError({
      code: "unsupported",
      faults: [
        {
          location: ["body", "lora_config"],
          message: "Neither attention nor feed-forward layers are trained; set train_attn or train_mlp.",
          type: "unsupported",
        },
      ],
    });
  const targets = projectionNames.filter((name) => (feedForward.includes(name) ? mlp : attention));
  return { rank, alpha, targets: mlp && attention ? null : targets };
}

const infoSchema = Type.Object({ model_id: modelIdField, type: typeField }, { title: "TinkerGetInfo" });
export const modelForm: BodyForm<typeof infoSchema> = { schema: infoSchema };
export const infoAnswerSchema = Type.Object({
  type: Type.String(),
  model_data: Type.Object({
    model_name: Type.String({ description: "Name of the base model." }),
    tokenizer_id: Type.String({ description: "Name under which clients load the tokenizer." }),
  }),
  model_id: modelIdField,
  model_name: Type.String({ description: "Name of the base model." }),
  is_lora: Type.Boolean(),
  lora_rank: Type.Integer({ description: "Rank of the adapter." }),
});

const weightsSchema = Type.Object(
  { tinker_path: Type.String({ maxLength: 1024, description: "Path of saved weights." }) },
  { title: "TinkerWeightsInfo" },
);
export const weightsInfoForm: BodyForm<typeof weightsSchema> = { schema: weightsSchema };
export const weightsInfoSchema = Type.Object({
  base_model: Type.String({ description: "Name of the base model." }),
  is_lora: Type.Boolean(),
  lora_rank: Type.Integer({ description: "Rank of the adapter." }),
  train_unembed: Type.Boolean(),
  train_mlp: Type.Boolean(),
  train_attn: Type.Boolean(),
});

export function weightsInfoBody({ adapter: { rank, targets } }: { readonly adapter: AdapterWish }) {
  const has = (isWanted: (name: ProjectionName) => boolean): boolean =>
    targets === null || targets.some(isWanted);
  return {
    is_lora: true,
    lora_rank: rank ?? defaultRank,
    train_unembed: false,
    train_mlp: has((name) => feedForward.includes(name)),
    train_attn: has((name) => !feedForward.includes(name)),
  };
}

const number = (about: string, options: object) =>
  Type.Optional(Type.Number({ ...options, description: about }));
const adamSchema = Type.Object({
  learning_rate: number("Learning rate.", { minimum: 0, default: 0.0001 }),
  beta1: number("Decay rate of the mean of gradients.", { minimum: 0, exclusiveMaximum: 1, default: 0.9 }),
  beta2: number("Decay rate of the mean of squares.", { minimum: 0, exclusiveMaximum: 1, default: 0.95 }),
  eps: number("Constant added to the root of the second moment.", { exclusiveMinimum: 0, default: 1e-12 }),
  weight_decay: number("Decoupled weight decay.", { minimum: 0, default: 0 }),
  grad_clip_norm: number("Global norm to which gradients are clipped; 0 for none.", {
    minimum: 0,
    default: 0,
  }),
});
const stepSchema = Type.Object(
  {
    model_id: modelIdField,
    seq_id: seqIdField,
    adam_params: nullable(adamSchema, { description: "Parameters of the AdamW step." }),
    optimizer_params: nullable(optimizerSchema, {
      description: "Parameters of another optimizer; not supported.",
    }),
    type: typeField,
  },
  { title: "TinkerOptimStep" },
);
export const stepForm: BodyForm<typeof stepSchema> = {
  schema: stepSchema,
  moreUnserved: ({ optimizer_params: other }) => refuseOptimizer(other, "optimizer_params"),
};

/** Converts a step's parameters. Parameters that the request omits get the same defaults as in the client. */
export function stepOf({ adam_params: adam }: ValueOf<typeof stepSchema>): OptimizerStep {
  const { learning_rate = 1e-4, beta1 = 0.9, beta2 = 0.95, eps = 1e-12 } = adam ?? {};
  const { weight_decay = 0, grad_clip_norm = 0 } = adam ?? {};
  return {
    learningRate: learning_rate,
    beta1,
    beta2,
    epsilon: eps,
    weightDecay: weight_decay,
    gradientNormMax: grad_clip_norm,
  };
}

export const promiseSchema = Type.Object({
  request_id: Type.String({ description: "Id with which to fetch the result." }),
  model_id: orNull(modelIdField),
});
