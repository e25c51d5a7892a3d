// API format of the settings of supervised fine-tuning.
import { Type, type Static } from "typebox";
import {
  resolveSupervisedConfig,
  type SupervisedConfig,
} from "../../../base/domain/supervised/supervised-config.ts";
import { basePrecisions } from "../../../base/domain/trainer/base-precision.ts";
import { isObject, report, type Findings } from "../../../base/validation/findings.ts";
import { nullable } from "../nullable.ts";
import { foreignOptions, foreignProperties, refuseForeign } from "../training/foreign-options.ts";

const defaults = resolveSupervisedConfig({});

/** Maximum numbers of learning rates, of epochs, and of conversations per batch. */
const ratesMax = 1_000_000;
const epochsMax = 1000;
const batchMax = 100_000;

const rate = Type.Number({ exclusiveMinimum: 0 });

const epochs = Type.Integer({ minimum: 1, maximum: epochsMax });

const precision = Type.Enum([...basePrecisions]);

const shared = {
  base_precision: nullable(precision, {
    description:
      "Precision of multiplications with the base model's weights. int8 makes steps faster but rounds the weights; the job reports how much this changes log-probabilities.",
    "x-default": "float32",
  }),
  learning_rate: nullable(Type.Union([rate, Type.Array(rate, { minItems: 1, maxItems: ratesMax })]), {
    description: "AdamW's learning rate: one number for all steps, or a list with one number per step.",
    default: defaults.learningRate,
  }),
  epochs: nullable(epochs, {
    description: "Number of passes over the conversations.",
    default: defaults.epochCount,
  }),
  num_epochs: nullable(epochs, {
    description: "Alias of epochs.",
    default: defaults.epochCount,
  }),
  weight_decay: nullable(Type.Number({ minimum: 0, maximum: 10 }), {
    description: "AdamW's weight decay. Each step shrinks weights by this value times the learning rate.",
    default: defaults.weightDecay,
  }),
  max_grad_norm: nullable(Type.Number({ minimum: 0, maximum: 1e9 }), {
    description: "Maximum gradient norm; larger gradients are scaled down to it. 0 disables clipping.",
    default: defaults.gradientNormMax,
  }),
  shuffle: nullable(Type.Boolean(), {
    description:
      "True to shuffle the conversations before each epoch. The order is derived from the job's content, so the same job always has the same order.",
    default: defaults.isShuffled,
  }),
  assistant_turns: nullable(Type.Enum(["all", "last"]), {
    description:
      "Assistant messages that are trained on: all, or only the last message of each conversation, which must then be the assistant's.",
    default: defaults.assistantTurns,
  }),
};
const batchSize = Type.Integer({ minimum: 1, maximum: batchMax });

/** Schema of the settings in requests. */
export const supervisedConfigForm = Type.Object(
  {
    batch_size: nullable(Type.Union([batchSize, Type.Enum(["auto"])]), {
      description: `Number of conversations per optimizer step; \`auto\` means ${defaults.batchSize}.`,
      default: defaults.batchSize,
    }),
    ...shared,
    metric_logging: nullable(Type.Unknown(), {
      description: "Accepted without effect: each step is an event with its metrics.",
    }),
    ...foreignProperties(foreignOptions.sft),
  },
  { title: "SupervisedConfig" },
);

/** Schema of the settings in jobs as the API shows them. */
export const supervisedConfigSchema = Type.Object(
  {
    base_precision: nullable(precision),
    batch_size: batchSize,
    learning_rate: Type.Union([rate, Type.Array(rate)]),
    epochs: Type.Integer({ minimum: 1 }),
    shuffle: Type.Boolean(),
    weight_decay: Type.Number({ minimum: 0 }),
    max_grad_norm: Type.Number({ minimum: 0 }),
    assistant_turns: Type.Enum(["all", "last"]),
  },
  { title: "SupervisedConfigInEffect" },
);

type ConfigBody = Static<typeof supervisedConfigForm>;

/** Names of the known settings. An answer reports all other settings of the request, which have no effect. */
export const supervisedConfigFields: readonly string[] = Object.keys(supervisedConfigForm.properties);

/** Adds faults of the settings that the schema cannot detect. */
export function checkSupervisedConfig(config: unknown, findings: Findings): void {
  refuseForeign(config, foreignOptions.sft, findings, { place: "config" });
  if (!isObject(config)) return;
  const { epochs: first, num_epochs: second } = config;
  if (typeof first !== "number" || typeof second !== "number" || first === second) return;
  const message = `Value error, epochs is ${first} and num_epochs is ${second}; they are two spellings of one field, give one.`;
  report(findings, "value_error", message, "config", "num_epochs");
}

/** Converts checked settings to the domain's form. */
export function toSupervisedConfig(body: ConfigBody): SupervisedConfig {
  return resolveSupervisedConfig({
    basePrecision: body.base_precision ?? null,
    batchSize: body.batch_size === "auto" ? null : (body.batch_size ?? null),
    learningRate: body.learning_rate ?? null,
    epochCount: body.epochs ?? body.num_epochs ?? null,
    isShuffled: body.shuffle ?? null,
    weightDecay: body.weight_decay ?? null,
    gradientNormMax: body.max_grad_norm ?? null,
    assistantTurns: body.assistant_turns ?? null,
  });
}

export function supervisedConfigBody(config: SupervisedConfig): Static<typeof supervisedConfigSchema> {
  return {
    base_precision: config.basePrecision,
    batch_size: config.batchSize,
    learning_rate: typeof config.learningRate === "number" ? config.learningRate : [...config.learningRate],
    epochs: config.epochCount,
    shuffle: config.isShuffled,
    weight_decay: config.weightDecay,
    max_grad_norm: config.gradientNormMax,
    assistant_turns: config.assistantTurns,
  };
}
