// Default settings of a round's job: few large optimizer steps, with a learning rate that depends on how much the
// previous job changed the policy. Pure.
import type { TrainingConfig } from "./train-options.ts";

/** Maximum number of optimizer steps per round. Each step uses at least one group. */
const stepCountMax = 4;

/**
 * Learning rate of the first job, and bounds of later rates. The first rate is a compromise: it is low for very small
 * models; if it is too high for a larger model, the next job lowers it.
 */
const learningRate = { first: 5e-4, min: 1e-5, max: 2e-3 } as const;

/**
 * Target range for how much a job changes the policy: KL divergence from the sampling policy in nats per token,
 * averaged over the job's steps. If a job leaves the range, the next learning rate aims at the range's geometric mean,
 * `target`.
 */
const klRange = { low: 0.005, high: 0.03, target: 0.012 } as const;

/**
 * Bounds on the change of the learning rate from job to job. Increases are small, because noisy rewards would make
 * them overshoot; decreases may be large.
 */
const factor = { min: 0.25, max: 1.5 } as const;

/**
 * Minimum divergence that is not a rounding error. A job with one step reports less, because it measures the
 * divergence before that step.
 */
const klMeasurable = 1e-6;

/**
 * Options that set the size or the number of optimizer steps. If a run sets any of these options, the defaults of this
 * module do not apply.
 */
const stepOptions = ["learning_rate", "steps", "batch_size", "grad_accumulation_sequences"] as const;

/** Facts on which the settings of a round's job depend. */
export interface RoundFacts {
  /** Number of groups whose rewards differ. */
  readonly groupCount: number;
  /** Metrics of the newest version that was trained; empty if there is none. */
  readonly metrics: Readonly<Record<string, number>>;
}

/**
 * Returns the settings of a round's job: `chosen`, plus a default number of steps and learning rate unless `chosen` has
 * one of the step options.
 */
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
 * Increases the learning rate after a job that hardly changed the policy, and decreases it after one that changed it
 * too much. Schulman et al. (2017, section 4) adapt PPO's KL penalty in the same way. The rate depends only on the
 * newest version, so a resumed run continues with the same rate.
 */
function nextLearningRate(metrics: RoundFacts["metrics"]): number {
  const { first, min, max } = learningRate;
  const { "loss/learning_rate": rate, "loss/kl_div": kl } = metrics;
  if (rate === undefined || kl === undefined) return first;
  const next = rate * factorFor(kl);
  // Two significant digits suffice, and are easy to read in a job's settings.
  return Number(Math.min(Math.max(next, min), max).toPrecision(2));
}

/** The divergence grows with the square of the learning rate, so the factor is a square root. */
function factorFor(kl: number): number {
  if (kl < klMeasurable || (kl >= klRange.low && kl <= klRange.high)) return 1;
  return Math.min(Math.max(Math.sqrt(klRange.target / kl), factor.min), factor.max);
}
