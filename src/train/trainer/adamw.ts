// AdamW (Loshchilov and Hutter, 2019) over named float32 arrays. Decoupled weight decay, bias correction and clipping
// by the global norm match PyTorch. Plain loops in the calling thread, without I/O.
import { assert, present } from "../../base/domain/assert.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { OptimizerStep } from "./trainer.ts";

export interface AdamWOptions extends OptimizerStep {
  /** Returns true for the parameters to which weight decay applies. If absent, it applies to all parameters. */
  readonly decays?: (name: string) => boolean;
}

/** Optimizer settings for reinforcement learning jobs, without the learning rate, which each job sets. */
export const reinforcementLearningAdamW: Omit<OptimizerStep, "learningRate"> = {
  beta1: 0.9,
  beta2: 0.99,
  epsilon: 1e-8,
  weightDecay: 0.1,
  gradientNormMax: 0.1,
};

/** Optimizer settings for supervised jobs, without the learning rate, which each job sets. */
export const supervisedAdamW: Omit<OptimizerStep, "learningRate"> = {
  ...reinforcementLearningAdamW,
  weightDecay: 0,
  gradientNormMax: 1,
};

/** State of the AdamW optimizer. Its creator owns it; `adamWStep` updates it in place. */
export interface AdamWState {
  stepCount: number;
  /** Running mean of each parameter's gradient, by the parameter's name. */
  readonly firstMoments: ReadonlyMap<string, Float32Array>;
  /** Running mean of each parameter's squared gradient, by the parameter's name. */
  readonly secondMoments: ReadonlyMap<string, Float32Array>;
}

/** Returns the optimizer state before the first step: all moments are zero. */
export function createAdamWState(parameters: ReadonlyMap<string, Float32Array>): AdamWState {
  const zeros = (): Map<string, Float32Array> =>
    new Map([...parameters].map(([name, values]) => [name, new Float32Array(values.length)]));
  return { stepCount: 0, firstMoments: zeros(), secondMoments: zeros() };
}

/** Returns the Euclidean norm of all arrays' values together, computed in double precision. */
export function globalNorm(arrays: ReadonlyMap<string, Float32Array>): number {
  let sum = 0;
  for (const values of arrays.values()) sum += sumOfSquares(values);
  return Math.sqrt(sum);
}

function sumOfSquares(values: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < values.length; index++) sum += values[index] * values[index];
  return sum;
}

/**
 * Takes one optimizer step: changes `parameters` and `state` in place, but not `gradients`.
 *
 * @param gradients one array per parameter, of the parameter's length
 * @returns the global norm of the gradients before clipping
 * @throws ServiceError `unsupported` if a gradient is not finite; then nothing has changed
 */
export function adamWStep(
  state: AdamWState,
  parameters: ReadonlyMap<string, Float32Array>,
  gradients: ReadonlyMap<string, Float32Array>,
  options: AdamWOptions,
): { readonly gradientNorm: number } {
  const gradientNorm = globalNorm(gradients);
  if (!Number.isFinite(gradientNorm)) {
    throw new ServiceError({
      code: "unsupported",
      message: "A gradient is not finite, so training stopped; lower the learning rate or check the rewards.",
    });
  }
  state.stepCount += 1;
  const isClipped = options.gradientNormMax > 0;
  const scale = isClipped ? Math.min(1, options.gradientNormMax / (gradientNorm + 1e-6)) : 1;
  for (const [name, values] of parameters) {
    const gradient = present(gradients.get(name), `gradient of ${name}`);
    const first = present(state.firstMoments.get(name), `first moment of ${name}`);
    const second = present(state.secondMoments.get(name), `second moment of ${name}`);
    assert(
      gradient.length === values.length && first.length === values.length,
      `one gradient per value of ${name}`,
    );
    const decay = (options.decays?.(name) ?? true) ? options.weightDecay : 0;
    updateArray(values, gradient, first, second, {
      scale,
      keep: 1 - options.learningRate * decay,
      beta1: options.beta1,
      beta2: options.beta2,
      stepSize: options.learningRate / (1 - options.beta1 ** state.stepCount),
      secondCorrection: 1 / Math.sqrt(1 - options.beta2 ** state.stepCount),
      epsilon: options.epsilon,
    });
  }
  return { gradientNorm };
}

interface UpdateNumbers {
  readonly scale: number;
  readonly keep: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly stepSize: number;
  readonly secondCorrection: number;
  readonly epsilon: number;
}

function updateArray(
  values: Float32Array,
  gradient: Float32Array,
  first: Float32Array,
  second: Float32Array,
  numbers: UpdateNumbers,
): void {
  const { scale, keep, beta1, beta2, stepSize, secondCorrection, epsilon } = numbers;
  const rest1 = 1 - beta1;
  const rest2 = 1 - beta2;
  for (let index = 0; index < values.length; index++) {
    const slope = gradient[index] * scale;
    const mean = beta1 * first[index] + rest1 * slope;
    const square = beta2 * second[index] + rest2 * slope * slope;
    first[index] = mean;
    second[index] = square;
    values[index] =
      values[index] * keep - (stepSize * mean) / (Math.sqrt(square) * secondCorrection + epsilon);
  }
}
