// Formats the progress line that a run prints while it trains.
import { type Recipe, stepCountOf } from "./recipe.ts";
import type { StepReport } from "./training-run.ts";

/**
 * Returns a function that formats one step as a line with the smoothed loss and the remaining time. The function takes
 * the seconds since this piece of the run began.
 *
 * @param stepsBefore number of steps taken before this piece
 * @returns the function, to be called for every step
 */
export function createProgressLine(
  recipe: Recipe,
  stepsBefore: number,
): (report: StepReport, seconds: number) => string {
  const tokensOfStep = recipe.rowCount * recipe.length;
  const total = stepCountOf(recipe);
  let smoothLoss: number | null = null;
  return ({ stepCount, loss, gradientNorm, learningRate }, seconds) => {
    smoothLoss = smoothLoss === null ? loss : 0.98 * smoothLoss + 0.02 * loss;
    const stepsPerSecond = (stepCount - stepsBefore) / seconds;
    const minutesLeft = (total - stepCount) / stepsPerSecond / 60;
    const tokens = `${((stepCount * tokensOfStep) / 1e6).toFixed(2)} of ${(recipe.tokenCount / 1e6).toFixed(0)} M tokens`;
    return (
      `step ${stepCount} of ${total}  ${tokens}  loss ${smoothLoss.toFixed(4)}  gradient ${gradientNorm.toFixed(2)}  ` +
      `rate ${learningRate.toExponential(1)}  ${Math.round(stepsPerSecond * tokensOfStep)} tokens/s  ${minutesLeft.toFixed(1)} min left`
    );
  };
}

/** Returns a function that returns true once per period. */
export function every(periodSeconds: number): (seconds: number) => boolean {
  let due = periodSeconds;
  return (seconds) => {
    if (seconds < due) return false;
    due = seconds + periodSeconds;
    return true;
  };
}
