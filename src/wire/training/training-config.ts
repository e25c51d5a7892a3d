// How a job trains, as the interface and clients of other makers spell it. Null and absent mean the default; what two
// spellings of one field say is one of them's, or refused; what is known and not done is refused, what is unknown is named.
import { Type, type Static } from "typebox";
import {
  importanceSamplingLevels,
  klPenaltySources,
  resolveTrainingConfig,
  type TrainingConfig,
} from "../../domain/training-config.ts";
import { isObject, report, type Findings } from "../../validation/findings.ts";
import { nullable } from "../nullable.ts";
import { foreignOptions, foreignProperties, refuseForeign } from "./foreign-options.ts";

const defaults = resolveTrainingConfig({});
const ppoDefaults = resolveTrainingConfig({ ppo: true });

const lossFunctions = ["cispo", "ppo"] as const;

/** More would be a mistake. */
const [sequencesMax, passesMax] = [1_000_000, 1000];

const sequencesOfStep = Type.Integer({ minimum: 1, maximum: sequencesMax });
const passes = Type.Integer({ minimum: 1, maximum: passesMax });

/** Of jobs of every kind. */
const optimizerProperties = {
  weight_decay: nullable(Type.Number({ minimum: 0, maximum: 10 }), {
    description: "Of AdamW, times the learning rate.",
    "x-default": "left to the server, 0.1",
  }),
  max_grad_norm: nullable(Type.Number({ minimum: 0, maximum: 1e9 }), {
    description: "Gradients are scaled down to this norm; 0 never scales.",
    "x-default": "left to the server, 0.1",
  }),
};

const appliedProperties = {
  advantage_balance: nullable(Type.Number({ minimum: -1, maximum: 1 }), {
    description: "Positive shrinks negative advantages, negative shrinks positive ones.",
    default: defaults.advantageBalance,
  }),
  epsilon: nullable(Type.Number({ minimum: 0 }), {
    description: "The lower bound of clipping is 1 - epsilon.",
    default: defaults.epsilon,
    "x-default": `${defaults.epsilon}; ${ppoDefaults.epsilon} with ppo`,
  }),
  epsilon_high: nullable(Type.Number({ minimum: 0 }), {
    description: "The upper bound of clipping is 1 + epsilon_high.",
    default: defaults.epsilonHigh,
    "x-default": `${defaults.epsilonHigh}; epsilon with ppo`,
  }),
  importance_sampling_level: nullable(Type.Enum([...importanceSamplingLevels]), {
    description: "Over what the ratio of new to old probability is taken.",
    default: defaults.importanceSamplingLevel,
  }),
  vendor_k2_tau: nullable(Type.Number({ minimum: 0 }), {
    description: "Weight of the squared difference from the policy that sampled; 0 is off.",
    default: defaults.k2Tau,
  }),
  kimi_k2_tau: nullable(Type.Number({ minimum: 0 }), {
    description: "The same as vendor_k2_tau, by another name.",
    default: defaults.k2Tau,
  }),
  learning_rate: nullable(Type.Number({ exclusiveMinimum: 0 }), {
    description: "Of AdamW, of every step.",
    default: defaults.learningRate,
  }),
  num_trajectories_learning_rate_multiplier_power: nullable(Type.Number({ minimum: 0, maximum: 10 }), {
    description: "A step's learning rate is multiplied by the number of its sequences to this power.",
    default: defaults.learningRatePower,
  }),
  batch_size: nullable(sequencesOfStep, {
    description: "Sequences of one optimizer step; not beside steps.",
    "x-default": "1, unless the server counts tokens (training.batchTokens)",
  }),
  grad_accumulation_sequences: nullable(sequencesOfStep, {
    description: "The same as batch_size, by another name.",
    "x-default": "as batch_size",
  }),
  steps: nullable(sequencesOfStep, {
    description:
      "Optimizer steps of a pass, into which the sequences are divided evenly: 1 takes one step over all. Not beside batch_size; there are never more than sequences.",
    "x-default": "as batch_size makes",
  }),
  passes: nullable(passes, {
    description: "How often each sequence trains, in another order each time.",
    default: defaults.passCount,
  }),
  num_epochs: nullable(passes, {
    description: "The same as passes, by another name.",
    default: defaults.passCount,
  }),
  ...optimizerProperties,
  mask_prob_ratio: nullable(Type.Boolean(), {
    description: "Leaves out tokens whose ratio is out of bounds instead of clipping it.",
    default: defaults.maskProbRatio,
  }),
  max_negative_advantage_importance_sampling_weight: nullable(Type.Number({ minimum: 0 }), {
    description: "Caps every ratio; 0 is off.",
    default: defaults.maxNegativeAdvantageImportanceSamplingWeight,
  }),
  ppo: nullable(Type.Boolean(), {
    description: "Clips as PPO does, instead of as CISPO does.",
    default: defaults.ppo,
  }),
  precalculate_logprobs: nullable(Type.Boolean(), {
    description:
      "Computes the old log-probabilities anew before the first step, instead of taking the recorded ones.",
    default: defaults.precalculateLogprobs,
  }),
  scale_rewards: nullable(Type.Boolean(), {
    description: "Divides a group's advantages by the standard deviation of its rewards.",
    default: defaults.scaleRewards,
  }),
  loss_fn: nullable(Type.Enum([...lossFunctions]), {
    description: "The same as ppo, by name; wins over it.",
    default: "cispo",
  }),
  normalize_advantages: nullable(Type.Boolean(), {
    description: "The same as scale_rewards, by another name; wins over it.",
    default: defaults.scaleRewards,
  }),
  kl_penalty_coef: nullable(Type.Number({ minimum: 0 }), {
    description:
      "Takes advantage from tokens that the model now finds likelier than the base model does, and gives it to the others; 0 is off. Costs a forward pass of the base model.",
    default: defaults.klPenaltyCoefficient,
  }),
  kl_penalty_source: nullable(Type.Enum([...klPenaltySources]), {
    description:
      "Whose log-probabilities the penalty compares with the base model's: those of the model as it trains, or those that were recorded as it was sampled.",
    default: defaults.klPenaltySource,
  }),
  allow_training_without_logprobs: nullable(Type.Boolean(), {
    description:
      "Trains the texts of assistant messages, and of Choices without tokens, beside Choices with tokens.",
    default: defaults.allowTrainingWithoutLogprobs,
  }),
  truncated_importance_sampling: nullable(Type.Number({ minimum: 0 }), {
    description:
      "With precalculate_logprobs each token counts for the ratio of the computed to the recorded probability, up to this much; 0 is off. Not applied without.",
    default: defaults.truncatedImportanceSampling,
  }),
  packed_sequence_length: nullable(Type.Integer({ minimum: 2, maximum: 1_048_576 }), {
    description:
      "A longer sequence is left out. Steps do not go by it, unless the server counts their tokens (training.batchTokens).",
    "x-default": "left to the server",
  }),
};

const appliedSchema = Type.Object(appliedProperties);

export const trainingConfigSchema = Type.Object(
  { ...appliedProperties, ...foreignProperties(foreignOptions.rl) },
  { title: "ExperimentalTrainingConfig" },
);

type AppliedBody = Static<typeof appliedSchema>;

/** The fields that take effect; of two spellings of one field the later wins where both are given. */
const configFields = {
  advantage_balance: "advantageBalance",
  allow_training_without_logprobs: "allowTrainingWithoutLogprobs",
  batch_size: "batchSize",
  grad_accumulation_sequences: "batchSize",
  epsilon: "epsilon",
  epsilon_high: "epsilonHigh",
  importance_sampling_level: "importanceSamplingLevel",
  kimi_k2_tau: "k2Tau",
  vendor_k2_tau: "k2Tau",
  kl_penalty_coef: "klPenaltyCoefficient",
  kl_penalty_source: "klPenaltySource",
  learning_rate: "learningRate",
  mask_prob_ratio: "maskProbRatio",
  max_grad_norm: "gradientNormMax",
  max_negative_advantage_importance_sampling_weight: "maxNegativeAdvantageImportanceSamplingWeight",
  num_trajectories_learning_rate_multiplier_power: "learningRatePower",
  packed_sequence_length: "packedSequenceLength",
  passes: "passCount",
  num_epochs: "passCount",
  ppo: "ppo",
  loss_fn: "ppo",
  precalculate_logprobs: "precalculateLogprobs",
  scale_rewards: "scaleRewards",
  normalize_advantages: "scaleRewards",
  steps: "stepCount",
  truncated_importance_sampling: "truncatedImportanceSampling",
  weight_decay: "weightDecay",
} as const satisfies { readonly [Field in keyof AppliedBody]-?: keyof TrainingConfig };

/** Of a field with two spellings, the one that answers do without. */
const otherSpellings: readonly string[] = [
  "kimi_k2_tau",
  "loss_fn",
  "normalize_advantages",
  "grad_accumulation_sequences",
  "num_epochs",
];

/** Fields with two spellings of which neither wins. */
const twoSpellings = [
  ["vendor_k2_tau", "kimi_k2_tau"],
  ["batch_size", "grad_accumulation_sequences"],
  ["passes", "num_epochs"],
] as const;

/** Adds what the schema cannot say of a configuration. */
export function checkTrainingConfig(config: unknown, findings: Findings): void {
  if (!isObject(config)) return;
  const place = "experimental_config";
  for (const [one, other] of twoSpellings) {
    const [first, second] = [config[one], config[other]];
    if (typeof first !== "number" || typeof second !== "number" || first === second) continue;
    const message = `Value error, ${one} is ${first} and ${other} is ${second}; they are two spellings of one field, give one.`;
    report(findings, "value_error", message, place, other);
  }
  const size = (["batch_size", "grad_accumulation_sequences"] as const).find(
    (name) => (config[name] ?? null) !== null,
  );
  if ((config["steps"] ?? null) !== null && size !== undefined) {
    const message = `Value error, steps and ${size} both say how many sequences a step has; give one of the two.`;
    report(findings, "value_error", message, place, "steps");
  }
  const hasPenalty = (config["kl_penalty_coef"] ?? 0) !== 0;
  // There is no penalty to take from elsewhere.
  const isInert = (name: string): boolean => name.startsWith("kl_") && !hasPenalty;
  refuseForeign(config, foreignOptions.rl, findings, { place, isInert });
}

/** Reads a checked configuration. */
export function toTrainingConfig(body: Static<typeof trainingConfigSchema>): TrainingConfig {
  const given: Record<string, unknown> = {};
  for (const [wire, field] of entries(configFields)) {
    const value = body[wire] ?? null;
    if (value !== null) given[field] = wire === "loss_fn" ? value === "ppo" : value;
  }
  // There is nothing to take the ratio of.
  if (body.precalculate_logprobs !== true) delete given["truncatedImportanceSampling"];
  // The schema gives each field the type that its domain field has.
  return resolveTrainingConfig(given);
}

/** The keys that were sent and have no effect, in their order: unknown ones, and one that needs another. */
export function keysNotApplied(body: Static<typeof trainingConfigSchema>): readonly string[] {
  const isTruncationLost =
    (body.truncated_importance_sampling ?? 0) > 0 && body.precalculate_logprobs !== true;
  return Object.entries(body).flatMap(([key, value]) => {
    if (key === "truncated_importance_sampling") return isTruncationLost ? [key] : [];
    const isKnown = Object.hasOwn(configFields, key) || Object.hasOwn(foreignOptions.rl, key);
    return isKnown || value === null ? [] : [key];
  });
}

/** As it takes effect, in the interface's spelling. */
export function trainingConfigBody(config: TrainingConfig): object {
  const written = entries(configFields).filter(([wire]) => !otherSpellings.includes(wire));
  return Object.fromEntries(written.map(([wire, field]) => [wire, config[field]]));
}

/** A record's entries with the types of its keys. */
function entries<Key extends string, Value>(record: Readonly<Record<Key, Value>>): readonly [Key, Value][] {
  return Object.entries(record) as [Key, Value][];
}
