// The losses of the Tinker API, as pure functions of log-probabilities (https://tinker-docs.thinkingmachines.ai). Each
// is a sum over targets, without averaging. For a gradient, only the derivative by each log-probability is needed.
import { invalid } from "../../../base/domain/service-error.ts";

export const lossNames = ["cross_entropy", "importance_sampling", "ppo", "cispo", "dro", "gspo"] as const;

export type LossName = (typeof lossNames)[number];

export interface SessionLoss {
  readonly name: LossName;
  readonly config: Readonly<Record<string, number>>;
}

/** Loss of one sequence, and its derivative by each target's log-probability. */
export interface SequenceLoss {
  readonly loss: number;
  readonly slopes: Float32Array;
}

/** Inputs that a loss needs, one value per target. */
export const lossInputs: { readonly [Name in LossName]: readonly string[] } = {
  cross_entropy: ["weights"],
  importance_sampling: ["logprobs", "advantages"],
  ppo: ["logprobs", "advantages"],
  cispo: ["logprobs", "advantages"],
  dro: ["logprobs", "advantages"],
  gspo: ["logprobs", "advantages", "sequence_ratio_mask"],
};

/** Options of each loss, with their defaults; null for an option that the client must set. */
export const lossOptions: { readonly [Name in LossName]: Readonly<Record<string, number | null>> } = {
  cross_entropy: {},
  importance_sampling: {},
  ppo: { clip_low_threshold: 0.8, clip_high_threshold: 1.2 },
  cispo: { clip_low_threshold: 0.8, clip_high_threshold: 1.2 },
  dro: { beta: 0.05 },
  // There are no defaults: the bounds for ratios of whole sequences are far closer to 1, and differ between recipes.
  gspo: { clip_low_threshold: null, clip_high_threshold: null },
};

/**
 * Adds the defaults to the options that a client sent.
 *
 * @throws ServiceError `invalid` for an unknown option, an option that is a text, or a missing option
 */
export function resolveLoss(name: LossName, sent: Readonly<Record<string, number | string>>): SessionLoss {
  const options = lossOptions[name];
  for (const [option, value] of Object.entries(sent)) {
    if (!(option in options))
      throw invalid(
        `loss_fn_config has ${JSON.stringify(option)}, which the loss ${name} lacks; it has ${Object.keys(options).join(", ") || "no options"}.`,
      );
    if (typeof value !== "number" || !Number.isFinite(value))
      throw invalid(`${option} of loss_fn_config is ${JSON.stringify(value)}; it must be a finite number.`);
  }
  const config = { ...options, ...sent };
  const missing = Object.keys(options).find((option) => config[option] === null);
  if (missing !== undefined) throw invalid(`The loss ${name} needs ${missing} in loss_fn_config.`);
  // Safe cast: no value is null or a text.
  return { name, config: config as Readonly<Record<string, number>> };
}

/** Computes the loss of one sequence from the current log-probability of each target. */
export function sequenceLoss(
  { name, config }: SessionLoss,
  inputs: Readonly<Record<string, Float32Array>>,
  logprobs: Float32Array,
): SequenceLoss {
  const { clip_low_threshold: low, clip_high_threshold: high, beta } = config;
  if (name === "cross_entropy") return summed(logprobs, (at) => weighed(inputs["weights"][at], logprobs[at]));
  const { advantages, logprobs: old, sequence_ratio_mask: marks } = inputs;
  const shared = name === "gspo" ? meanDifference(logprobs, old, marks) : 0;
  return summed(logprobs, (at) => {
    const [logprob, advantage] = [logprobs[at], advantages[at]];
    const difference = logprob - old[at];
    const ratio = Math.exp(name === "gspo" ? shared : difference);
    const clipped = Math.min(Math.max(ratio, low), high);
    switch (name) {
      case "importance_sampling":
        return [-ratio * advantage, -ratio * advantage];
      case "cispo":
        return [-clipped * advantage * logprob, -clipped * advantage];
      case "dro":
        return [-(logprob * advantage - 0.5 * beta * difference ** 2), -(advantage - beta * difference)];
      default: {
        const isHeld = clipped * advantage < ratio * advantage;
        return isHeld ? [-clipped * advantage, 0] : [-ratio * advantage, -ratio * advantage];
      }
    }
  });
}

function weighed(weight: number, logprob: number): readonly [loss: number, slope: number] {
  // If the weight is 0, the log-probability may be infinite, and the product would be NaN.
  return [weight === 0 ? 0 : -weight * logprob, -weight];
}

function summed(
  logprobs: Float32Array,
  lossAt: (at: number) => readonly [loss: number, slope: number],
): SequenceLoss {
  const slopes = new Float32Array(logprobs.length);
  let loss = 0;
  for (let at = 0; at < logprobs.length; at++) {
    const [value, slope] = lossAt(at);
    loss += value;
    slopes[at] = slope;
  }
  return { loss, slopes };
}

/** Returns the mean log ratio over the targets whose mark is not 0; 0 if there are none. */
function meanDifference(logprobs: Float32Array, old: Float32Array, marks: Float32Array): number {
  let [sum, count] = [0, 0];
  for (let at = 0; at < logprobs.length; at++) {
    if (marks[at] === 0) continue;
    sum += logprobs[at] - old[at];
    count += 1;
  }
  return count === 0 ? 0 : sum / count;
}
