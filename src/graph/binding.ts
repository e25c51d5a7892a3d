/**
 * Checks the tensors that a run is fed against the graph's inputs, and binds dimension symbols.
 */
import { assert } from "../domain/assert.ts";
import { evaluateDimension, isSymbol } from "./dimension.ts";
import type { Graph } from "./graph.ts";
import { formatShape } from "./shape-rules.ts";
import type { Tensor } from "./tensor.ts";

/**
 * Binds every plain symbol to the size that the feeds give it.
 *
 * Asserts that the feeds are exactly the graph's inputs, with their types and consistent sizes.
 */
export function bindSymbols(
  graph: Graph,
  feeds: Readonly<Record<string, Tensor>>,
): ReadonlyMap<string, number> {
  const sizes = new Map<string, number>();
  for (const { name, value } of graph.inputs) {
    const feed = feeds[name];
    assert(feed !== undefined, `the run is given the input ${name}`);
    const expected = `input ${name} is ${value.dtype} ${formatShape(value.shape)}`;
    assert(feed.dtype === value.dtype, `${expected}, got ${feed.dtype}`);
    assert(feed.dims.length === value.shape.length, `${expected}, got ${formatShape(feed.dims)}`);
    for (const [axis, size] of value.shape.entries()) {
      if (isSymbol(size) && !sizes.has(size)) sizes.set(size, feed.dims[axis] ?? 0);
    }
  }
  for (const { name, value } of graph.inputs) {
    for (const [axis, size] of value.shape.entries()) {
      const expected = evaluateDimension(size, sizes);
      const actual = feeds[name]?.dims[axis];
      assert(actual === expected, `axis ${axis} of input ${name} is ${size} = ${expected}, got ${actual}`);
    }
  }
  const count = Object.keys(feeds).length;
  assert(count === graph.inputs.length, `a run is given its inputs only: ${Object.keys(feeds).join(", ")}`);
  return sizes;
}
