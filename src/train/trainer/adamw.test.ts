// Compares AdamW with values computed by hand. golden.test.ts compares five steps with recorded reference values.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../../base/domain/service-error.ts";
import { adamWStep, createAdamWState, globalNorm, reinforcementLearningAdamW } from "./adamw.ts";

function named(values: Record<string, readonly number[]>): Map<string, Float32Array> {
  return new Map(Object.entries(values).map(([name, list]) => [name, Float32Array.from(list)]));
}

function close(actual: Float32Array | undefined, expected: readonly number[], tolerance = 1e-6): void {
  assert.ok(actual);
  expected.forEach((value, index) =>
    assert.ok(Math.abs(actual[index] - value) <= tolerance, `${actual[index]} is not ${value}`),
  );
}

test("decays each value, then moves it by the learning rate in the first step", () => {
  const parameters = named({ a: [1, -2], b: [0.5] });
  const state = createAdamWState(parameters);
  const { gradientNorm } = adamWStep(state, parameters, named({ a: [3, -4], b: [0] }), {
    ...reinforcementLearningAdamW,
    learningRate: 0.01,
  });
  assert.equal(gradientNorm, 5);
  close(parameters.get("a"), [1 * 0.999 - 0.01, -2 * 0.999 + 0.01]);
  close(parameters.get("b"), [0.5 * 0.999]);
  assert.equal(state.stepCount, 1);
});

test("clips by the global norm and reports the norm before clipping", () => {
  const options = { ...reinforcementLearningAdamW, learningRate: 0.01 };
  const parameters = named({ a: [0, 0] });
  const state = createAdamWState(parameters);
  adamWStep(state, parameters, named({ a: [30, 40] }), options);
  close(state.firstMoments.get("a"), [0.1 * 0.1 * 0.6, 0.1 * 0.1 * 0.8]);
  assert.equal(globalNorm(named({ a: [30], b: [40] })), 50);
});

test("never scales gradients if the maximum norm is 0", () => {
  const parameters = named({ a: [0, 0] });
  const state = createAdamWState(parameters);
  const options = { ...reinforcementLearningAdamW, gradientNormMax: 0, learningRate: 0.01 };
  adamWStep(state, parameters, named({ a: [30, 40] }), options);
  close(state.firstMoments.get("a"), [3, 4]);
});

test("decays only the selected parameters", () => {
  const parameters = named({ matrix: [1], bias: [1] });
  adamWStep(createAdamWState(parameters), parameters, named({ matrix: [0], bias: [0] }), {
    ...reinforcementLearningAdamW,
    learningRate: 0.1,
    decays: (name) => name === "matrix",
  });
  close(parameters.get("matrix"), [0.99]);
  close(parameters.get("bias"), [1]);
});

test("refuses non-finite gradients and changes nothing", () => {
  const parameters = named({ a: [1] });
  const state = createAdamWState(parameters);
  assert.throws(
    () =>
      adamWStep(state, parameters, named({ a: [NaN] }), { ...reinforcementLearningAdamW, learningRate: 1 }),
    (error) => error instanceof ServiceError && error.code === "unsupported",
  );
  assert.equal(state.stepCount, 0);
  close(parameters.get("a"), [1]);
});
