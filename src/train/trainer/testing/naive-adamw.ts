// A reference for adamw.ts: AdamW and sums of gradients in double precision, written directly from the formulas. All
// functions return new values and modify none.
import { present } from "../../../base/domain/assert.ts";
import type { OptimizerStep } from "../trainer.ts";

/** Values of each adapter matrix, by the matrix's name. */
export type Matrices = ReadonlyMap<string, Float64Array>;

/** All values that training changes. Each step creates a new state instead of modifying the old one. */
export interface NaiveState {
  readonly stepCount: number;
  readonly matrices: Matrices;
  readonly firstMoments: Matrices;
  readonly secondMoments: Matrices;
}

/**
 * Returns the state after one AdamW step. Follows the paper (arXiv:1711.05101, algorithm 2), with the gradient clipped
 * by its global norm.
 */
export function steppedState(
  state: NaiveState,
  gradients: Matrices,
  norm: number,
  step: OptimizerStep,
): NaiveState {
  const stepCount = state.stepCount + 1;
  const scale = step.gradientNormMax > 0 ? Math.min(1, step.gradientNormMax / (norm + 1e-6)) : 1;
  const each = (compute: (name: string, index: number) => number): Matrices => {
    const computed = (name: string, values: Float64Array): Float64Array =>
      values.map((_, index) => compute(name, index));
    return new Map([...state.matrices].map(([name, values]) => [name, computed(name, values)]));
  };
  const of = (named: Matrices, name: string, index: number): number => present(named.get(name), name)[index];
  const slope = (name: string, index: number): number => of(gradients, name, index) * scale;
  const firstMoments = each(
    (name, index) => step.beta1 * of(state.firstMoments, name, index) + (1 - step.beta1) * slope(name, index),
  );
  const secondMoments = each(
    (name, index) =>
      step.beta2 * of(state.secondMoments, name, index) + (1 - step.beta2) * slope(name, index) ** 2,
  );
  const matrices = each((name, index) => {
    const value = of(state.matrices, name, index);
    const mean = of(firstMoments, name, index) / (1 - step.beta1 ** stepCount);
    const square = of(secondMoments, name, index) / (1 - step.beta2 ** stepCount);
    const decayed = value - step.learningRate * step.weightDecay * value;
    return decayed - (step.learningRate * mean) / (Math.sqrt(square) + step.epsilon);
  });
  return { stepCount, matrices, firstMoments, secondMoments };
}

/** Returns the sum of two gradients; returns `right` if `left` is null. */
export function sumOf(left: Matrices | null, right: Matrices): Matrices | null {
  if (left === null) return right;
  const added = (name: string, values: Float64Array): Float64Array =>
    values.map((value, index) => value + present(right.get(name), name)[index]);
  return new Map([...left].map(([name, values]) => [name, added(name, values)]));
}
