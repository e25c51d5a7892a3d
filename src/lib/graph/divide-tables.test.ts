// Tests that a graph with divided tables computes the same as the graph with whole tables.
import assert from "node:assert/strict";
import { test } from "node:test";
import { GraphBuilder } from "./builder.ts";
import { divideTables } from "./divide-tables.ts";
import { gradient } from "./gradient.ts";
import { interpret } from "./testing/interpret.ts";

const [rowCount, width] = [7, 2];
const numbers = Float64Array.from({ length: rowCount * width }, (_, index) => Math.sin(3 * index) * 2);

function tiedModel() {
  const builder = new GraphBuilder();
  const ids = builder.input("ids", "int64", ["N"]);
  const targets = builder.input("targets", "int64", ["N"]);
  const factor = builder.input("factor", "float32", [width]);
  const table = builder.parameter("table", [rowCount, width]);
  const small = builder.parameter("small", [1, width]);
  const x = builder.multiply(builder.add(builder.gatherRows(table, ids), small), factor);
  const { logprobs, entropies } = builder.linearLogprob(x, table, targets);
  const [slope] = gradient(builder, builder.reduceSum(logprobs), [factor]);
  return builder.build({ logprobs, entropies, slope, rows: builder.gatherRows(table, targets) });
}

test("divided tables give the same rows, log-probabilities, entropies and gradients", () => {
  const graph = tiedModel();
  const feeds = {
    ids: { dims: [4], data: Float64Array.of(0, 6, 3, 2) },
    targets: { dims: [4], data: Float64Array.of(5, 1, 6, 0) },
    factor: { dims: [width], data: Float64Array.of(0.5, -2) },
    small: { dims: [1, width], data: Float64Array.of(0.1, 0.2) },
  };
  const expected = interpret(graph, { ...feeds, table: { dims: [rowCount, width], data: numbers } });
  for (const [bytesMax, rangeCount] of [
    [1, 7],
    [24, 3],
    [32, 2],
    [56, 0],
  ]) {
    const { graph: divided, rows } = divideTables(graph, bytesMax);
    assert.equal(rows.size, rangeCount, `ranges of ${bytesMax} bytes`);
    const parameters = [...rows].map(([name, { from, count }]) => {
      const data = numbers.slice(from * width, (from + count) * width);
      return [name, { dims: [count, width], data }] as const;
    });
    const whole = { dims: [rowCount, width], data: numbers };
    const tables = Object.fromEntries(rangeCount === 0 ? [["table", whole]] : parameters);
    const found = interpret(divided, { ...feeds, ...tables });
    for (const [name, { data }] of Object.entries(expected))
      data.forEach((value, index) => {
        const difference = Math.abs(value - (found[name]?.data[index] ?? NaN));
        assert.ok(difference < 1e-12, `${name} ${index} differs by ${difference}`);
      });
  }
});

test("a table that other operations read stays whole", () => {
  const builder = new GraphBuilder();
  const table = builder.parameter("table", [rowCount, width]);
  const rows = builder.gatherRows(table, builder.input("ids", "int64", ["N"]));
  const graph = builder.build({ rows, doubled: builder.multiply(table, 2) });
  assert.equal(divideTables(graph, 1).graph, graph);
});
