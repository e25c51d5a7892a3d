// Training settings of a job, under the names of the API and of other trainers' clients. Null and absent mean the
// default; two names of one option must agree unless one takes precedence. Known but unsupported options are refused,
// and unknown ones are reported.
import { Type, type Static, type TSchema } from "typebox";
import { basePrecisions } from "../../../base/domain/trainer/base-precision.ts";
import {
  importanceSamplingLevels,
  klPenaltySources,
  resolveTrainingConfig,
  type TrainingConfig,
} from "../../../base/domain/training-config.ts";
import { isObject, report, type Findings } from "../../../base/validation/findings.ts";
import { nullable } from "../nullable.ts";
import { foreignOptions, foreignProperties, refuseForeign } from "./foreign-options.ts";

const defaults = resolveTrainingConfig({});
const ppoDefaults = resolveTrainingConfig({ ppo: true });

/** One of the names of a training option that Hone supports. */
interface Option {
  readonly reads: keyof TrainingConfig;
  readonly schema: TSchema;
  /** The option's primary name, which is used in responses. Absent if this name is the primary one. */
  readonly spells?: string;
  /**
   * True if the value under this name takes precedence over the value under the primary name. If absent, both names
   * must have the same value when a request contains both.
   */
  readonly wins?: true;
  /** Converts a request's value to the domain's form; absent if the two forms are equal. */
  read?(this: void, value: unknown): unknown;
}

/**
 * The type of the schema if the training option accepts every value that the schema allows. Otherwise `never`, so that
 * the row does not compile.
 */
type SchemaOf<Schema extends TSchema, Reads extends keyof TrainingConfig> =
  Static<Schema> extends NonNullable<TrainingConfig[Reads]> ? Schema : never;

function option<Reads extends keyof TrainingConfig, Schema extends TSchema>(
  reads: Reads,
  schema: SchemaOf<Schema, Reads>,
  description: string,
  otherwise?: string,
): Option {
  const value = defaults[reads];
  const keywords = {
    description,
    ...(value === null ? {} : { default: value }),
    ...(otherwise === undefined ? {} : { "x-default": otherwise }),
  };
  return { reads, schema: nullable(schema, keywords) };
}

/** Maximum number of sequences, and of passes over the data. Larger numbers are probably mistakes. */
const [sequencesMax, passesMax] = [1_000_000, 1000];

const atLeastZero = Type.Number({ minimum: 0 });
const sequencesOfStep = Type.Integer({ minimum: 1, maximum: sequencesMax });
const passes = Type.Integer({ minimum: 1, maximum: passesMax });

/**
 * Options by name, in the order in which answers show them. If a request contains two names of an option, the later one
 * in this list takes precedence.
 */
const options: Readonly<Record<string, Option>> = {
  advantage_balance: option(
    "advantageBalance",
    Type.Number({ minimum: -1, maximum: 1 }),
    "Balance between advantages, from -1 to 1: a positive value shrinks negative advantages, a negative value shrinks positive advantages. 0 changes nothing.",
  ),
  allow_training_without_logprobs: option(
    "allowTrainingWithoutLogprobs",
    Type.Boolean(),
    "True to also train on the text of assistant messages that are not Choices, and of Choices without token ids. These tokens have no recorded log-probabilities, so each step uses the log-probabilities that the model gives them before the step.",
  ),
  base_precision: option(
    "basePrecision",
    Type.Enum([...basePrecisions]),
    "Precision of multiplications with the base model's weights. int8 makes steps faster but rounds the weights; the job reports how much this changes log-probabilities.",
    "float32",
  ),
  batch_size: option(
    "batchSize",
    sequencesOfStep,
    "Number of sequences per optimizer step. Cannot be combined with steps.",
    "1; with the server setting training.batchTokens, as many as fit into that many tokens",
  ),
  grad_accumulation_sequences: {
    ...option("batchSize", sequencesOfStep, "Alias of batch_size.", "as batch_size"),
    spells: "batch_size",
  },
  epsilon: option(
    "epsilon",
    atLeastZero,
    "Ratios of new to old probability are clipped to a minimum of 1 - epsilon.",
    `${defaults.epsilon}; ${ppoDefaults.epsilon} with ppo`,
  ),
  epsilon_high: option(
    "epsilonHigh",
    atLeastZero,
    "Ratios of new to old probability are clipped to a maximum of 1 + epsilon_high.",
    `${defaults.epsilonHigh}; epsilon with ppo`,
  ),
  importance_sampling_level: option(
    "importanceSamplingLevel",
    Type.Enum([...importanceSamplingLevels]),
    "Level of the ratio of new to old probability. `token`: each token's own ratio. `sequence`: the geometric mean of these ratios over the sequence. `average` and `geometric_average`: the arithmetic or geometric mean of the ratios of both levels.",
  ),
  vendor_k2_tau: option(
    "k2Tau",
    atLeastZero,
    "Weight of a penalty on the squared difference between each token's new and old log-probability. 0 disables it.",
  ),
  kimi_k2_tau: {
    ...option("k2Tau", atLeastZero, "Alias of vendor_k2_tau."),
    spells: "vendor_k2_tau",
  },
  kl_penalty_coef: option(
    "klPenaltyCoefficient",
    atLeastZero,
    "Strength of a KL penalty that keeps the model near its base model. The penalty lowers the advantage of tokens that the model finds more probable than the base model does, and raises the advantage of the other tokens by the same total. 0 disables the penalty; otherwise each step needs a forward pass of the base model.",
  ),
  kl_penalty_source: option(
    "klPenaltySource",
    Type.Enum([...klPenaltySources]),
    "Log-probabilities that the KL penalty compares with the base model's: those of the model in training (`current_learner`), or those recorded when the answers were sampled (`sample`).",
  ),
  learning_rate: option(
    "learningRate",
    Type.Number({ exclusiveMinimum: 0 }),
    "AdamW's learning rate, the same at each step.",
  ),
  mask_prob_ratio: option(
    "maskProbRatio",
    Type.Boolean(),
    "True to exclude tokens whose ratio of new to old probability is outside the bounds that epsilon and epsilon_high set, instead of clipping the ratio.",
  ),
  max_grad_norm: option(
    "gradientNormMax",
    Type.Number({ minimum: 0, maximum: 1e9 }),
    "Maximum gradient norm; larger gradients are scaled down to it. 0 disables clipping.",
    "0.1",
  ),
  max_kl_update: option(
    "klUpdateMax",
    atLeastZero,
    "Maximum change of the policy by the job, in nats per token (the metric loss/kl_update). A job that exceeds it fails and makes no version. 0 disables the limit.",
    "0",
  ),
  max_negative_advantage_importance_sampling_weight: option(
    "maxNegativeAdvantageImportanceSamplingWeight",
    atLeastZero,
    "Maximum ratio of new to old probability, not only for negative advantages but for all. 0 disables the maximum.",
  ),
  num_trajectories_learning_rate_multiplier_power: option(
    "learningRatePower",
    Type.Number({ minimum: 0, maximum: 10 }),
    "Exponent p by which larger steps get a higher learning rate: in a step with n sequences, the learning rate is multiplied by n to the power p.",
  ),
  packed_sequence_length: option(
    "packedSequenceLength",
    Type.Integer({ minimum: 2, maximum: 1_048_576 }),
    "Maximum length of a sequence in tokens; longer sequences are left out. If the server setting training.batchTokens is above 0, this field also replaces that setting as the number of tokens per step.",
    "the server setting training.sequenceLengthMax",
  ),
  passes: option("passCount", passes, "Number of passes over the sequences, each in a different order."),
  num_epochs: {
    ...option("passCount", passes, "Alias of passes."),
    spells: "passes",
  },
  ppo: option(
    "ppo",
    Type.Boolean(),
    "True for the loss PPO, false for CISPO. They differ in how ratios are clipped.",
  ),
  loss_fn: {
    reads: "ppo",
    schema: nullable(Type.Enum(["cispo", "ppo"]), {
      description: "Name of the loss; takes precedence over ppo.",
      default: "cispo",
    }),
    spells: "ppo",
    wins: true,
    read: (name) => name === "ppo",
  },
  precalculate_logprobs: option(
    "precalculateLogprobs",
    Type.Boolean(),
    "True to compute the old log-probabilities with the start version before the first step, instead of using the recorded ones.",
  ),
  scale_rewards: option(
    "scaleRewards",
    Type.Boolean(),
    "True to divide a group's advantages by the standard deviation of its rewards.",
  ),
  normalize_advantages: {
    ...option("scaleRewards", Type.Boolean(), "Alias of scale_rewards; takes precedence over it."),
    spells: "scale_rewards",
    wins: true,
  },
  steps: option(
    "stepCount",
    sequencesOfStep,
    "Number of optimizer steps per pass, at most one per sequence. The sequences are divided evenly among the steps. Cannot be combined with batch_size.",
    "follows from batch_size",
  ),
  truncated_importance_sampling: option(
    "truncatedImportanceSampling",
    atLeastZero,
    "With precalculate_logprobs: maximum weight of a token, where the weight is the ratio of the token's computed to its recorded probability. 0 disables the weights. Ignored without precalculate_logprobs.",
  ),
  weight_decay: option(
    "weightDecay",
    Type.Number({ minimum: 0, maximum: 10 }),
    "AdamW's weight decay. Each step shrinks weights by this value times the learning rate.",
    "0.1",
  ),
};

const schemas = Object.entries(options).map(([name, { schema }]) => [name, schema] as const);

export const trainingConfigSchema = Type.Object(
  { ...Object.fromEntries(schemas), ...foreignProperties(foreignOptions.rl) },
  { title: "ExperimentalTrainingConfig" },
);

type ConfigBody = Readonly<Record<string, unknown>>;

/** Adds faults of the settings that the schema cannot detect. */
export function checkTrainingConfig(config: unknown, findings: Findings): void {
  if (!isObject(config)) return;
  const place = "experimental_config";
  for (const [other, { spells: one, wins }] of Object.entries(options)) {
    if (one === undefined || wins === true) continue;
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
  // The options of a KL penalty have no effect without the penalty, so any value is then accepted.
  const isInert = (name: string): boolean => name.startsWith("kl_") && !hasPenalty;
  refuseForeign(config, foreignOptions.rl, findings, { place, isInert });
}

/** Converts checked training settings to the domain's form. */
export function toTrainingConfig(body: ConfigBody): TrainingConfig {
  const given: Record<string, unknown> = {};
  for (const [name, { reads, read = asItIs }] of Object.entries(options)) {
    const value = body[name] ?? null;
    if (value !== null) given[reads] = read(value);
  }
  // This option limits a token's recomputed probability divided by its recorded one. Without recomputation, it has no
  // effect.
  if (body["precalculate_logprobs"] !== true) delete given["truncatedImportanceSampling"];
  // Safe cast: the schema gives each option the type that it has in the domain.
  return resolveTrainingConfig(given);
}

function asItIs(value: unknown): unknown {
  return value;
}

/**
 * Returns the names of settings in a request that have no effect, in the order of the request. These are unknown
 * options, and `truncated_importance_sampling` without the option that it requires.
 */
export function keysNotApplied(body: ConfigBody): readonly string[] {
  return Object.entries(body).flatMap(([key, value]) => {
    if (value === null) return [];
    if (key === "truncated_importance_sampling")
      return value !== 0 && body["precalculate_logprobs"] !== true ? [key] : [];
    return Object.hasOwn(options, key) || Object.hasOwn(foreignOptions.rl, key) ? [] : [key];
  });
}

/** Converts a job's training settings to an answer, under their primary names. */
export function trainingConfigBody(config: TrainingConfig): object {
  const written = Object.entries(options).filter(([, { spells }]) => spells === undefined);
  return Object.fromEntries(written.map(([name, { reads }]) => [name, config[reads]]));
}
