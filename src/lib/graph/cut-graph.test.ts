// Tests that the parts of a cut graph, run one after the other, compute what the whole graph computes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { GraphBuilder } from "./builder.ts";
import { cutGraph } from "./cut-graph.ts";
import { gradient } from "./gradient.ts";
import { recomputed } from "./recompute.ts";
import { interpret } from "./testing/interpret.ts";

/**
 * Multiplies x by three weights of 16 bytes each, and adds 1 after each product. The third weight is the same as the
 * first.
 */
function product() {
  const builder = new GraphBuilder();
  const x = builder.input("x", "float32", ["B", 2]);
  const [one, two] = ["one", "two"].map((name) => builder.parameter(name, [2, 2]));
  const times = (value: typeof x, weight: typeof x) => builder.add(builder.matMul(value, weight), 1);
  const first = recomputed(builder, [x], (value) => times(value, one));
  const last = times(builder.kept(times(first, two)), one);
  return builder.build({ first, last });
}

test("the parts give the outputs of the whole graph, and each reads no more weights than allowed", () => {
  const graph = product();
  const tensor = (...data: readonly number[]) => ({ dims: [2, 2], data: Float64Array.from(data) });
  const weights = { one: tensor(1, 2, 3, 4), two: tensor(-1, 0, 2, 5) };
  const expected = interpret(graph, { x: tensor(1, 2, 3, 4), ...weights });
  for (const [bytesMax, names] of [
    [0, [["one"], ["two"], ["one"]]],
    [31, [["one"], ["two"], ["one"]]],
    [32, [["one", "two"]]],
  ] as const) {
    const parts = cutGraph(graph, bytesMax);
    assert.deepEqual(
      parts.map((part) => part.weights.map(({ name }) => name)),
      names,
    );
    const known: Record<string, ReturnType<typeof tensor>> = { x: tensor(1, 2, 3, 4), ...weights };
    for (const { graph: part } of parts) {
      const feeds = Object.fromEntries(part.inputs.map(({ name }) => [name, known[name]]));
      Object.assign(known, interpret(part, feeds));
    }
    assert.deepEqual([known["first"], known["last"]], [expected["first"], expected["last"]]);
  }
});

test("the parts give the gradients of the whole graph, with recomputed products", () => {
  const builder = new GraphBuilder({ keepsNothing: true });
  const x = builder.input("x", "float32", [2, 2]);
  const [one, two] = ["one", "two"].map((name) => builder.parameter(name, [2, 2]));
  const layer = (value: typeof x): typeof x =>
    recomputed(builder, [value], (start) =>
      builder.matMul(builder.sigmoid(builder.kept(builder.matMul(start, one))), two),
    );
  const loss = builder.reduceSum(layer(layer(x)));
  const graph = builder.build({ loss, slope: gradient(builder, loss, [x])[0] });
  const tensor = (...data: readonly number[]) => ({ dims: [2, 2], data: Float64Array.from(data) });
  const known = {
    x: tensor(0.1, -0.2, 0.3, 0.4),
    one: tensor(1, 2, 3, 4),
    two: tensor(-1, 0, 2, 5),
  } as Record<string, ReturnType<typeof tensor>>;
  const expected = interpret(graph, known);
  const parts = cutGraph(graph, 0);
  // Forwards, each layer reads both weights. Backwards, it reads the first weight to recompute its product.
  assert.deepEqual(
    parts.map((part) => part.weights.map(({ name }) => name).join()),
    ["one", "two", "one", "two", "one", "two", "one", "two", "one"],
  );
  for (const { graph: part } of parts)
    Object.assign(
      known,
      interpret(part, Object.fromEntries(part.inputs.map(({ name }) => [name, known[name]]))),
    );
  assert.deepEqual([known["loss"], known["slope"]], [expected["loss"], expected["slope"]]);
});
