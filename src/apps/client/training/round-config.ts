// The settings of a round's job where a run leaves them open: few large steps, at a learning rate that depends on how far the
// job before moved the policy. Pure.
import type { TrainingConfig } from "./train-options.ts";

/** Optimizer steps of a round: at most four, and at least one group of rollouts in each. */
const stepCountMax = 4;

/**
 * The first is a compromise: low for very small models, and corrected by the next job if it is too high for a larger one.
 */
const learningRate = { first: 5e-4, min: 1e-5, max: 2e-3 } as const;

/**
 * How far a job should move the policy: KL divergence from the policy that sampled, in nats a token, mean over the job's
 * steps. Outside this range, the next rate aims at its geometric mean.
 */
const klRange = { low: 0.005, high: 0.03, target: 0.012 } as const;

/** How much a rate changes from one job to the next: slowly up, since it overshoots where rewards are noisy, and fast down. */
const factor = { min: 0.25, max: 1.5 } as const;

/** Below this, the divergence is rounding: a job of one step measures it before that step. */
const klMeasurable = 1e-6;

/** Options that set how large steps are or how fast they go. A run that sets one of them gets none of the defaults here. */
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
