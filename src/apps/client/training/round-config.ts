// Default settings of a round's job: few large steps, with a learning rate that depends on how far the previous job
// moved the policy. Pure.
import type { TrainingConfig } from "./train-options.ts";

/** Optimizer steps of a round: at most four, and at least one group of rollouts in each. */
const stepCountMax = 4;

/**
 * The first rate is a compromise: low for very small models, and corrected by the next job if too high for larger
 * ones.
 */
const learningRate = { first: 5e-4, min: 1e-5, max: 2e-3 } as const;

/**
 * Target range of a job's movement: KL divergence from the sampling policy, in nats per token, mean over its steps.
 * Outside it, the next rate aims at its geometric mean.
 */
const klRange = { low: 0.005, high: 0.03, target: 0.012 } as const;

/** Limits of the change of the rate between jobs: slow up, since noisy rewards make it overshoot, and fast down. */
const factor = { min: 0.25, max: 1.5 } as const;

/** Below this, the divergence is rounding: a job of one step measures it before that step. */
const klMeasurable = 1e-6;

/** Options that set the size or speed of steps. A run that sets one gets none of these defaults. */
const stepOptions = ["learning_rate", "steps", "batch_size", "grad_accumulation_sequences"] as const;

/** Facts of a round's job: its data and its start. */
export interface RoundFacts {
  /** Groups whose rewards differ. */
  readonly groupCount: number;
  /** Metrics of the newest version, which the previous job made. */
  readonly metrics: Readonly<Record<string, number>>;
}

/** Returns the settings of a round's job: `chosen`, with defaults for the steps if it has none of the step options. */
export function roundConfig(chosen: TrainingConfig | undefined, facts: RoundFacts): TrainingConfig {
  const isChosen = stepOptions.some((name) => (chosen?.[name] ?? null) !== null);
  if (isChosen) return { ...chosen };
  return {
    ...chosen,
    steps: Math.max(1, Math.min(stepCountMax, facts.groupCount)),
    learning_rate: nextLearningRate(facts.metrics),
  };
}

/**
 * Raises the rate after a job that hardly moved the policy and lowers it after one that moved it far, as Schulman et al.
 * (2017, section 4) adapt PPO's penalty. The rate is a function of the newest version, so a resumed run continues with it.
 */
function nextLearningRate(metrics: RoundFacts["metrics"]): number {
  const { first, min, max } = learningRate;
  const { "loss/learning_rate": rate, "loss/kl_div": kl } = metrics;
  if (rate === undefined || kl === undefined) return first;
  const next = rate * factorFor(kl);
  // Two digits are enough, and read well in a job's settings.
  return Number(Math.min(Math.max(next, min), max).toPrecision(2));
}

/** The divergence grows with the square of the rate, so the factor is a square root. */
function factorFor(kl: number): number {
  if (kl < klMeasurable || (kl >= klRange.low && kl <= klRange.high)) return 1;
  return Math.min(Math.max(Math.sqrt(klRange.target / kl), factor.min), factor.max);
}
