// How a job trains, as the interface and clients of other makers spell it. Null and absent mean the default; what two
// spellings of one field say is one of them's, or refused; what is not applied is named.
import { Type, type Static, type TProperties } from "typebox";
import {
  importanceSamplingLevels,
  resolveTrainingConfig,
  type TrainingConfig,
} from "../../domain/training-config.ts";
import { isObject, report, type Findings } from "../../validation/findings.ts";
import { is, never, type AsksNothing } from "../body.ts";
import { nullable } from "../nullable.ts";

const defaults = resolveTrainingConfig({});
const ppoDefaults = resolveTrainingConfig({ ppo: true });

const lossFunctions = ["cispo", "ppo"] as const;

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
    description: "Of AdamW.",
    default: defaults.learningRate,
  }),
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
    description: "Tokens of a packed row; a longer sequence is left out.",
    "x-default": "left to the server",
  }),
};

/** A field that clients of other makers send, and for which values nothing is missing. */
function foreign(asksNothing: AsksNothing, description: string) {
  return { asksNothing, property: nullable(Type.Unknown(), { description }) };
}

const anyValue: AsksNothing = () => true;

/** Fields of other trainers. One whose value asks for what is done here is accepted; any other is named as not applied. */
const foreignFields = {
  kl_penalty_reference_step: foreign(is(0), "The base model is the reference: applied where it is 0."),
  kl_penalty_source: foreign(is("current_learner"), 'Applied where it is "current_learner".'),
  kl_penalty_step_lag: foreign(never, "Not applied: the base model is the reference."),
  kl_ref_adapter_path: foreign(never, "Not applied: the base model is the reference."),
  logprob_calculation_chunk_size: foreign(anyValue, "Accepted: the memory that training takes has settings."),
  num_trajectories_learning_rate_multiplier_power: foreign(is(0), "Applied where it is 0."),
  plot_tensors: foreign(is(false), "Applied where it is false."),
  scale_learning_rate_by_reward_std_dev: foreign(is(false), "Applied where it is false."),
} as const;

const foreignProperties: TProperties = Object.fromEntries(
  Object.entries(foreignFields).map(([name, { property }]) => [name, property]),
);

const appliedSchema = Type.Object(appliedProperties);

export const trainingConfigSchema = Type.Object(
  { ...appliedProperties, ...foreignProperties },
  { title: "ExperimentalTrainingConfig" },
);

type AppliedBody = Static<typeof appliedSchema>;

/** The fields that take effect; of two spellings of one field the later wins where both are given. */
const configFields = {
  advantage_balance: "advantageBalance",
  allow_training_without_logprobs: "allowTrainingWithoutLogprobs",
  epsilon: "epsilon",
  epsilon_high: "epsilonHigh",
  importance_sampling_level: "importanceSamplingLevel",
  kimi_k2_tau: "k2Tau",
  vendor_k2_tau: "k2Tau",
  kl_penalty_coef: "klPenaltyCoefficient",
  learning_rate: "learningRate",
  mask_prob_ratio: "maskProbRatio",
  max_negative_advantage_importance_sampling_weight: "maxNegativeAdvantageImportanceSamplingWeight",
  packed_sequence_length: "packedSequenceLength",
  ppo: "ppo",
  loss_fn: "ppo",
  precalculate_logprobs: "precalculateLogprobs",
  scale_rewards: "scaleRewards",
  normalize_advantages: "scaleRewards",
  truncated_importance_sampling: "truncatedImportanceSampling",
} as const satisfies { readonly [Field in keyof AppliedBody]-?: keyof TrainingConfig };

/** Of a field with two spellings, the one that answers do without. */
const otherSpellings: readonly string[] = ["kimi_k2_tau", "loss_fn", "normalize_advantages"];

/** Adds what the schema cannot say of a configuration. */
export function checkTrainingConfig(config: unknown, findings: Findings): void {
  if (!isObject(config)) return;
  const { vendor_k2_tau: vendor, kimi_k2_tau: kimi } = config;
  if (typeof vendor !== "number" || typeof kimi !== "number" || vendor === kimi) return;
  const message = `Value error, vendor_k2_tau is ${vendor} and kimi_k2_tau is ${kimi}; they are two spellings of one field, give one.`;
  report(findings, "value_error", message, "experimental_config", "kimi_k2_tau");
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

/** The keys that were sent and ask for something that is not done, in their order. */
export function keysNotApplied(body: Static<typeof trainingConfigSchema>): readonly string[] {
  const hasPenalty = (body.kl_penalty_coef ?? 0) > 0;
  const isTruncationLost =
    (body.truncated_importance_sampling ?? 0) > 0 && body.precalculate_logprobs !== true;
  return Object.entries(body).flatMap(([key, value]) => {
    if (key === "truncated_importance_sampling") return isTruncationLost ? [key] : [];
    if (Object.hasOwn(configFields, key)) return [];
    const isInert = value === null || (key.startsWith("kl_") && !hasPenalty);
    return isInert || asksNothing(key, value) ? [] : [key];
  });
}

function asksNothing(key: string, value: unknown): boolean {
  const field = entries(foreignFields).find(([name]) => name === key);
  return field !== undefined && field[1].asksNothing(value);
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
