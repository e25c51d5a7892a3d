// Compares each gradient rule with central finite differences in float64.
import assert from "node:assert/strict";
import { test } from "node:test";
import { buildCase, compositeCases, differentiateCase, opCases } from "../../../test/op-cases.ts";
import type { OpCase } from "../../../test/op-cases.ts";
import { present } from "../../base/domain/assert.ts";
import { GraphBuilder } from "./builder.ts";
import { toDense } from "./testing/dense.ts";
import type { Dense } from "./testing/dense.ts";
import { gradientRules, NOT_DIFFERENTIABLE } from "./gradient-rules.ts";
import { gradient } from "./gradient.ts";
import type { Graph, OpKind, Value } from "./graph.ts";
import { interpret } from "./testing/interpret.ts";
import { printGraph } from "./testing/print.ts";
import { recomputed } from "./recompute.ts";

const STEP = 1e-5;
/** Maximum number of elements varied per input. */
const SAMPLES = 15;
const kinds = Object.keys(opCases) as OpKind[];
/** Rounding operations have no slope that finite differences could show; a separate test covers them. */
const rounding: ReadonlySet<OpKind> = new Set(["int8MatMul", "int8LinearLogprob"]);
const differentiable = kinds.filter(
  (kind) => gradientRules[kind] !== NOT_DIFFERENTIABLE && !rounding.has(kind),
);

test("each differentiable operation has an example whose gradient is checked", () => {
  const checked = new Set<OpKind>();
  for (const kind of differentiable) {
    for (const opCase of opCases[kind]) {
      for (const passed of check(opCase, kind)) checked.add(passed);
    }
  }
  const missing = differentiable.filter((kind) => !checked.has(kind));
  assert.deepEqual(missing, []);
});

for (const [name, opCase] of Object.entries(compositeCases)) {
  test(`the gradient of ${name} equals finite differences`, () => {
    check(opCase, name);
  });
}

test("the gradient of an 8-bit product is the rounded gradient times the same weights", () => {
  const builder = new GraphBuilder();
  const x = builder.input("x", "float32", ["B", 3]);
  const weight = builder.constant("int8", [3, 2], [1, -127, 127, 0, -50, 3]);
  const scales = builder.constant("float32", [2], [0.5, 0.25]);
  const factors = builder.input("factors", "float32", ["B", 2]);
  const product = builder.int8MatMul(x, weight, scales);
  const [slope] = gradient(builder, builder.reduceSum(builder.multiply(product, factors)), [x]);
  const outputs = interpret(builder.build({ slope: present(slope, "a gradient") }), {
    x: { dims: [2, 3], data: Float64Array.of(1, 2, 3, 4, 5, 6) },
    factors: { dims: [2, 2], data: Float64Array.of(6, -8, 0.2, 50.8) },
  });
  // The scaled factors (3, -2) are rounded to (127, -85) steps of 3/127, and (0.1, 12.7) to (1, 127) steps of 0.1.
  const row = (one: number, other: number, step: number): readonly number[] => [
    step * (one - 127 * other),
    step * (127 * one),
    step * (-50 * one + 3 * other),
  ];
  const expected = [...row(127, -85, 3 / 127), ...row(1, 127, 0.1)];
  present(outputs["slope"], "a slope").data.forEach((value, index) =>
    assert.ok(Math.abs(value - present(expected[index], "a number")) < 1e-9, `${index}: ${value}`),
  );
});

test("the gradient of log-probabilities under 8-bit weights equals that under the dequantized weights", () => {
  const builder = new GraphBuilder();
  const x = builder.input("x", "float32", [2, 2]);
  const ids = builder.constant("int64", [2], [2, 0]);
  const weight = {
    codes: builder.constant("int8", [2, 3], [1, 127, -50, -127, 0, 3]),
    scales: builder.constant("float32", [3], [0.01, 0.02, 0.03]),
  };
  const floats = builder.constant("float32", [3, 2], [0.01, -1.27, 2.54, 0, -1.5, 0.09]);
  const slopeOf = ({ logprobs }: { readonly logprobs: Value }): Value =>
    present(gradient(builder, builder.reduceSum(logprobs), [x])[0], "a gradient");
  const graph = builder.build({
    rounded: slopeOf(builder.int8LinearLogprob(x, weight, ids)),
    exact: slopeOf(builder.linearLogprob(x, floats, ids)),
  });
  // Rounding leaves these rows unchanged, because they consist of whole steps.
  const outputs = interpret(graph, { x: { dims: [2, 2], data: Float64Array.of(1.27, -0.5, 0.2, 1.27) } });
  const exact = present(outputs["exact"], "a gradient").data;
  present(outputs["rounded"], "a gradient").data.forEach((value, index) =>
    assert.ok(Math.abs(value - present(exact[index], "a number")) < 1e-9, `${index}: ${value}`),
  );
});

test("the gradient of 8-bit products with experts equals that under the dequantized weights", () => {
  const builder = new GraphBuilder();
  const x = builder.input("x", "float32", [3, 2]);
  const experts = builder.constant("int64", [3], [1, 0, 1]);
  const codes = [10, -127, 127, 0, -50, 3, 90, 77, -5, 64, 31, -100];
  const parts = [builder.constant("int8", [2, 2, 3], codes), builder.full([2, 3], 0.5)];
  const byRow = [0, 1].flatMap((expert) =>
    [0, 1, 2].flatMap((n) => [0, 1].map((k) => 0.5 * codes[6 * expert + 3 * k + n])),
  );
  const floats = builder.constant("float32", [2, 3, 2], byRow);
  const factors = builder.input("factors", "float32", [3, 3]);
  const slopeOf = (form: "int8" | "float32"): Value => {
    const options = { tileRows: 2, isTransposed: false };
    const product = builder.expertMatMul(x, experts, form === "int8" ? parts : [floats], options);
    const loss = builder.reduceSum(builder.multiply(product, factors));
    return present(gradient(builder, loss, [x])[0], "a gradient");
  };
  const graph = builder.build({ rounded: slopeOf("int8"), exact: slopeOf("float32") });
  const outputs = interpret(graph, {
    x: { dims: [3, 2], data: Float64Array.of(1, 2, 3, 4, 5, 6) },
    factors: { dims: [3, 3], data: Float64Array.of(3, -2, 0.1, 12.7, 1, 4, -5, 0.5, 7) },
  });
  assert.deepEqual(outputs["rounded"], outputs["exact"]);
});

test("a frozen weight gets no gradient work", () => {
  const builder = new GraphBuilder();
  const x = builder.input("x", "float32", ["B", 3]);
  const frozen = builder.parameter("frozen", [4, 3]);
  const wanted = builder.parameter("wanted", [4]);
  const first = builder.exp(builder.matMul(x, frozen, { transposeB: true }));
  const loss = builder.reduceSum(builder.multiply(first, wanted));
  const [slope] = gradient(builder, loss, [wanted]);
  const text = printGraph(builder.build({ slope: present(slope, "a gradient") }));
  assert.equal(text.match(/matMul/g)?.length, 1, text);
});

test("a value that the loss does not depend on gets zeros, and stopGradient stops the gradient", () => {
  const builder = new GraphBuilder();
  const x = builder.input("x", "float32", ["B"]);
  const y = builder.input("y", "float32", [2]);
  const loss = builder.reduceSum(builder.multiply(x, builder.stopGradient(x)));
  const [byX, byY] = gradient(builder, loss, [x, y]);
  const graph = builder.build({ byX: present(byX, "byX"), byY: present(byY, "byY") });
  const feed = { dims: [2], data: Float64Array.of(3, 5) };
  const outputs = interpret(graph, { x: feed, y: feed });
  assert.deepEqual([...present(outputs["byX"], "byX").data], [3, 5]);
  assert.deepEqual([...present(outputs["byY"], "byY").data], [0, 0]);
});

test("the gradient of a recomputed part reads copies, made after the incoming gradient, and kept values", () => {
  const builder = new GraphBuilder();
  const x = builder.input("x", "float32", ["B", 3]);
  const y = recomputed(builder, [x], (start) =>
    builder.sigmoid(builder.kept(builder.tanh(builder.exp(start)))),
  );
  const [slope] = gradient(builder, builder.reduceSum(builder.multiply(y, y)), [x]);
  const graph = builder.build({ slope: present(slope, "a gradient"), y });
  const count = (kind: OpKind): number => graph.nodes.filter((node) => node.kind === kind).length;
  assert.deepEqual([count("exp"), count("tanh"), count("sigmoid")], [2, 1, 2], printGraph(graph));
  const producers = new Map(graph.nodes.flatMap((node) => node.outputs.map(({ id }) => [id, node] as const)));
  const copies = graph.nodes.filter(({ kind }) => kind === "exp" || kind === "sigmoid").slice(2);
  for (const { inputs } of copies) {
    assert.equal(producers.get(present(inputs[0], "an operand").id)?.kind, "after", printGraph(graph));
  }
});

test("integers have no slope, also between two casts", () => {
  const builder = new GraphBuilder();
  const x = builder.input("x", "float32", [2]);
  const whole = builder.cast(builder.cast(x, "int64"), "float32");
  const [slope] = gradient(builder, builder.reduceSum(builder.multiply(whole, 3)), [x]);
  const graph = builder.build({ slope: present(slope, "a gradient") });
  const feed = { dims: [2], data: Float64Array.of(3.5, 5.5) };
  assert.deepEqual([...present(interpret(graph, { x: feed })["slope"], "slope").data], [0, 0]);
});

test("equal operands of a minimum share its gradient, as in PyTorch", () => {
  const builder = new GraphBuilder();
  const x = builder.input("x", "float32", [1]);
  const y = builder.input("y", "float32", [1]);
  const wanted = gradient(builder, builder.reduceSum(builder.minimum(x, y)), [x, y]);
  const graph = builder.build({ slope: builder.concat(wanted, 0) });
  const feed = { dims: [1], data: Float64Array.of(3) };
  assert.deepEqual([...present(interpret(graph, { x: feed, y: feed })["slope"], "slope").data], [0.5, 0.5]);
});

/**
 * Checks the gradients with respect to all float inputs; returns the kinds of operations that compute these gradients.
 */
function check(opCase: OpCase, name: string): readonly OpKind[] {
  const built = buildCase(opCase);
  const forward = built.builder.nodes.map(({ kind }) => kind);
  const { loss, slopes } = differentiateCase(built);
  const graph = built.builder.build({ ...slopes, loss });
  const feeds = Object.fromEntries(
    Object.entries(built.feeds).map(([input, tensor]) => [input, toDense(tensor)]),
  );
  const outputs = interpret(graph, feeds);
  for (const input of Object.keys(built.wanted)) {
    const actual = present(outputs[`slope ${input}`], "a gradient");
    const at = present(feeds[input], "a feed");
    assert.deepEqual(actual.dims, at.dims, `${name} by ${input}`);
    const stride = Math.ceil(at.data.length / SAMPLES);
    for (let position = 0; position < at.data.length; position += stride) {
      const expected = slopeAt(graph, feeds, { input, position });
      const error = Math.abs((actual.data[position] ?? Number.NaN) - expected);
      assert.ok(
        error <= 1e-7 * Math.max(1, Math.abs(expected)),
        `${name} by ${input}[${position}]: ${actual.data[position]}, differences give ${expected}`,
      );
    }
  }
  return Object.keys(slopes).length > 0 ? forward : [];
}

function slopeAt(
  graph: Graph,
  feeds: Readonly<Record<string, Dense>>,
  { input, position }: { readonly input: string; readonly position: number },
): number {
  const at = present(feeds[input], "a feed");
  const lossAt = (change: number) => {
    const data = at.data.slice();
    data[position] = (data[position] ?? 0) + change;
    const outputs = interpret(graph, { ...feeds, [input]: { ...at, data } });
    return present(outputs["loss"]?.data[0], "a loss");
  };
  return (lossAt(STEP) - lossAt(-STEP)) / (2 * STEP);
}
