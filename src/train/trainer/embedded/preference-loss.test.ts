// Tests preference losses both as functions of a margin and as graph nodes, and checks that both agree in double
// precision. Covers worked numbers, finite differences, and policies equal to or far from their reference.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type PreferenceConfigInput,
  resolvePreferenceConfig,
} from "../../../base/domain/preferences/preference-config.ts";
import { seededRandom } from "../../../base/domain/random.ts";
import { searchCount, searchSeed } from "../../../base/domain/testing/search.ts";
import { GraphBuilder } from "../../../lib/graph/builder.ts";
import { gradient } from "../../../lib/graph/gradient.ts";
import type { Dense } from "../../../lib/graph/testing/dense.ts";
import { interpret } from "../../../lib/graph/testing/interpret.ts";
import { lossOfMargin } from "../losses/preference.ts";
import { preferenceLossOf } from "../trainer.ts";
import { addLoss } from "./loss.ts";

interface Computed {
  readonly loss: number;
  readonly slope: number;
}

/** Computes the loss with graph nodes, for a preference that has a single token. */
function computeGraph(margin: number, input: PreferenceConfigInput): Computed {
  const builder = new GraphBuilder();
  const logprobs_N = builder.input("logprobs", "float32", ["N"]);
  const { loss } = addLoss(builder, logprobs_N, preferenceLossOf(resolvePreferenceConfig(input)));
  const [slope_N] = gradient(builder, loss, [logprobs_N]);
  const list = (value: number): Dense => ({ dims: [1], data: Float64Array.of(value) });
  const outputs = interpret(builder.build({ loss, slope: slope_N }), {
    logprobs: list(0),
    preference_indices: list(0),
    margin_factors: list(1),
    margins_elsewhere: list(margin),
    preference_weights: list(1),
    reference_logprobs: list(0),
    loss_weights: list(1),
  });
  return { loss: outputs["loss"].data[0], slope: outputs["slope"].data[0] };
}

/** Computes the loss with the plain function, and checks it against the graph. */
function compute(margin: number, input: PreferenceConfigInput): Computed {
  const computed = lossOfMargin(margin, resolvePreferenceConfig(input));
  const nodes = computeGraph(margin, input);
  close(nodes.loss, computed.loss, 1e-12);
  close(nodes.slope, computed.slope, 1e-12);
  return computed;
}

function close(actual: number, expected: number, tolerance: number): void {
  const difference = Math.abs(actual - expected);
  assert.ok(difference <= tolerance * Math.max(1, Math.abs(expected)), `${actual} is not ${expected}`);
}

const worked: readonly (readonly [PreferenceConfigInput, number, number, number])[] = [
  // The loss is -log sigmoid(0.5), and its gradient is -0.1 times sigmoid(-0.5).
  [{ loss: "dpo" }, 5, 0.474077, -0.0377541],
  [{ loss: "dpo", labelSmoothing: 0.2 }, 5, 0.574077, -0.0177541],
  [{ loss: "ipo", beta: 0.5 }, 3, 4, 4],
  // The reward is beta times margin minus gamma: 2 · 0.5 - 0.5.
  [{ loss: "simpo" }, 0.5, 0.474077, -0.755081],
  [{ loss: "kto" }, 5, 0.377541, -0.0235004],
];

for (const [input, margin, loss, slope] of worked)
  test(`gives the worked numbers of ${JSON.stringify(input)}`, () => {
    const computed = compute(margin, input);
    close(computed.loss, loss, 1e-6);
    close(computed.slope, slope, 1e-6);
  });

test("if the policy equals its reference, both sides give the slope", () => {
  close(compute(0, { loss: "dpo", beta: 0.2 }).slope, -0.1, 1e-12);
  close(compute(0, { loss: "dpo" }).loss, Math.LN2, 1e-12);
  close(compute(0, { loss: "kto", beta: 0.2 }).slope, -0.05, 1e-12);
});

test("slopes are the derivatives of the loss, for all options and margins", () => {
  for (let each = 0; each < searchCount(60); each++) {
    const seed = `${searchSeed} ${each}`;
    const random = seededRandom("preference loss", seed);
    const loss = (["dpo", "ipo", "simpo", "kto"] as const)[random.index(4)];
    const input = {
      loss,
      beta: 0.05 + 2 * random.uniform(),
      labelSmoothing: 0.45 * random.uniform(),
      gamma: random.uniform(),
    };
    const margin = 20 * (random.uniform() - 0.5);
    const [above, below] = [1e-5, -1e-5].map((by) => compute(margin + by, input).loss);
    const { slope } = compute(margin, input);
    assert.ok(Math.abs((above - below) / 2e-5 - slope) < 1e-5, `seed ${seed}`);
  }
});

test("far from the reference, losses and slopes stay finite", () => {
  for (const loss of ["dpo", "simpo", "kto"] as const)
    for (const margin of [-1e5, 1e5]) {
      const computed = compute(margin, { loss, beta: 1 });
      assert.ok(Number.isFinite(computed.loss) && Number.isFinite(computed.slope), `${loss} ${margin}`);
    }
});
