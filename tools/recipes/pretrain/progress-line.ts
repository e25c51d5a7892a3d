// The progress line that a run prints while it trains.
import { type Recipe, stepCountOf } from "./recipe.ts";
import type { StepReport } from "./training-run.ts";

/**
 * Keeps a smooth loss over the steps that it is shown, and writes each as a line with the time left.
 *
 * @param stepsBefore taken before this piece began
 * @returns the line of a step, given the seconds since the piece began
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

/** True once per period. */
export function every(periodSeconds: number): (seconds: number) => boolean {
  let due = periodSeconds;
  return (seconds) => {
    if (seconds < due) return false;
    due = seconds + periodSeconds;
    return true;
  };
}
