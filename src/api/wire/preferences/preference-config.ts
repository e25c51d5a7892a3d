// API format of the settings of preference training.
import { Type, type Static } from "typebox";
import {
  type PreferenceConfig,
  preferenceLosses,
  preferenceReferences,
  resolvePreferenceConfig,
} from "../../../base/domain/preferences/preference-config.ts";
import { isObject, report, type Findings } from "../../../base/validation/findings.ts";
import { nullable, orNull } from "../nullable.ts";
import { foreignOptions, foreignProperties, refuseForeign } from "../training/foreign-options.ts";
import { checkEpochs, passesBody, passesFields, passesForm, toPasses } from "../training/passes-config.ts";

const defaults = resolvePreferenceConfig({});
const simpo = resolvePreferenceConfig({ loss: "simpo" });

/** Maximum value of factors and weights. Larger numbers are probably mistakes. */
const numberMax = 1e6;

const aboveZero = Type.Number({ exclusiveMinimum: 0, maximum: numberMax });
const loss = Type.Enum([...preferenceLosses]);
const reference = Type.Enum([...preferenceReferences]);

/** Schema of the settings in requests. */
export const preferenceConfigForm = Type.Object(
  {
    loss: nullable(loss, {
      description:
        "Loss function. dpo, ipo and simpo compare two answers to a prompt. kto judges each answer separately, and treats a pair as two answers.",
      default: defaults.loss,
    }),
    beta: nullable(aboveZero, {
      description:
        "Factor of the log-ratios between the model and the reference. A greater value keeps the model closer to the reference.",
      "x-default": `${defaults.beta}; ${simpo.beta} with simpo`,
    }),
    label_smoothing: nullable(Type.Number({ minimum: 0, maximum: 0.5 }), {
      description:
        "With dpo and simpo: assumed fraction of preferences whose chosen and rejected answers are swapped (cDPO).",
      default: defaults.labelSmoothing,
    }),
    gamma: nullable(Type.Number({ minimum: 0, maximum: numberMax }), {
      description: "With simpo: target margin between the rewards of the chosen and the rejected answer.",
      "x-default": `${simpo.gamma} with simpo`,
    }),
    length_normalized: nullable(Type.Boolean(), {
      description:
        "With dpo, ipo and simpo: true to use the mean log-probability of an answer's tokens instead of the sum.",
      "x-default": "true with ipo and simpo, false with dpo",
    }),
    desirable_weight: nullable(aboveZero, {
      description: "With kto: weight of wanted answers in the loss.",
      default: defaults.desirableWeight,
    }),
    undesirable_weight: nullable(aboveZero, {
      description: "With kto: weight of unwanted answers in the loss.",
      default: defaults.undesirableWeight,
    }),
    reference: nullable(reference, {
      description:
        "With dpo, ipo and kto: reference model for log-probabilities, which is the version that the job starts from (`start`) or the base model (`base`).",
      "x-default": "start",
    }),
    ...passesForm(
      defaults,
      "pairs or answers",
      `Number of pairs (with kto, of answers) per optimizer step; \`auto\` means ${defaults.batchSize}. With kto, at least 2.`,
    ),
    learning_rate: nullable(Type.Number({ exclusiveMinimum: 0 }), {
      description: "AdamW's learning rate, the same at each step.",
      default: defaults.learningRate,
    }),
    ...foreignProperties(foreignOptions.preference),
  },
  { title: "PreferenceConfig" },
);

/** Schema of the settings in jobs as the API shows them. */
export const preferenceConfigSchema = Type.Object(
  {
    loss,
    beta: Type.Number(),
    label_smoothing: Type.Number(),
    gamma: Type.Number(),
    length_normalized: Type.Boolean(),
    desirable_weight: Type.Number(),
    undesirable_weight: Type.Number(),
    reference: orNull(reference),
    ...passesFields,
    learning_rate: Type.Number(),
  },
  { title: "PreferenceConfigInEffect" },
);

type ConfigBody = Static<typeof preferenceConfigForm>;

const knownFields: readonly string[] = Object.keys(preferenceConfigForm.properties);

/** Returns the names of settings in the request that are unknown. */
export function preferenceKeysNotApplied(config: object): readonly string[] {
  return Object.keys(config).filter((key) => !knownFields.includes(key));
}

/** Settings that only some losses use. For other losses, only the value `plain` is accepted, which has no effect. */
const lossOptions: Readonly<
  Record<string, { readonly losses: readonly unknown[]; readonly plain: unknown }>
> = {
  label_smoothing: { losses: ["dpo", "simpo"], plain: 0 },
  gamma: { losses: ["simpo"], plain: 0 },
  length_normalized: { losses: ["dpo", "ipo", "simpo"], plain: false },
  desirable_weight: { losses: ["kto"], plain: 1 },
  undesirable_weight: { losses: ["kto"], plain: 1 },
  reference: { losses: ["dpo", "ipo", "kto"], plain: null },
};

/** Adds faults of the settings that the schema cannot detect. */
export function checkPreferenceConfig(config: unknown, findings: Findings): void {
  refuseForeign(config, foreignOptions.preference, findings, { place: "config" });
  if (!isObject(config)) return;
  const { loss: given, batch_size: size } = config;
  // The check against the schema has already reported an unknown loss. No rules below concern such a loss.
  const name = typeof given === "string" ? given : defaults.loss;
  for (const [option, { losses, plain }] of Object.entries(lossOptions)) {
    const value = config[option] ?? null;
    if (value === null || value === plain || losses.includes(name)) continue;
    const message = `Value error, ${option} is ${JSON.stringify(value)}, and the loss ${name} has no such option; it goes with ${losses.join(", ")}. Leave it out.`;
    report(findings, "value_error", message, "config", option);
  }
  if (name === "kto" && size === 1) {
    const message =
      "Value error, batch_size is 1, and kto compares the answers of a step with prompts of others in it; give at least 2.";
    report(findings, "value_error", message, "config", "batch_size");
  }
  checkEpochs(config, findings);
}

/** Converts checked settings to the domain's form. */
export function toPreferenceConfig(body: ConfigBody): PreferenceConfig {
  return resolvePreferenceConfig({
    loss: body.loss ?? null,
    beta: body.beta ?? null,
    labelSmoothing: body.label_smoothing ?? null,
    gamma: body.gamma ?? null,
    lengthNormalized: body.length_normalized ?? null,
    desirableWeight: body.desirable_weight ?? null,
    undesirableWeight: body.undesirable_weight ?? null,
    reference: body.reference ?? null,
    ...toPasses(body),
    learningRate: body.learning_rate ?? null,
  });
}

export function preferenceConfigBody(config: PreferenceConfig): Static<typeof preferenceConfigSchema> {
  return {
    loss: config.loss,
    beta: config.beta,
    label_smoothing: config.labelSmoothing,
    gamma: config.gamma,
    length_normalized: config.lengthNormalized,
    desirable_weight: config.desirableWeight,
    undesirable_weight: config.undesirableWeight,
    reference: config.reference,
    ...passesBody(config),
    learning_rate: config.learningRate,
  };
}
