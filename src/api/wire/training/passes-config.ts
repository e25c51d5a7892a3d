// API format of the settings that supervised and preference training share.
import { Type, type Static, type TObject } from "typebox";
import { basePrecisions } from "../../../base/domain/trainer/base-precision.ts";
import type { PassesConfig } from "../../../base/domain/trainer/passes-config.ts";
import { isObject, report, type Findings } from "../../../base/validation/findings.ts";
import { nullable } from "../nullable.ts";

/** Maximum numbers of epochs and of examples per step. Larger numbers are probably mistakes. */
const [epochsMax, batchMax] = [1000, 100_000];

const epochs = Type.Integer({ minimum: 1, maximum: epochsMax });
const batchSize = Type.Integer({ minimum: 1, maximum: batchMax });
const precision = Type.Enum([...basePrecisions]);

/**
 * Returns the schemas of the settings in requests.
 *
 * @param examples what the data of a job consists of, such as `conversations`
 * @param batch description of the batch size
 */
export function passesForm(defaults: PassesConfig, examples: string, batch: string) {
  return {
    base_precision: nullable(precision, {
      description:
        "Precision of multiplications with the base model's weights. int8 makes steps faster but rounds the weights; the job reports how much this changes log-probabilities.",
      "x-default": "float32",
    }),
    batch_size: nullable(Type.Union([batchSize, Type.Enum(["auto"])]), {
      description: batch,
      default: defaults.batchSize,
    }),
    epochs: nullable(epochs, {
      description: `Number of passes over the ${examples}.`,
      default: defaults.epochCount,
    }),
    num_epochs: nullable(epochs, { description: "Alias of epochs.", default: defaults.epochCount }),
    weight_decay: nullable(Type.Number({ minimum: 0, maximum: 10 }), {
      description: "AdamW's weight decay. Each step shrinks weights by this value times the learning rate.",
      default: defaults.weightDecay,
    }),
    max_grad_norm: nullable(Type.Number({ minimum: 0, maximum: 1e9 }), {
      description: "Maximum gradient norm; larger gradients are scaled down to it. 0 disables clipping.",
      default: defaults.gradientNormMax,
    }),
    shuffle: nullable(Type.Boolean(), {
      description: `True to shuffle the ${examples} before each epoch. The order is derived from the job's content, so the same job always has the same order.`,
      default: defaults.isShuffled,
    }),
  };
}

/** Schemas of the settings in jobs as the API shows them. */
export const passesFields = {
  base_precision: nullable(precision),
  batch_size: batchSize,
  epochs: Type.Integer({ minimum: 1 }),
  shuffle: Type.Boolean(),
  weight_decay: Type.Number({ minimum: 0 }),
  max_grad_norm: Type.Number({ minimum: 0 }),
};

/** Adds the fault that a request gives `epochs` and its alias with different values. */
export function checkEpochs(config: unknown, findings: Findings): void {
  if (!isObject(config)) return;
  const { epochs: first, num_epochs: second } = config;
  if (typeof first !== "number" || typeof second !== "number" || first === second) return;
  const message = `Value error, epochs is ${first} and num_epochs is ${second}; they are two spellings of one field, give one.`;
  report(findings, "value_error", message, "config", "num_epochs");
}

/** Converts checked settings to the domain's form; null stands for the default. */
export function toPasses(body: Static<TObject<ReturnType<typeof passesForm>>>) {
  return {
    basePrecision: body.base_precision ?? null,
    batchSize: body.batch_size === "auto" ? null : (body.batch_size ?? null),
    epochCount: body.epochs ?? body.num_epochs ?? null,
    isShuffled: body.shuffle ?? null,
    weightDecay: body.weight_decay ?? null,
    gradientNormMax: body.max_grad_norm ?? null,
  };
}

export function passesBody(config: PassesConfig): Static<TObject<typeof passesFields>> {
  return {
    base_precision: config.basePrecision,
    batch_size: config.batchSize,
    epochs: config.epochCount,
    shuffle: config.isShuffled,
    weight_decay: config.weightDecay,
    max_grad_norm: config.gradientNormMax,
  };
}
