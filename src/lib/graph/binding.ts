/**
 * Checks the tensors that a run is fed against the graph's inputs, and binds dimension symbols.
 */
import { assert } from "../../base/domain/assert.ts";
import { evaluateDimension, isSymbol } from "./dimension.ts";
import type { Graph, TensorType } from "./graph.ts";
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
  // A decoding step has hundreds of inputs: texts are made only for what does not fit.
  for (const { name, value } of graph.inputs) {
    const feed = feeds[name];
    if (feed?.dtype !== value.dtype || feed.dims.length !== value.shape.length) refuse(name, value, feed);
    for (const [axis, size] of value.shape.entries()) {
      if (isSymbol(size) && !sizes.has(size)) sizes.set(size, feed.dims[axis] ?? 0);
    }
  }
  for (const { name, value } of graph.inputs) {
    const dims = feeds[name]?.dims;
    for (const [axis, size] of value.shape.entries()) {
      const expected = typeof size === "number" ? size : (sizes.get(size) ?? evaluateDimension(size, sizes));
      const actual = dims?.[axis];
      if (actual === expected) continue;
      assert(false, `axis ${axis} of input ${name} is ${size} = ${expected}, got ${actual}`);
    }
  }
  const names = Object.keys(feeds);
  if (names.length !== graph.inputs.length) {
    assert(false, `a run is given its inputs only: ${names.join(", ")}`);
  }
  return sizes;
}

function refuse(name: string, { dtype, shape }: TensorType, feed: Tensor | undefined): never {
  assert(feed !== undefined, `the run is given the input ${name}`);
  const actual = `${feed.dtype} ${formatShape(feed.dims)}`;
  assert(false, `input ${name} is ${dtype} ${formatShape(shape)}, got ${actual}`);
}
